"""Exercise 08e: a graph for which the article's rule makes a circle."""

from __future__ import annotations

from tvmlab.course.holes import has_hole
from tvmlab.records import Exercise

EXERCISE = Exercise(
    id="08e",
    title="a group that waits for itself",
    grade=3,
    statement=(
        "The article's can_fuse looks at a node and its post-dominator, and at nothing between the two. Design the "
        "graph that this breaks: counterexample(length) returns kinds, inputs and outputs of a graph, as for "
        "fusion.Graph.from_kinds, of which the naive fuser makes a group that a value leaves, flows through exactly "
        "`length` nodes outside of it, and enters again. Then the group waits for itself, and no order of kernels "
        "works. The kinds may be all but TUPLE."
    ),
    starter='''\
from tvmlab.fusion import Kind

def counterexample(length):
    """Kinds, inputs and outputs of a graph; [-1] is a parameter of the model."""
    kinds = [Kind.OEF]
    inputs = [[-1]]
    ...
    return kinds, inputs, [len(kinds) - 1]
''',
    asks="counterexample",
    properties=(
        has_hole([1], "one node lies on the way around"),
        has_hole([2, 3, 4], "ways around of two, three and four nodes can be asked for"),
    ),
    hints=(
        (
            "The naive fuser merges OEF with a post-dominator that is ELEM or BCAST. Which graph has a first node, a "
            "last one that reads it, and more in between?"
        ),
        "What is between must not be merged itself: give it a kind that the table of the article never takes.",
        (
            "Outline: an OEF; a row of `length` opaque nodes behind it; and an elementwise node that reads both the "
            "first node and the end of the row. All that is made from the first flows into the last, so that is its "
            "post-dominator."
        ),
    ),
    lesson="08_own_fuser",
)
