"""The line of a magic: splitting, parsing, and its errors."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.error import UsageError

from tvmlab.errors import TvmlabError
from tvmlab.magics.commands import Tvmlab
from tvmlab.magics.errors import TvmlabUsageError
from tvmlab.magics.options import flags, parse, words

USAGE = (
    "usage: %tvm_fuse [--engine {python,tvm,none}] [--level {relax,onnx}] [--cleanup {tvmlab,tvm,none}] "
    "[--kind NODE=KIND] [--max-depth N] [--without PHASE] [--template NAME] [--levels] [-q] [-v VAR] [-i] MODEL"
)
OPTIONS = (
    "The options are --engine, --level, --cleanup, --kind, --max-depth, --without, --template, --levels, "
    "-q/--quiet, -v/--var, -i/--interactive; "
    "%tvm_fuse? explains them"
)
SLIPS = [  # a line after %tvm_fuse, what is wrong, the word at fault, and the mend
    ("net --engin tvm", "%tvm_fuse has no option --engin", "--engin", f"did you mean --engine? {OPTIONS}"),
    ("net --qiet", "%tvm_fuse has no option --qiet", "--qiet", f"did you mean --quiet? {OPTIONS}"),
    ("net --eng=tvm", "%tvm_fuse has no option --eng", "--eng=tvm", f"did you mean --engine? {OPTIONS}"),
    ("net -z", "%tvm_fuse has no option -z", "-z", OPTIONS),
    ("--zzzzzz", "%tvm_fuse has no option --zzzzzz", "--zzzzzz", OPTIONS),
    (
        "net --engine tvn",
        "%tvm_fuse, --engine: there is no 'tvn'",
        "tvn",
        "did you mean tvm? It is one of python, tvm, none",
    ),
    ("net --engine", "%tvm_fuse, --engine: expected one argument", "", USAGE),
    ("net -v 1x", "%tvm_fuse, -v/--var: '1x' cannot be a variable's name", "1x", USAGE),
    ("net -v class", "%tvm_fuse, -v/--var: 'class' cannot be a variable's name", "class", USAGE),
    ("net --kind relu", "%tvm_fuse, --kind: 'relu' is not NODE=KIND", "relu", USAGE),
    ("net other", "%tvm_fuse has no use for 'other'", "other", USAGE),
    ("net # why", "%tvm_fuse takes no comment on its line", "#", "put the comment on a line of its own"),
    ("'net", "%tvm_fuse: no closing quotation", "", "close the quotation"),
    ("", "%tvm_fuse: the following arguments are required: MODEL", "", USAGE),
]


@pytest.mark.parametrize(("line", "what", "culprit", "mend"), SLIPS, ids=[s[0] for s in SLIPS])
def test_slip(line, what, culprit, mend):
    asked = []
    with pytest.raises(TvmlabUsageError) as caught:
        parse(Tvmlab.tvm_fuse.parser, line, asked.append)
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, TvmlabError)
    assert (caught.value.what, caught.value.mend) == (what, mend)
    assert asked == [culprit]


def test_a_value_of_the_wrong_type():
    with pytest.raises(TvmlabUsageError, match="%tvm_verify, --seed: invalid int value: 'x'"):
        parse(Tvmlab.tvm_verify.parser, "net --seed x", lambda word: None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("a  b", ["a", "b"]),
        ("'a b' c", ["a b", "c"]),
        ('"my net.onnx"', ["my net.onnx"]),
        (r"C:\nets\a.onnx", [r"C:\nets\a.onnx"]),
        (r"'C:\my nets\a.onnx' ;", [r"C:\my nets\a.onnx"]),
        ("a;", ["a"]),
        ("a#b", ["a#b"]),
        ("--x='a b'", ["--x=a b"]),
    ],
)
def test_words(line, expected):
    assert words(line) == expected


@given(st.lists(st.text(st.characters(exclude_characters="\\'", codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]))))
def test_words_undo_the_shell_s_quoting(typed):
    assert words(shlex.join(typed)) == typed


@given(st.text())
def test_a_line_is_parsed_or_refused_in_words(line):
    assert outcome(line)


def outcome(line: str) -> str:
    """The model that a line names, or the mend of its error."""
    try:
        return str(parse(Tvmlab.tvm_time.parser, line, lambda word: None)["model"])
    except TvmlabUsageError as error:
        return error.mend


def test_options_that_are_not_given_are_absent():
    assert parse(Tvmlab.tvm_diff.parser, "net", lambda word: None) == {"model": "net"}
    assert parse(Tvmlab.tvm_doctor.parser, "", lambda word: None) == {}


def test_flags_are_the_spellings():
    assert set(flags(Tvmlab.tvm_doctor.parser)) == {"-q", "--quiet", "-v", "--var", "-i", "--interactive"}
