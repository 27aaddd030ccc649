"""Exercise 05a: from the call to its kernel."""

from __future__ import annotations

from tvmlab.course import mutants
from tvmlab.course.exercises import ex04a
from tvmlab.course.lowerings import calls_a_kernel_named, lowers_to
from tvmlab.course.values import Case
from tvmlab.records import Exercise

OPERATOR = mutants.cell()

EXERCISE = Exercise(
    id="05a",
    title="FLegalize, by hand",
    grade=1,
    statement=(
        "LegalizeOps meets a call of leaky_clamp, and asks your function what to put in its place. call.args are its "
        "tensors, call.attrs its attributes by name. Let bb.call_te make a kernel of compute, called leaky_clamp (for "
        "the name it has the argument primfunc_name_hint)."
    ),
    starter='''\
def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)

    return te.compute(x.shape, clamp, name="clamp")

def legalize(bb, call):
    """The expression that replaces the call."""
    ...
''',
    asks="legalize",
    properties=(
        lowers_to(OPERATOR, ex04a.leaky_clamp, ex04a.defaults, "with the default attributes its kernel is right"),
        lowers_to(OPERATOR, ex04a.leaky_clamp, ex04a.attributes, "with other attributes too"),
        calls_a_kernel_named(OPERATOR, "leaky_clamp", Case((ex04a.SMALL,), {}), "there is one kernel, leaky_clamp"),
    ),
    hints=(
        "bb.call_te(function, *its arguments) builds a kernel and returns the call of it. Which arguments has compute?",
        (
            "The tensor is call.args[0], the lower limit is call.attrs.lower. call_te hands its arguments on by place, "
            "in the order of compute. The name is primfunc_name_hint=."
        ),
        (
            "Outline: return what bb.call_te returns, for compute, the tensor, the three attributes in the order in "
            "which compute takes them, and the name as a keyword."
        ),
    ),
    lesson="05_wiring",
)
