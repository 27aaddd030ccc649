"""What only teachers see of 01d."""

from __future__ import annotations

from tvmlab.course.exercises.ex01d import predicts

_CELL = """
def prediction():
    unfused = {}
    scheduled = {}
    return {{"unfused": unfused, "scheduled": scheduled}}
"""

SOLUTION = _CELL.format('[("emit_te", "op"), "compose"]', '[("compose", "emit_te", "op")]')

WRONG = (
    (_CELL.format('["op", "emit_te", "compose"]', '[("compose", "emit_te", "op")]'), "you say op, then emit_te"),
    (_CELL.format('["compose", ("emit_te", "op")]', '[("compose", "emit_te", "op")]'), "it is emit_te and op, then"),
    (
        _CELL.format('[("emit_te", "op"), "compose"]', '[("emit_te", "op"), "compose"]'),
        "scheduled you say emit_te and op, then compose; it is compose and emit_te and op",
    ),
    (_CELL.format('["op"]', '["op"]'), "does not have each of compose, emit_te, op once"),
)


HIDDEN = (
    predicts("unfused", 100, "unfused, it holds for fewer numbers"),
    predicts("scheduled", 100, "fused and scheduled, it holds for fewer numbers"),
)
