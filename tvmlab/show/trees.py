"""The tree of post-dominators as a scene: each node above the first one that everything made from it flows through.

A line of the tree is a decision: either the two were merged, or a rule forbade it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlab.show.graphs import TILE, Arrow, Box, Scene, Tile
from tvmlab.show.layouts import Line, layered
from tvmlab.show.node_words import tile_text, tile_width

if TYPE_CHECKING:
    from tvmlab.fusion import Grouping

__all__ = ["tree_scene"]

_END = (90.0, 24.0)


def tree_scene(grouping: Grouping, *, names: bool = True) -> Scene:
    """Every node above its post-dominator; what has none stands on the end, where values leave the graph.

    Parameters
    ----------
    grouping : Grouping
    names : bool
        Whether tiles wear labels, or else operations.
    """
    graph, count = grouping.graph, len(grouping.graph)
    texts = [tile_text(graph, node, names) for node in range(count)]
    widths = [tile_width(text) for text in texts]
    parents = [grouping.tree.of(node) for node in range(count)]
    lines = [Line(node, count if parent is None else parent) for node, parent in enumerate(parents)]
    layout = layered([*((width, TILE) for width in widths), _END], lines, gap=(14.0, 22.0))
    tiles = tuple(
        Tile(node, *layout.places[node], widths[node], texts[node], graph.kind(node).name,
             not graph.computes or bool(graph.computes[node]))
        for node in range(count)
    )  # fmt: skip
    arrows = tuple(
        Arrow(node, -1 if parent is None else parent, tuple(route), state=_state(grouping, node, parent))
        for node, parent, route in zip(range(count), parents, layout.routes, strict=True)
    )
    x, y = layout.places[count]
    end = Box(-1, None, x - _END[0] / 2, y - _END[1] / 2, *_END, ("outside",), folded=True)
    return Scene(tiles, (end,), arrows, layout.width, layout.height)


def _state(grouping: Grouping, node: int, parent: int | None) -> str:
    if parent is None:
        return "end"
    return "merged" if grouping.together(node, parent) else "refused"
