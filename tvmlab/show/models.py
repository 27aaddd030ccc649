"""How a model looks: what goes in and comes out, and which operators it calls."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tvmlab.records import Bundle, TensorInfo, picture
from tvmlab.show import code, palette
from tvmlab.show.html import Html, card, chip, details, join, mono, muted, table, tag
from tvmlab.show.text import count, plain_table

if TYPE_CHECKING:
    from tvmlab.pipeline import Model

_LIVE = palette.SIDES[0]
_PLAIN = "#C8C8C8"
_SHOWN_LINES = 60


@picture("Model")
def model(record: Model) -> Bundle:
    """Inputs, outputs, operators, and the module itself behind a fold."""
    calls = operators(record.module)
    parameters = weights(record.module)
    size = f"{count(calls.total(), 'operator call')}, {count(parameters, 'number')} in its weights"
    script = record.module["main"].script(show_meta=False)
    page = card(
        join([record.name, " ", muted(f"({size})")]),
        table(("", "name", "dtype", "shape"), [*_rows("in", record.inputs), *_rows("out", record.outputs)], "lnnn"),
        _chips(calls, record.ops),
        details("Relax, as imported", cut(script, "print(model.module.script())")),
        accent=palette.SIDES[3],
    )
    return {"text/plain": _plain(record, calls, size), "text/html": str(page)}


def operators(module: Any) -> Counter[str]:
    """How often main calls each operator, by its name without ``relax.``."""
    from tvm import relax

    calls: Counter[str] = Counter()

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.Call) and hasattr(expression.op, "name"):
            calls[expression.op.name.removeprefix("relax.")] += 1

    relax.analysis.post_order_visit(module["main"], visit)
    return calls


def weights(module: Any) -> int:
    """How many numbers the constants of main hold."""
    from tvm import ir, relax

    sizes: list[int] = []

    def visit(expression: Any) -> None:
        if isinstance(expression, ir.GenericConst):
            sizes.append(math.prod(expression.value.shape))

    relax.analysis.post_order_visit(module["main"], visit)
    return sum(sizes)


def cut(script: str, rest: str, lines: int = _SHOWN_LINES) -> Html:
    """The first lines of a long text of code, and how to see the rest."""
    all_lines = script.strip("\n").splitlines()
    hidden = len(all_lines) - lines
    shown = code.block("\n".join(all_lines[:lines]))
    return join([shown, muted(f"… {count(hidden, 'more line')}: ", mono(rest))]) if hidden > 0 else shown


def _rows(side: str, tensors: tuple[TensorInfo, ...]) -> list[tuple[object, ...]]:
    return [(side if i == 0 else "", mono(t.name), t.dtype or "?", _shape(t)) for i, t in enumerate(tensors)]


def _shape(tensor: TensorInfo) -> str:
    return "?" if tensor.shape is None else f"[{', '.join(map(str, tensor.shape))}]"


def _chips(calls: Counter[str], live: tuple[str, ...]) -> Html:
    chips = (
        chip(f"{name} × {n:,}", _LIVE if name in live else _PLAIN, "a live operator" if name in live else "")
        for name, n in sorted(calls.items(), key=lambda item: (item[0] not in live, -item[1]))
    )
    return tag("div", muted("operators: "), *chips, style="margin:4px 0;font-size:92%")


def _plain(record: Model, calls: Counter[str], size: str) -> str:
    tensors = [("in", t) for t in record.inputs] + [("out", t) for t in record.outputs]
    rows = [(side, t.name, t.dtype or "?", _shape(t)) for side, t in tensors]
    named = ", ".join(f"{name}{' (live)' if name in record.ops else ''} × {n}" for name, n in calls.most_common())
    return "\n".join([f"{record.name} ({size})", plain_table(("", "", "", ""), rows), f"operators: {named}"])
