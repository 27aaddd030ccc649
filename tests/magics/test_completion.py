"""Completion of options, their values and models."""

from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter

from tvmlab import course
from tvmlab.magics.commands import CELL_HINTS, SIDES, STAGES, Tvmlab
from tvmlab.magics.options import parse

NAMES = sorted(name for name in dir(Tvmlab) if name.startswith("tvm_"))


@pytest.fixture
def complete(notebook):
    """Completions of a text, the cursor at its end, as IPython's front ends get them."""

    def complete(text: str) -> list[str]:
        with provisionalcompleter():
            found = list(notebook.shell.Completer.completions(text, len(text)))
        return sorted({c.text for c in found})

    return complete


@pytest.mark.parametrize("name", NAMES)
def test_the_matcher_and_the_parser_agree(notebook, complete, name):
    face = notebook.shell.magics_manager.registry["Tvmlab"]
    parser = face.parser(name)
    accepted = sorted(flag for action in parser._actions for flag in action.option_strings)
    assert complete(f"{face.spelling(name)} -") == accepted
    for action in parser._actions:
        if action.option_strings and action.choices:
            assert complete(f"{face.spelling(name)} net {action.option_strings[-1]} ") == sorted(action.choices)
            for value in action.choices:
                line = f"net {action.option_strings[-1]} {value}"
                assert vars_of(parser, line)[action.dest] in (value, [value])


def vars_of(parser, line):
    return parse(parser, line, lambda word: None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%tvm_fuse net --en", ["--engine"]),
        ("%tvm_fuse net --engine t", ["tvm"]),
        ("%tvm_fuse net --engine=t", ["tvm"]),
        ("%tvm_fuse net --engine tvm --cleanup ", ["none", "tvm", "tvmlab"]),
        ("x = %tvm_fuse net --en", ["--engine"]),
        ("    %tvm_fuse net --en", ["--engine"]),
        ("%tvm_load a.onnx --weights ", ["random"]),
        ("%tvm_diff net ", sorted(STAGES)),
        ("%tvm_diff net fuse s", ["schedule"]),
        ("%tvm_diff -q net fuse s", ["schedule"]),
        ("%tvm_time net --sides fu", ["full", "fuse", "fuse+inline", "fused"]),
        ("%tvm_time net --sides fused ", sorted(SIDES)),
        ("%%tvm_op lab.x --v", ["--var"]),
    ],
)
def test_completes(complete, text, expected):
    assert complete(text) == expected


def test_models_complete(notebook, api, complete):
    for line in ("%tvm_load light-net.onnx -q", "%tvm_load other.onnx -q", "lightness = 3"):
        notebook(line)
    assert complete("%tvm_fuse li") == ["light-net", "light_net"]
    assert complete("%tvm_verify --seed 1 o") == ["other"]


def test_exercises_complete(complete):
    names = [exercise.id for exercise in course.all_exercises()]
    assert {"08b", "08f", "02c"} <= set(names)
    assert complete("%tvm_hint 08") == [name for name in names if name.startswith("08")]
    assert complete("%%tvm_exercise 02") == [name for name in names if name.startswith("02")]


def test_files_complete_where_a_file_is_meant(complete, tmp_path):
    (tmp_path / "light.onnx").write_bytes(b"")
    assert "light.onnx" in complete("%tvm_load lig")
    assert "light.onnx" in complete("%tvm_fuse lig")


@pytest.mark.parametrize("text", ["tvm_fuse -", "%timeit -", "%%tvm_nosuch -", "-"])
def test_nothing_of_ours_elsewhere(complete, text):
    assert "--quiet" not in complete(text)


def test_nothing_of_ours_after_unload(notebook, complete):
    notebook("%unload_ext tvmlab")
    assert "--quiet" not in complete("%tvm_fuse -")


def test_magic_names_complete(complete):
    assert complete("%tvm_f") == ["%tvm_fuse"]
    assert complete("%%tvm_") == ["%%" + name for name in sorted(CELL_HINTS)]
