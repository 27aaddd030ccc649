"""What only teachers see of 08d."""

from __future__ import annotations

from tvmlab.course.rule_tables import fuses_chains, random_chains

SOLUTION = '''
from tvmlab.fusion import Kind

def can_fuse(a, b, group):
    """Whether a node of kind a joins its only reader, of kind b, in a group of kind `group`."""
    if a == Kind.OEF:
        return b == Kind.ELEM and group <= Kind.BCAST
    if a <= Kind.BCAST:
        return b <= Kind.REDUCE and group <= Kind.OEF
    return a == Kind.INJ and group <= Kind.INJ
'''

ARTICLE = """
from tvmlab.fusion import Kind

def can_fuse(a, b, group):
    if a == Kind.OEF:
        return b in (Kind.ELEM, Kind.BCAST)
    return a == Kind.BCAST and b == Kind.ELEM
"""

WRONG = (
    (ARTICLE, "TVM fuses ELEM and a reader that is ELEM, and you say False"),
    (SOLUTION.replace("b <= Kind.REDUCE and", "b <= Kind.INJ and"), "TVM fuses ELEM and a reader that is REDUCE"),
    (SOLUTION.replace("b <= Kind.REDUCE and ", ""), "TVM keeps apart ELEM and a reader that is OEF, and you say True"),
    (
        SOLUTION.replace("b == Kind.ELEM and group <= Kind.BCAST", "b == Kind.ELEM"),
        "TVM keeps apart OEF and a reader that is ELEM, in a group that is OEF by now, and you say True",
    ),
    (
        SOLUTION.replace("b <= Kind.REDUCE and group <= Kind.OEF", "b <= Kind.REDUCE and group <= Kind.REDUCE"),
        "TVM fuses ELEM and a reader that is ELEM, in a group that is OEF by now, and you say False",
    ),
    (SOLUTION.replace("return a == Kind.INJ and group", "return group"), "TVM keeps apart REDUCE"),
    (
        SOLUTION.replace("return b == Kind.ELEM and", "return b if").replace("group <= Kind.BCAST\n", "group else 0\n"),
        "the answer is",
    ),
)

HIDDEN = (fuses_chains(lambda random: random_chains(random, 200, 30), "200 random chains of up to 30 nodes are right"),)
