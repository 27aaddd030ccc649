"""Exercise 05d: inputs that find every slip."""

from __future__ import annotations

from tvmlab.course.mutants import kills_all, spares
from tvmlab.records import Exercise

EXERCISE = Exercise(
    id="05d",
    title="inputs that kill mutants",
    grade=2,
    statement=(
        "Eight mutants of leaky_clamp have one slip each. Write calls, each an array of float32 and attributes, at "
        "which they give something else than leaky_clamp does. One of the eight cannot be told from it by any legal "
        "call: name that one. tl.course.mutation_score(calls) shows which call kills which mutant."
    ),
    starter='''\
def tests():
    """A list of (x, attributes), and the name of the mutant that no call can kill."""
    calls = [
        (np.array([-0.5, 0, 0.5], "float32"), {}),
    ]
    nobody_kills = ...
    return calls, nobody_kills
''',
    asks="tests",
    properties=(
        kills_all("the calls kill seven of the eight"),
        spares("the eighth is named"),
    ),
    hints=(
        "Which of the three ranges, below, between and above, does each mutant change? Is there an element in it?",
        (
            "With lower = -1 and upper = 1 a mutant that takes the one for the other's negative is right. A slope of "
            "0.01 hides a slope of 0.01. NaN is a number to test with, too."
        ),
        (
            "Outline: one array with elements below lower, on it, between, on upper and above, and a NaN; one "
            "call with it is enough, if its limits are not each other's negatives, lower is not -1, and the slope is "
            "another one. The eighth clamps twice, in the other order: when does that matter?"
        ),
    ),
    lesson="05_wiring",
)
