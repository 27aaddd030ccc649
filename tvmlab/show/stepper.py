"""The fusion stepper: the decisions of a partition, one after the other, on its graph; and what if they were others.

The fuser is imported only when something of it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvmlab.errors import CallError
from tvmlab.records import Bundle, Partition, explorer, picture

if TYPE_CHECKING:
    from tvmlab.fusion import Graph, Grouping

__all__ = ["graph_explorer", "graph_picture", "grouping_explorer", "grouping_picture", "partition_explorer"]


@explorer(Partition)
def partition_explorer(record: Partition) -> Any:
    """The stepper at the end of all decisions."""
    from tvmlab.show import stepping

    if record.grouping is None:
        raise CallError(f"{record.model} has groups but no graph", mend="explore what tl.fuse gives")
    return stepping.explore(record, record.grouping, record.model, at_end=True)


@explorer("Graph")
def graph_explorer(record: Graph) -> Any:
    """The stepper before the first decision."""
    from tvmlab.fusion import partition
    from tvmlab.show import stepping

    return stepping.explore(record, partition(record), "graph", at_end=False)


@picture("Grouping")
def grouping_picture(record: Grouping) -> Bundle:
    """The graph in its groups, and the tree of post-dominators."""
    from tvmlab.show import drawings

    return drawings.grouping_picture(record)


@explorer("Grouping")
def grouping_explorer(record: Grouping) -> Any:
    """The stepper at the end of all decisions."""
    from tvmlab.show import stepping

    return stepping.explore(record, record, "graph", at_end=True)


@picture("Graph")
def graph_picture(record: Graph) -> Bundle:
    """Every node on its own."""
    from tvmlab.show import drawings

    return drawings.graph_picture(record)
