"""Exercise 04b: repair a compute that was published."""

from __future__ import annotations

from tvmlab.course.exercises import ex04a
from tvmlab.course.values import has_values_of
from tvmlab.records import Exercise

EXERCISE = Exercise(
    id="04b",
    title="a published compute, repaired",
    grade=1,
    statement=(
        "This is how an article writes leaky_clamp. Three things keep it from working here. Run it, read the verdict, "
        "mend what it says, and run it again. The attributes are bound by name, and x is a tensor already."
    ),
    starter="""\
class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01

def compute(data, lower, upper, slope):
    def _compute(ins):
        x = ins[0]

        def clamp(*i):
            clamped = te.max(te.min(x[i], upper), upper)
            return clamped + slope * te.min(x[i] - lower, 0.0)

        return te.compute(x.shape, clamp, name="leaky_clamp", tag="elemwise")

    return _compute
""",
    asks="lab.leaky_clamp",
    properties=(
        has_values_of(ex04a.leaky_clamp, ex04a.defaults, "it is right for the default attributes"),
        has_values_of(ex04a.leaky_clamp, ex04a.attributes, "it is right for other attributes"),
    ),
    hints=(
        "What does compute return, and what should it return? Who would call the inner function, and with what?",
        (
            "compute gets the tensor as its first argument. No second function is needed. What is left is about "
            "constants: a bare 0.0 is a float32, whatever x is."
        ),
        (
            "Outline: compute returns the te.compute itself. Each of the four numbers goes through const_like with x "
            "first. Then look at the two limits once more."
        ),
    ),
    lesson="04_construction_crew",
)
