"""Graphs in static pictures: a partition's nodes in their groups, its kernels, its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tvmlab.fusion import Graph, Grouping
from tvmlab.fusion.replay import Turn, turns
from tvmlab.records import Bundle, Partition
from tvmlab.show import graphs, node_words, palette, scene_svg
from tvmlab.show.html import Html, card, chip, details, image, join, mono, muted, scroll, sentence
from tvmlab.show.text import count, short
from tvmlab.show.trees import tree_scene

__all__ = ["decisions_of", "graph_of", "graph_picture", "grouping_picture"]

_DRAWABLE = 20_000  # nodes: how often they repeat is looked at up to here
_TILES = 600
_BESIDE = 40  # nodes: of more, the tree is drawn without the graph beside it
_SHOWN = 300  # nodes: a grouping of more is counted, and not drawn
_LISTED = 12  # groups
_WIDE = 1500  # pixels: beyond, the kernels are not drawn beside their nodes


_LINES = "In the tree, green lines are merges, and red broken ones refusals."
_EXPLAINED = (
    "Each node is taken in turn, in three phases. It is merged into its post-dominator, the first node that everything "
    f"made from it flows through, unless a rule forbids it. {_LINES}"
)


def graph_of(record: Partition) -> Html:
    """The nodes in their groups, and beside them the kernels."""
    graph = record.grouping.graph
    if not len(graph):
        return Html()
    groups = graphs.members(record)
    before = graphs.nodes_scene(graph, groups) if len(graph) <= _DRAWABLE else None
    if before is None or len(before.tiles) > _TILES:
        return muted(f"{count(len(graph), 'node')} are too many for a picture.")
    parts = [(f"before: {count(record.kernels_before, 'kernel')}, in groups", before)]
    kernels = {at: group.kernel for at, group in enumerate(record.groups, 1)}
    after = graphs.kernels_scene(graph, groups, before, kernels)
    if before.width + after.width <= _WIDE:
        parts.append((f"after: {count(record.kernels_after, 'kernel')}", after))
    titles = {tile.node: node_words.title_of(graph, tile.node) for tile in before.tiles} if len(parts) > 1 else {}
    data, width, _ = scene_svg.svg(parts, titles, {graph.kind(node).name for node in range(len(graph))})
    how = f"{count(record.kernels_before, 'node')} in {count(record.kernels_after, 'group')}"
    alt = f"Graph of {record.model[:80]}: {how}. The groups are listed above."
    return scroll(image(data, alt, width), height="60em")


def decisions_of(record: Partition, most: int) -> Html:
    """The tree of post-dominators, and every decision in order; of graphs of at most so many nodes."""
    grouping = record.grouping
    if not 0 < len(grouping.graph) <= most:
        return Html()
    made = turns(grouping)
    merged = sum(turn.merged for turn in made)
    head = f"{count(len(made), 'decision')}, {merged} of them merges, and the tree of post-dominators"
    tree = _tree(grouping, graphs.members(record), merged)
    return details(head, sentence(_EXPLAINED), tree, scroll(*_told(grouping, made), height="60em"))


def grouping_picture(grouping: Grouping) -> Bundle:
    """The graph in its groups beside the tree of post-dominators, and every decision."""
    shown = [" · ".join(map(grouping.graph.label, group)) for group in grouping.groups[:_LISTED]]
    plain = "\n".join([grouping.headline, *shown, *(["…"] if len(grouping) > _LISTED else [])])
    if not 0 < len(grouping.graph) <= _SHOWN:
        return {"text/plain": plain, "text/html": str(card(grouping.headline, accent=palette.GOOD))}
    made = turns(grouping)
    merged = sum(turn.merged for turn in made)
    told = details(f"{count(len(made), 'decision')}, {merged} of them merges", *_told(grouping, made))
    page = card(grouping.headline, _tree(grouping, grouping.groups, merged), muted(_LINES), told, accent=palette.GOOD)
    return {"text/plain": plain, "text/html": str(page)}


def _tree(grouping: Grouping, groups: Sequence[Sequence[int]], merged: int) -> Html:
    """The tree of post-dominators, and beside it the graph if that is small."""
    graph = grouping.graph
    tree = tree_scene(grouping, names=len(graph) <= graphs.SMALL)
    parts = [("post-dominators", tree)]
    if len(graph) <= _BESIDE:
        parts.insert(0, ("the graph, in groups", graphs.nodes_scene(graph, groups, folded=False)))
    titles = {tile.node: node_words.title_of(graph, tile.node) for tile in tree.tiles}
    data, width, _ = scene_svg.svg(parts, titles, {tile.kind for tile in tree.tiles})
    alt = f"Tree of post-dominators: {merged} merges. The decisions are listed below."
    return scroll(image(data, alt, width, shrinks=False), height="60em")


def _told(grouping: Grouping, made: Iterable[Turn]) -> Iterator[Html]:
    return (details(_heading(grouping, turn), sentence(node_words.told(grouping, turn))) for turn in made)


def _heading(grouping: Grouping, turn: Turn) -> Html:
    graph = grouping.graph
    into = mono(short(graph.label(turn.into))) if turn.into is not None else muted("nowhere")
    colour = palette.GOOD if turn.merged else palette.BAD
    word = "merged" if turn.merged else turn.rule.name.lower().replace("_", " ")
    names = [mono(short(graph.label(turn.node))), " → ", into]
    return join([muted(f"phase {turn.phase}: "), *names, " ", chip(word, colour)])


def graph_picture(record: Graph) -> Bundle:
    """Every node on its own."""
    scene = graphs.nodes_scene(record, [[node] for node in range(len(record))]) if len(record) <= _DRAWABLE else None
    if scene is None or not 0 < len(scene.tiles) <= _TILES:
        return {"text/html": str(card(f"Graph: {record.headline}"))}
    titles = {tile.node: node_words.title_of(record, tile.node) for tile in scene.tiles}
    data, width, _ = scene_svg.svg([(record.headline, scene)], titles, {tile.kind for tile in scene.tiles})
    note = muted(".explore() shows how it is fused")
    return {
        "text/html": str(card("Graph", scroll(image(data, f"Graph of {record.headline}", width), height="60em"), note))
    }
