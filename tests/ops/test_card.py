"""The operator's card says what is set, what was derived, what is missing."""

from __future__ import annotations

import re

import pytest

from tvmlab import api
from tvmlab.ops import gallery

KINDS = {
    "leaky_clamp": "kElemWise",
    "swish": "kElemWise",
    "bias": "kElemWise",
    "pad": "kInjective",
    "split": "kInjective",
    "sum": "kCommReduce",
    "rms_norm": "kOutEWiseFusable",
    "softmax": "kOutEWiseFusable",
    "matmul": "kOutEWiseFusable",
    "depthwise_conv": "kOutEWiseFusable",
}


@pytest.mark.parametrize("name", gallery.names())
def test_the_kind_is_the_one_that_tvm_infers(name):
    assert api.define(f"lab.{name}", gallery.text(name)).card().kind == KINDS[name]


def test_the_chain_of_a_bare_operator():
    card = api.define("lab.bare", "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i))\n").card()
    status = {part.part: part.status for part in card.chain}
    assert status == {
        "name": "set",
        "docstring": "missing",
        "class Attrs": "derived",
        "type_rule": "derived",
        "purity": "set",
        "pattern": "derived",
        "compute": "set",
        "lower_for_<target>": "missing",
        "schedule": "missing",
        "gradient": "missing",
        "reference": "missing",
    }
    assert [p.column for p in card.chain][0::6] == ["identity card", "construction crew"]


def test_the_chain_of_a_full_operator_in_old_words_and_new():
    card = api.define("lab.leaky_clamp", gallery.text("leaky_clamp")).card()
    rule = next(p for p in card.chain if p.part == "type_rule")
    assert (rule.status, rule.old_word, rule.now) == ("set", "type relation (add_type_rel)", "FInferType")
    assert "rules.same" in rule.detail
    assert card.attributes == (("lower", "float", "-1.0"), ("upper", "float", "1.0"), ("slope", "float", "0.01"))
    assert card.example == "(float32[n, m]) → float32[n, m]"


def test_the_tir_is_that_of_the_operator():
    card = api.define("lab.leaky_clamp", gallery.text("leaky_clamp")).card()
    assert re.search(
        r"def lab_leaky_clamp(\[m, n\])?\(x: T.Buffer\(\(n, m\)", card.tir
    )  # with [m, n] from Python 3.12 on
    assert "import" not in card.tir
    assert "T.max(T.float32(-1.0), T.min(T.float32(1.0), x[v_i0, v_i1]))" in card.tir


def test_a_forced_pattern_is_said_to_be_forced():
    body = gallery.text("swish") + "\npattern = 'opaque'\n"
    assert api.define("lab.alone", body).card().kind == "kOpaque (forced)"


def test_sizes_that_must_be_known_are_remarked():
    op = api.define(
        "lab.unrolled",
        "def compute(x):\n    n = int(x.shape[0])\n"
        "    return te.compute(x.shape, lambda *i: x(*i) * const_like(n, x))\n",
    )
    (remark,) = op.card().remarks
    assert remark.startswith("needs sizes that are known when it is compiled")


def test_an_operator_that_refuses_all_guesses_is_live_and_says_what_it_refused():
    op = api.define(
        "lab.picky",
        "def type_rule(x):\n    if x.ndim != 9:\n        raise ValueError('nine axes, please')\n    return x\n"
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i))\n",
    )
    (remark,) = op.card().remarks
    assert "nine axes, please" in remark
    assert "examples" in remark
    assert op.card().tir == ""


def test_examples_of_the_cell_are_used():
    op = api.define(
        "lab.shaped",
        "class Attrs:\n    axis: int\ndef compute(x, axis):\n"
        "    return te.compute([x.shape[axis]], lambda i: x[0, 0, i])\n"
        "examples = [{'x': (2, 3, 4), 'axis': 2}]\n",
    )
    assert str(op.examination.example) == "(float32[2, 3, 4]) → float32[4]"
