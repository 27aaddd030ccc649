"""What a trace shows of the decisions of the inliner and the scheduler."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define

BODY = """
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name="double")

def schedule(sch, block):
    sch.vectorize(sch.get_loops(block)[{loop}])
"""


def traced(name, loop):
    double = define(f"decided.{name}", BODY.format(loop=loop))

    def block(x: "float32[8, 32]"):
        return relax.op.exp(double(x))

    return pipeline.trace(pipeline.graph(block))


def test_a_schedule_that_fails_is_said_with_its_line(draw):
    page, plain = draw(traced("bad", 5))
    said = "the schedule of decided.bad fails: IndexError"
    assert said in plain
    assert said in page.text
    assert "line 7: " in plain
    assert "the scheduler's own rules are taken instead" in page.text


def test_a_schedule_that_works_is_no_matter_for_doubt(draw):
    page, plain = draw(traced("good", -1))
    assert "fails" not in plain
    assert "by the schedule of decided.good" in page.text


def test_why_a_broadcast_is_kept_is_shown(draw):
    def block(x: "float32[512, 64]", row: "float32[1, 64]"):
        return relax.op.add(x, relax.op.sqrt(relax.op.abs(row)))

    page, _ = draw(pipeline.trace(pipeline.graph(block)))
    assert "kept: it would be computed 512 times" in page.text
