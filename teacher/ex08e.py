"""What only teachers see of 08e."""

from __future__ import annotations

from tvmlab.course.holes import has_hole

SOLUTION = '''
from tvmlab.fusion import Kind

def counterexample(length):
    """Kinds, inputs and outputs of a graph; [-1] is a parameter of the model."""
    kinds = [Kind.OEF]
    inputs = [[-1]]
    for node in range(1, length + 1):
        kinds.append(Kind.OPAQUE)
        inputs.append([node - 1])
    kinds.append(Kind.ELEM)
    inputs.append([0, length])
    return kinds, inputs, [len(kinds) - 1]
'''

WRONG = (
    (SOLUTION.replace("[0, length]", "[length]"), "every group can run at once"),
    (SOLUTION.replace("length + 1", "2").replace("[0, length]", "[0, 1]"), "it leaves a group and comes back over 1"),
    (SOLUTION.replace("kinds.append(Kind.ELEM)", "kinds.append(Kind.OPAQUE)"), "every group can run at once"),
    (SOLUTION.replace("[len(kinds) - 1]\n", "[0, len(kinds) - 1]\n"), "one node lies on the way around"),
    (
        SOLUTION.replace("return kinds, inputs, [len(kinds) - 1]", "return kinds"),
        "and should be kinds, inputs and outputs",
    ),
    (SOLUTION.replace("[node - 1]", "[node + 1]"), "which does not come before it"),
)

HIDDEN = (has_hole(range(1, 12), "any length up to eleven can be asked for"),)
