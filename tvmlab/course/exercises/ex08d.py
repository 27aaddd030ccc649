"""Exercise 08d: whether two nodes fuse, for every pair of kinds."""

from __future__ import annotations

from tvmlab.course.rule_tables import decides_as_tvm, fuses_chains, random_chains
from tvmlab.records import Exercise

EXERCISE = Exercise(
    id="08d",
    title="the truth table of can_fuse",
    grade=2,
    statement=(
        "Node a has a single reader, b. can_fuse(a, b, group) says whether FuseOps puts the two into one kernel: a is "
        "the kind of the first node, b that of its reader, and group the kind of the reader's group, which is OEF if a "
        "convolution or the like has joined it before, and else the same as b. Return True or False."
    ),
    starter='''\
from tvmlab.fusion import Kind

def can_fuse(a, b, group):
    """Whether a node of kind a joins its only reader, of kind b, in a group of kind `group`."""
    if a == Kind.OEF:
        return b == Kind.ELEM and group <= Kind.BCAST
    return ...
''',
    asks="can_fuse",
    properties=(
        decides_as_tvm("the table of 36 pairs is that of FuseOps", taken=False),
        decides_as_tvm("it is right if an OEF has joined the reader before", taken=True),
        fuses_chains(
            lambda random: random_chains(random, 100, 12), "with it, 100 random chains are grouped as by FuseOps"
        ),
    ),
    hints=(
        "Two kinds never begin anything. Which are they? The others differ in what may stand behind them.",
        (
            "ELEM and BCAST ask two things: is what the reader itself does simple enough, up to a reduction; and is "
            "its group at most OEF? INJ asks one thing: is the group INJ at most?"
        ),
        (
            "Outline: a comparison of b with REDUCE for ELEM and BCAST, which also keeps OEF and OPAQUE out; the group "
            "may be OEF. A comparison of the group with INJ for INJ. False for the rest."
        ),
    ),
    lesson="08_own_fuser",
)
