"""How a trace looks: the stages of a model, the passes in them, what each took and changed; and two side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tvmlab.records import Bundle, StageDiff, picture
from tvmlab.show import decisions, diffs, palette, steps
from tvmlab.show.html import Html, card, details, join, mono, muted, table, tag
from tvmlab.show.models import cut
from tvmlab.show.text import count, duration, plain_table

if TYPE_CHECKING:
    from tvmlab.pipeline import Stage, Trace
    from tvmlab.pipeline.beside import Beside
    from tvmlab.show.steps import Step

_MEANINGS = {
    "import": "operators, after the clean-up",
    "legalize": "each operator as a call of a kernel",
    "annotate": "each kernel with its pattern kind",
    "fuse": "kernels that belong together as one",
    "inline": "no buffers within a kernel, where that computes nothing twice",
    "schedule": "loops in parallel and in vectors",
    "build": "machine code",
}
# All stages together stay under 300 kB.
_LINES_A_STAGE = 90
_LINES_OF_MAIN = 40
_PASSES_A_STAGE = 60


@picture("Trace")
def trace(record: Trace) -> Bundle:
    """One row a stage, and behind a fold the passes within it and what changed."""
    title = join([record.headline, muted(f" (clean-up: {record.cleanup}, engine: {record.engine})")])
    made = [*record.stages, *([record["build"]] if record.is_built else [])]
    longest = max((stage.seconds for stage in made), default=0.0)
    pairs = zip(record.stages, record.stages[1:], strict=False)
    changes = [None, *(record.diff(a.name, b.name) for a, b in pairs), *([None] if record.is_built else [])]
    rows = (
        (mono(s.name), f"{s.kernels:,}", _bar(s.seconds, longest), _counts(change), _meaning(s))
        for s, change in zip(made, changes, strict=True)
    )
    head = ("stage", "kernels", "took", "lines", "")
    parts = (_stage(s, change) for s, change in zip(made, changes, strict=True))
    doubts, decided = decisions.doubts(record), decisions.decisions(record)
    page = card(title, table(head, rows, "nrnnl"), *doubts, *parts, decided, accent=palette.SIDES[3])
    plain = plain_table(("stage", "kernels", "took", ""), map(_plain, made), "lrrl")
    return {"text/plain": "\n".join([record.headline, plain, *decisions.plain_doubts(record)]), "text/html": str(page)}


@picture("Stage")
def stage(record: Stage) -> Bundle:
    """The module's main, and how many kernels it calls."""
    passes = _passes(list(steps.of_passes(record.passes)))
    shown = _main(record, f'trace["{record.name}"]', 60)
    page = card(record.headline, muted(_meaning(record)), passes, shown, accent=palette.SIDES[3])
    return {"text/plain": f"{record.headline}: {_meaning(record)}", "text/html": str(page)}


@picture("Beside")
def beside(record: Beside) -> Bundle:
    """One row a stage, and what is different behind a fold."""
    found = [(name, record[name]) for name in record.stages]
    apart = [(name, change) for name, change in found if change.functions]
    alike = [name for name, change in found if not change.functions]
    rows = ((mono(n), *_two(record, n), _counts(change) if change.functions else "the same") for n, change in found)
    head = ("stage", *(f"{what}, {name}" for what in ("kernels", "took") for name in record.names), "lines")
    parts = [_different(name, change) for name, change in apart]
    same = muted(f"The same programs after {', '.join(alike)}.") if alike else ""
    page = card(record.headline, table(head, rows, "nrrrrn"), same, *parts, accent=palette.SIDES[3])
    rows_of_text = ((name, *_two(record, name), f"+{_sum(d, 'added')} −{_sum(d, 'removed')}") for name, d in found)
    return {"text/plain": f"{record.headline}\n{plain_table(head, rows_of_text, 'lrrrrr')}", "text/html": str(page)}


def _stage(made: Stage, change: StageDiff | None) -> Html:
    place = f'trace["{made.name}"]'
    passes = _passes(list(steps.of_passes(made.passes)))
    if made.name == "build":
        return details(f"build: {count(made.kernels, 'kernel')} as machine code", passes) if passes else passes
    if change is None:
        return details(f"{made.name}: main after it", passes, _main(made, place, _LINES_OF_MAIN))
    whole = f'trace.diff("{change.before}", "{change.after}")'
    summary = join(
        [f"{made.name}: {count(len(change.functions), 'function')} changed ", diffs.counts(change.functions)]
    )
    text = muted("the whole program as TVMScript: ", mono(f"print({place}.text)"))
    return details(summary, passes, *diffs.folds(change, _LINES_A_STAGE, place=whole), text)


def _different(name: str, change: StageDiff) -> Html:
    summary = join([f"{name}: {count(len(change.functions), 'function')} different ", diffs.counts(change.functions)])
    return details(summary, *diffs.folds(change, _LINES_A_STAGE, place=f'this record["{name}"]'))


def _passes(found: Sequence[Step]) -> Html:
    """The passes that changed something as a table; those that did not by their names."""
    if not found:
        return Html()
    busy = [step for step in found if step.changed]
    rows = ((_nested(step), duration(step.seconds or 0.0), len(step.changed)) for step in busy[:_PASSES_A_STAGE])
    more = f"{len(busy) - _PASSES_A_STAGE:,} more changed something; " if len(busy) > _PASSES_A_STAGE else ""
    idle = list(dict.fromkeys(step.name for step in found if not step.changed))
    without = muted(more, f"changed nothing: {', '.join(idle)}") if idle else muted(more)
    head = ("TVM's pass", "took", "functions changed")
    return details(f"{count(len(found), 'pass', 'passes')} of TVM's", table(head, rows, "nrr"), without)


def _nested(step: Step) -> Html:
    return tag("span", mono(step.name), style=f"padding-left:{step.level - 1}em")


def _two(record: Beside, name: str) -> Iterator[str]:
    both = [trace[name] for trace in (record.left, record.right)]
    yield from (f"{made.kernels:,}" for made in both)
    yield from (duration(made.seconds) for made in both)


def _counts(change: StageDiff | None) -> Html:
    return diffs.counts(change.functions) if change else Html()


def _sum(change: StageDiff, what: str) -> int:
    return sum(getattr(function, what) for function in change.functions)


def _meaning(record: Stage) -> str:
    return _MEANINGS.get(record.name, "")


def _plain(record: Stage) -> tuple[str, ...]:
    return (record.name, f"{record.kernels:,}", duration(record.seconds), _meaning(record))


def _bar(seconds: float, longest: float) -> Html:
    width = 6 * seconds / longest if longest else 0.0
    style = f"display:inline-block;width:{width:.2f}em;height:0.7em;background:{palette.SIDES[1]};border-radius:2px"
    return join([tag("span", style=style), " ", duration(seconds)])


def _main(record: Stage, place: str, lines: int) -> Html:
    functions = count(len(record.module.functions) - 1, "other function")
    return join([muted(f"with {functions}"), cut(record.function_text("main"), f"print({place}.text)", lines)])
