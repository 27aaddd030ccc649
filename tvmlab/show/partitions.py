"""How a partition looks: kernels before and after, and which nodes share one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tvmlab.records import Bundle, Group, Partition, PartitionDiff, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, details, join, mono, muted, scroll, table, tag
from tvmlab.show.text import count, operation, plain_table, short, size

__all__ = ["DECISIONS", "page_of", "partition", "partition_diff"]

DECISIONS = 40  # nodes: of graphs up to there a notebook shows every decision
_FEW = 12
_PLAIN_ROWS = 20
_ENGINES = {"tvm": "TVM's FuseOps", "none": "no fusion", "python": "tvmlab's own fuser"}


@picture(Partition)
def partition(record: Partition) -> Bundle:
    """The group table; long ones are summed up by pattern first."""
    saved = _saved(record)
    lines = [record.headline, saved, _plain(record.groups)]
    return {"text/plain": "\n".join(filter(None, lines)), "text/html": str(page_of(record))}


def page_of(record: Partition, decisions: int = DECISIONS) -> Html:
    """The same as HTML alone, with every decision in graphs of at most so many nodes."""
    engine = _ENGINES.get(record.engine, record.engine)
    title = join(
        [f"{record.model}: {record.kernels_before:,} → {record.kernels_after:,} kernels ", muted(f"({engine})")]
    )
    body = _all_groups(record.groups) if len(record.groups) <= _FEW else _summed_up(record.groups)
    parts = (_bars(record), _legend(record.groups), muted(_saved(record)), body, *_drawn(record, decisions))
    return card(title, *parts, accent=palette.GOOD)


def _saved(record: Partition) -> str:
    return f"{size(record.bytes_saved)} of values in between are no longer written" if record.bytes_saved else ""


@picture(PartitionDiff)
def partition_diff(record: PartitionDiff) -> Bundle:
    """The groups that only one side has."""
    sides = ((record.before, record.only_before), (record.after, record.only_after))
    rows = [(name, " · ".join(group)) for name, groups in sides for group in groups]
    edges = count(len(record.edges_apart), "edge") + " inside of a group on one side only" if record.edges_apart else ""
    accent = palette.GOOD if record.ok else palette.BAD
    body = table(("only in", "group"), rows, align="ll") if rows else ""
    page = card(record.headline, muted(edges), body, accent=accent)
    lines = [record.headline, edges, plain_table(("only in", "group"), rows[:_PLAIN_ROWS], "ll") if rows else ""]
    return {"text/plain": "\n".join(filter(None, lines)), "text/html": str(page)}


def _bars(record: Partition) -> Html:
    most = max(record.kernels_before, record.kernels_after, 1)
    rows = (
        ("before", record.kernels_before, palette.kind_colour("kOpaque")),
        ("after", record.kernels_after, palette.GOOD),
    )

    def bar(number: int, colour: str) -> Html:
        width = 100 * number / most
        style = f"display:inline-block;width:{width * 0.8:.1f}%;height:0.7em;background:{colour};border-radius:2px"
        return join([tag("span", style=style), f" {number:,}"])

    cells = (
        tag("div", tag("span", name, style="display:inline-block;width:4em;opacity:0.7"), bar(number, colour))
        for name, number, colour in rows
    )
    return tag("div", *cells, style="max-width:34em;font-size:92%;margin:4px 0")


def _drawn(record: Partition, decisions: int) -> tuple[Html, ...]:
    if record.grouping is None:
        return ()
    from tvmlab.show import drawings, refusals  # they need the fuser, which is there if the record is

    return drawings.graph_of(record), refusals.refusals_of(record), drawings.decisions_of(record, decisions)


def _legend(groups: Iterable[Group]) -> Html:
    seen = Counter(kind for group in groups for kind in group.kinds)
    order = [*palette.KINDS, *sorted(set(seen) - set(palette.KINDS))]
    chips = (chip(f"{kind} {seen[kind]:,}", palette.kind_colour(kind)) for kind in order if seen[kind])
    return tag("div", muted("nodes by pattern kind: "), *chips, style="margin:4px 0;font-size:92%")


def _chips(names: Iterable[str], kinds: Iterable[str]) -> Html:
    return join([chip(short(n), palette.kind_colour(k), title=k) for n, k in zip(names, kinds, strict=True)])


def _all_groups(groups: Iterable[Group]) -> Html:
    rows = ((mono(short(g.kernel)), len(g.nodes), _chips(g.nodes, g.kinds)) for g in groups)
    return table(("kernel", "nodes", "what is in it"), rows, align="nrl")


def _summed_up(groups: tuple[Group, ...]) -> Html:
    patterns = Counter((_operations(g), g.kinds) for g in groups)
    shared = [(names, kinds, n) for (names, kinds), n in patterns.most_common() if len(names) > 1]
    alone = Counter({(names, kinds): n for (names, kinds), n in patterns.items() if len(names) == 1})
    rows: list[tuple[object, object]] = [(f"{n:,} ×", _chips(names, kinds)) for names, kinds, n in shared]
    if alone:
        chips = (
            chip(f"{names[0]} × {n:,}", palette.kind_colour(kinds[0]), kinds[0])
            for (names, kinds), n in alone.most_common()
        )
        rows.append((f"{alone.total():,} ×", join([muted("alone: "), *chips])))
    whole = details(f"all {count(len(groups), 'kernel')}, in order", scroll(_all_groups(groups)))
    return join([table(("kernels", "nodes that share one"), rows, align="rl"), whole])


def _operations(group: Group) -> tuple[str, ...]:
    return tuple(map(operation, group.operations or group.nodes))


def _plain(groups: tuple[Group, ...]) -> str:
    if len(groups) <= _FEW:
        whole = ((g.kernel, len(g.nodes), " · ".join(g.nodes)) for g in groups)
        return plain_table(("kernel", "nodes", ""), whole, "lrl")
    patterns = Counter(map(_operations, groups)).most_common()
    rows = [(f"{n:,} ×", " · ".join(names)) for names, n in patterns]
    cut = [("", f"… {len(rows) - _PLAIN_ROWS} more patterns")] if len(rows) > _PLAIN_ROWS else []
    return plain_table(("kernels", "nodes that share one"), rows[:_PLAIN_ROWS] + cut, "rl")
