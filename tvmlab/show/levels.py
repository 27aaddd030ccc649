"""How the two levels of a model's graph look side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from tvmlab.records import Bundle, LevelDifference, LevelsDiff, NodeOnLevels, picture
from tvmlab.show import palette
from tvmlab.show.html import card, details, join, muted, scroll, table
from tvmlab.show.text import count, plain_table

_PLAIN_ROWS = 20
_HOW = {
    "joined": "one kernel in TVM alone",
    "split": "one group in ONNX alone",
    "inside": "several kernels for one node",
    "gone": "one of them needs no kernel",
}
_Thing = TypeVar("_Thing")


@picture(LevelsDiff)
def levels(record: LevelsDiff) -> Bundle:
    """What is alike is summed up, with its first case told; everything is in the details."""
    differences = _summed_up(record.differences, _alike)
    nodes = _summed_up([node for node in record.nodes if not _is_one_kernel(node)], _same_fate)
    found = [(f"{n:,} ×", " → ".join(dict.fromkeys(d.operations)), _HOW[d.how], _told(d)) for d, n in differences]
    became = [(f"{n:,} ×", node.operation, f"{node.node} {node.became}") for node, n in nodes]
    plain = len(record.nodes) - sum(n for _, n in nodes)
    rest = f"{count(plain, 'node')} of {len(record.nodes):,}: one kernel each" if plain else ""
    heads = (
        ("", "operators", "what differs", "why, for the first"),
        ("", "operator", "what became of it, for the first"),
    )
    whole = table(
        ("node", "operator", "what became of it"), [(n.node, n.operation, n.became) for n in record.nodes], align="lll"
    )
    page = card(
        record.headline,
        table(heads[0], found, align="rlll") if found else muted("the groups are the same"),
        table(heads[1], became, align="rll") if became else "",
        muted(rest),
        details(f"all {count(len(record.nodes), 'node')}, in order", scroll(whole)),
        _all_differences(record.differences) if len(found) < len(record.differences) else "",
        accent=palette.GOOD,
    )
    lines = [
        record.headline,
        plain_table(heads[0], found[:_PLAIN_ROWS], "rlll") if found else "the groups are the same",
        plain_table(heads[1], became[:_PLAIN_ROWS], "rll") if became else "",
        rest,
    ]
    return {"text/plain": "\n".join(filter(None, lines)), "text/html": str(page)}


def _all_differences(differences: tuple[LevelDifference, ...]) -> object:
    rows = [(" → ".join(dict.fromkeys(d.nodes)), _HOW[d.how], d.reason) for d in differences]
    whole = table(("nodes", "what differs", "why"), rows, align="lll")
    return join([details(f"all {count(len(differences), 'difference')}", scroll(whole))])


def _told(difference: LevelDifference) -> str:
    return f"{' → '.join(dict.fromkeys(difference.nodes))}: {difference.reason}"


def _summed_up(things: Iterable[_Thing], key: Callable[[_Thing], object]) -> list[tuple[_Thing, int]]:
    """The first of each kind, and how many there are; the most frequent first."""
    first: dict[object, _Thing] = {}
    counted: dict[object, int] = {}
    for thing in things:
        first.setdefault(key(thing), thing)
        counted[key(thing)] = counted.get(key(thing), 0) + 1
    return sorted(((first[k], n) for k, n in counted.items()), key=lambda pair: -pair[1])


def _alike(difference: LevelDifference) -> object:
    return difference.how, difference.operations


def _is_one_kernel(node: NodeOnLevels) -> bool:
    return len(node.kernels) == 1 and node.became.startswith("is the kernel ")


def _same_fate(node: NodeOnLevels) -> object:
    """Without what tells a node from its namesakes: numbers of kernels, and whom it is folded into."""
    sentence = re.sub(r"folded into .* by", "folded by", node.became)
    return node.operation, re.sub(r"(?<=[A-Za-z])_?\d+\b", "", sentence)
