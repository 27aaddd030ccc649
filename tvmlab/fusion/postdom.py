"""Post-dominators: for each node, the first node that everything made from its value flows through.

Think of one more node, the *end*, that reads every value that escapes and every value that nobody reads.  Node p
post-dominates v if every way from v to the end leads through p.  The nearest such p is v's parent in a tree whose root
is the end.  It is where v's readers' ways meet: the lowest common ancestor of the readers, which come later in
topological order and are therefore in the tree already when one goes backwards.

Climbing the tree step by step, as TVM does, takes a time that grows with the square of the number of nodes in the worst
case.  Here each node also has a *jump* to an ancestor far above (skew-binary jump pointers: Myers 1983), so that the
ancestors of two nodes meet in a logarithmic number of steps.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from tvmlab.fusion.graph import Graph

__all__ = ["PostDominators", "post_dominators"]


@dataclass(frozen=True, eq=False)
class PostDominators:
    """The tree of post-dominators.

    Parameters
    ----------
    parent : array of int
        Of each node its nearest post-dominator; the number of nodes stands for the end.
    path_kind : bytes
        Of each node with a parent the largest kind met on the way: the kinds of its readers, and of all readers on the
        *tree* paths from them up to the parent.
    weight : list of int
        Where p is the parent of v, v and its inner nodes are at least ``weight[v] - weight[p]`` nodes.
    """

    parent: array[int]
    path_kind: bytes
    weight: list[int]

    def of(self, node: int) -> int | None:
        """The nearest post-dominator of a node; None if only the end is one."""
        parent = self.parent[node]
        return None if parent == len(self.path_kind) else parent

    def chain(self, node: int) -> list[int]:
        """All post-dominators of a node, the nearest first."""
        found = []
        above = self.of(node)
        while above is not None:
            found.append(above)
            above = self.of(above)
        return found


def post_dominators(graph: Graph, lists: tuple[array[int], array[int]] | None = None) -> PostDominators:
    """Build the tree in one sweep from the last node to the first; no recursion, O(edges · log nodes).

    Parameters
    ----------
    graph : Graph
    lists : pair of array of int, optional
        ``graph.distinct_readers()``, if that is at hand.
    """
    kinds, external = graph.kinds, graph.external
    starts, readers = lists or graph.distinct_readers()
    end = len(kinds)
    parent = array("i", [end]) * (end + 1)
    depth = [1] * end + [0]  # parents, jumps and depths are right for nodes whose parent is the end
    weight = [0] * (end + 1)
    inside = bytearray(end + 1)  # 1 for nodes with a parent that is not the end
    top = array("i", [end]) * (
        end + 1
    )  # of those the last post-dominator: where two of them differ, nothing but the end is above
    path_kind = bytearray(end + 1)
    jump = [end] * (end + 1)
    jump_kind = bytearray(end + 1)  # the largest path_kind on the way of the jump, its target left out
    asked_first = asked_second = end  # neighbours are often read by the same two nodes: the last question
    answer, answer_kind = end, 0
    stop = starts[end]
    for node in range(end - 1, -1, -1):
        start, past = starts[node], stop
        stop = start
        if start == past or external[node]:
            continue
        meet = readers[start]
        if past - start == 1:
            kind = kinds[meet]
            least = weight[meet] if inside[meet] else 0
        else:
            others = readers[start + 1 : past]
            last = top[meet] if inside[meet] else meet
            kind = 0
            for reader in others:
                if last != (top[reader] if inside[reader] else reader):
                    meet = end
                    break
                if meet != asked_first or reader != asked_second:
                    asked_first, asked_second, answer_kind = meet, reader, 0
                    a, b = (meet, reader) if depth[meet] >= depth[reader] else (reader, meet)
                    level = depth[b]
                    while depth[a] > level:
                        above = jump[a]
                        if depth[above] >= level:
                            over, a = jump_kind[a], above
                        else:
                            over, a = path_kind[a], parent[a]
                        if over > answer_kind:  # noqa: PLR1730 - max() is twice as slow
                            answer_kind = over
                    while a != b:  # equally deep, and so are the targets of their jumps
                        if jump[a] != jump[b]:
                            over = max(jump_kind[a], jump_kind[b])
                            a, b = jump[a], jump[b]
                        else:
                            over = max(path_kind[a], path_kind[b])
                            a, b = parent[a], parent[b]
                        if over > answer_kind:  # noqa: PLR1730
                            answer_kind = over
                    answer = a
                meet = answer
                if answer_kind > kind:  # noqa: PLR1730
                    kind = answer_kind
            if meet == end:
                continue
            # the way of one reader, or all readers
            least = weight[meet] + past - start - 1
            for reader in readers[start:past]:
                if weight[reader] > least:  # noqa: PLR1730
                    least = weight[reader]
                if kinds[reader] > kind:  # noqa: PLR1730
                    kind = kinds[reader]
        weight[node] = least + 1
        parent[node] = meet
        inside[node] = 1
        path_kind[node] = kind
        if not inside[meet]:  # just below the end: known without looking anything up
            top[node] = meet
            depth[node] = 2
            jump[node] = meet
            jump_kind[node] = kind
            continue
        top[node] = top[meet]
        depth[node] = level = depth[meet] + 1
        half = jump[meet]
        far = jump[half]
        if level - 1 - depth[half] == depth[half] - depth[far]:
            jump[node] = far
            jump_kind[node] = max(kind, jump_kind[meet], jump_kind[half])
        else:
            jump[node] = meet
            jump_kind[node] = kind
    parent.pop()
    weight.pop()
    return PostDominators(parent, bytes(path_kind[:end]), weight)
