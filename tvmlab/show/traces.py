"""How a trace looks: the stages of a model, what each took, and what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlab.records import Bundle, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, details, join, mono, muted, table, tag
from tvmlab.show.models import cut
from tvmlab.show.text import count, duration, plain_table

if TYPE_CHECKING:
    from tvmlab.pipeline import Stage, Trace

_MEANINGS = {
    "import": "operators, after the clean-up",
    "legalize": "each operator as a call of a kernel",
    "annotate": "each kernel with its pattern kind",
    "fuse": "kernels that belong together as one",
    "inline": "no buffers within a kernel, where that computes nothing twice",
    "schedule": "loops in parallel and in vectors",
    "build": "machine code",
}


@picture("Trace")
def trace(record: Trace) -> Bundle:
    """One row a stage, and main after each behind a fold."""
    title = join([record.headline, muted(f" (clean-up: {record.cleanup}, engine: {record.engine})")])
    longest = max((stage.seconds for stage in record.stages), default=0.0)
    rows = ((mono(s.name), f"{s.kernels:,}", _bar(s.seconds, longest), _meaning(s)) for s in record.stages)
    folds = (details(join([mono("main"), f" after {s.name}"]), _main(s)) for s in record.stages)
    page = card(title, table(("stage", "kernels", "took", ""), rows, "nrnl"), *folds, accent=palette.SIDES[3])
    plain = plain_table(("stage", "kernels", "took", ""), map(_plain, record.stages), "lrrl")
    return {"text/plain": f"{record.headline}\n{plain}", "text/html": str(page)}


@picture("Stage")
def stage(record: Stage) -> Bundle:
    """The module's main, and how many kernels it calls."""
    page = card(record.headline, muted(_meaning(record)), _main(record), accent=palette.SIDES[3])
    return {"text/plain": f"{record.headline}: {_meaning(record)}", "text/html": str(page)}


def _meaning(record: Stage) -> str:
    return _MEANINGS.get(record.name, "")


def _plain(record: Stage) -> tuple[str, ...]:
    return (record.name, f"{record.kernels:,}", duration(record.seconds), _meaning(record))


def _bar(seconds: float, longest: float) -> Html:
    width = 6 * seconds / longest if longest else 0.0
    style = f"display:inline-block;width:{width:.2f}em;height:0.7em;background:{palette.SIDES[1]};border-radius:2px"
    return join([tag("span", style=style), " ", duration(seconds)])


def _main(record: Stage) -> Html:
    functions = count(len(record.module.functions) - 1, "other function")
    return join([muted(f"with {functions}"), cut(record.function_text("main"), f'print(trace["{record.name}"].text)')])
