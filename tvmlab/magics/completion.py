"""Completion of a magic's options, their values, models and exercises."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from tvmlab.magics.options import flags

if TYPE_CHECKING:
    from tvmlab.magics.commands import Tvmlab

__all__ = ["option_matcher"]

_LINE = re.compile(r"\s*(?:\w+\s*=\s*)?%{1,2}(tvm_\w+)\s+(.*)", re.DOTALL)


def option_matcher(face: Tvmlab) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """A matcher for IPython's completer."""

    @context_matcher(identifier="tvmlab.options")  # type: ignore[untyped-decorator]
    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        line = _LINE.match(context.text_until_cursor)
        if line is None or line.group(1) not in face.names:
            return {"completions": [], "suppress": False}
        typed, kind, words = _candidates(face, line.group(1), line.group(2))
        fitting = [SimpleCompletion(word, type=kind) for word in words if word.startswith(typed)]
        # Python's names would only be noise here; where ours end, files may come
        return {"completions": fitting, "suppress": bool(fitting), "matched_fragment": typed, "ordered": True}

    return cast("Callable[[CompletionContext], SimpleMatcherResult]", matcher)


def _candidates(face: Tvmlab, name: str, text: str) -> tuple[str, str, Iterable[str]]:
    """The word under the cursor, the kind of thing it is, and all that it could be."""
    *before, typed = re.split(r"\s+", text)
    parser = face.parser(name)
    option, equals, value = typed.partition("=")
    if typed.startswith("-") and not equals:
        return typed, "param", flags(parser)
    if typed.startswith("-"):
        return value, "value", _values(face, flags(parser).get(option))
    return typed, "value", _values(face, _expected(parser, before))


def _expected(parser: ArgumentParser, before: Iterable[str]) -> Action | None:
    """What takes the next word: an option that waits for its value, else the next positional argument."""
    positionals = iter([action for action in parser._actions if not action.option_strings])
    waiting: Action | None = None
    for word in before:
        option, equals, _ = word.partition("=")
        if word.startswith("-"):
            action = flags(parser).get(option)
            waiting = action if action is not None and action.nargs != 0 and not equals else None
        elif waiting is None:
            next(positionals, None)
        elif waiting.nargs != "+":
            waiting = None
    return waiting or next(positionals, None)


def _values(face: Tvmlab, action: Action | None) -> Iterable[str]:
    if action is None:
        return ()
    if action.dest == "exercise":
        from tvmlab import course

        return [exercise.id for exercise in course.all_exercises()]
    return face.models if action.dest == "model" else action.choices or ()
