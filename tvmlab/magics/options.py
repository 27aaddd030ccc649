"""The line of a magic: splitting it, parsing it, and usage errors that name the option meant."""

from __future__ import annotations

import argparse
import keyword
import re
import shlex
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

from tvmlab.errors import Location
from tvmlab.magics.errors import TvmlabUsageError, nearest

__all__ = ["codes", "flags", "identifier", "node_and_kind", "parse", "words"]

Where = Callable[[str], Location | None]

_OPTION = re.compile("--?[A-Za-z]")  # and no negative number


def identifier(text: str) -> str:
    """The type of an option that names a Python variable."""
    if not text.isidentifier() or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be a variable's name")
    return text


def node_and_kind(text: str) -> tuple[str, str]:
    """The type of an option that gives a node another kind: the node's label and the kind."""
    node, equals, kind = text.rpartition("=")
    if not (node and equals and kind):
        raise argparse.ArgumentTypeError(f"{text!r} is not NODE=KIND")
    return node, kind


def codes(text: str) -> list[str]:
    """The type of an option that names checks: ``C05,C10``."""
    return [code.strip() for code in text.split(",") if code.strip()]


def flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Every spelling of every option of a magic, with what it does."""
    return {flag: action for action in parser._actions for flag in action.option_strings}


def words(line: str) -> list[str]:
    """Split a magic's line as a shell does, but for backslashes, which Windows paths are full of.

    A closing semicolon, which silences IPython's output, is no word.

    Raises
    ------
    ValueError
        A quotation is not closed.
    """
    lexer = shlex.shlex(line.rstrip().removesuffix(";"), posix=True)
    lexer.whitespace_split = True
    lexer.commenters = lexer.escape = ""
    return list(lexer)


def parse(parser: argparse.ArgumentParser, line: str, where: Where) -> dict[str, Any]:
    """Parse a magic's line into the options that were given, by name.

    Parameters
    ----------
    where : callable
        From the word at fault to its place in the user's cell.

    Raises
    ------
    TvmlabUsageError
        An unknown option (with the one meant), a value that does not fit, a missing or a surplus word.
    """
    try:
        typed = words(line)
    except ValueError as error:
        what = f"%{parser.prog}: {str(error).lower()}"
        raise TvmlabUsageError(what, where(""), "close the quotation") from None
    unknown = [word for word in typed if _OPTION.match(word) and not _known(parser, word)]
    if unknown:
        raise _no_option(parser, unknown[0], where)
    try:
        given, surplus = parser.parse_known_args(typed)
    except UsageError as error:
        raise _misfit(parser, error, where) from None
    if surplus:
        raise _surplus(parser, surplus[0], where)
    return {name: value for name, value in vars(given).items() if value is not None}


def _known(parser: argparse.ArgumentParser, word: str) -> bool:
    joined = word[:2] if not word.startswith("--") else ""  # -qv VAR, -vVAR
    return not {word.partition("=")[0], joined}.isdisjoint(flags(parser))


def _usage(parser: argparse.ArgumentParser) -> str:
    return "usage: " + " ".join(parser.format_usage().split()).removeprefix(":: ")


def _no_option(parser: argparse.ArgumentParser, word: str, where: Where) -> TvmlabUsageError:
    option = word.partition("=")[0]
    meant = nearest(option, flags(parser))
    mend = f"did you mean {meant}? " if meant else ""
    listing = ", ".join("/".join(action.option_strings) for action in parser._actions if action.option_strings)
    mend += f"The options are {listing}; %{parser.prog}? explains them"
    return TvmlabUsageError(f"%{parser.prog} has no option {option}", where(word), mend)


def _surplus(parser: argparse.ArgumentParser, word: str, where: Where) -> TvmlabUsageError:
    if word.startswith("#"):
        what, mend = "takes no comment on its line", "put the comment on a line of its own"
    else:
        what, mend = f"has no use for {word!r}", _usage(parser)
    return TvmlabUsageError(f"%{parser.prog} {what}", where(word), mend)


def _misfit(parser: argparse.ArgumentParser, error: UsageError, where: Where) -> TvmlabUsageError:
    """Say of one argument what argparse says, and of a choice which one was meant."""
    magic, cause = f"%{parser.prog}", error.__context__
    if not isinstance(cause, argparse.ArgumentError) or cause.argument_name is None:
        return TvmlabUsageError(f"{magic}: {error}", where(""), _usage(parser))
    quoted = re.search(r"'(.*?)'", cause.message)
    word = quoted.group(1) if quoted else ""
    option = cause.argument_name
    action = next((a for a in parser._actions if option in ("/".join(a.option_strings), a.metavar, a.dest)), None)
    if action is None or not action.choices or not word:
        return TvmlabUsageError(f"{magic}, {option}: {cause.message}", where(word), _usage(parser))
    meant = nearest(word, action.choices)
    mend = f"did you mean {meant}? " if meant else ""
    choices = ", ".join(action.choices)
    return TvmlabUsageError(f"{magic}, {option}: there is no {word!r}", where(word), f"{mend}It is one of {choices}")
