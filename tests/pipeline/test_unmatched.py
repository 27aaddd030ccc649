"""Why a pattern for FuseOpsByPattern matches nothing: recognised on the module, while TVM says nothing."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.relax.dpl import is_const, is_op, is_tuple_get_item, wildcard
from tvm.relax.transform import FuseOpsByPattern, FusionPattern, LegalizeOps

import tvmlab as tl
from tvmlab import runtime
from tvmlab.pipeline.unmatched import why_no_match

KIND = relax.TensorType((4, 4), "float32")


def module():
    """exp, relu, a matrix product with a constant, a difference, and a mean."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", KIND)
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit(relax.op.exp(x), "first")
            second = builder.emit(relax.op.nn.relu(first), "second")
            product = builder.emit(relax.op.matmul(second, relax.const(np.ones((4, 4), "float32"))), "product")
            total = builder.emit(relax.op.subtract(product, first), "total")
            result = builder.emit_output(relax.op.mean(total, axis=1))
        builder.emit_func_output(result)
    return builder.get()


x, y = wildcard(), wildcard()
CASES = {
    "wrong operator": (
        is_op("relax.nn.relu")(is_op("relax.tanh")(x)),
        "first is relax.exp, where the pattern asks for relax.tanh",
    ),
    "no such operator": (is_op("relax.nn.gelu")(x), "main does not call relax.nn.gelu; did you mean 'relax.nn.relu'?"),
    "arity": (is_op("relax.exp")(x, y), "first (relax.exp) has 1 operands, and the pattern 2"),
    "a parameter": (is_op("relax.exp")(is_op("relax.nn.relu")(x)), "x is a parameter or unbound variable, where"),
    "a constant": (
        is_op("relax.matmul")(is_const(), x),
        "the operands of product (relax.matmul) are in the other order",
    ),
    "no constant": (is_op("relax.subtract")(x, is_const()), "first is no constant"),
    "order": (
        is_op("relax.subtract")(is_op("relax.exp")(x), is_op("relax.matmul")(y, wildcard())),
        "the operands of total (relax.subtract) are in the other order",
    ),
    "attribute": (
        is_op("relax.mean")(x).has_attr({"keepdims": True}),
        "(relax.mean) has keepdims=False, and the pattern asks for True",
    ),
    "dtype": (is_op("relax.exp")(x).has_dtype("float16"), "and the pattern asks for float16"),
    "used twice": (is_op("relax.subtract")(x, x), "a part that is used twice is two different values there"),
    "field": (is_op("relax.exp")(is_tuple_get_item(x, 1)), "x is no field of a tuple"),
    "either": (is_op("relax.nn.relu")(is_op("relax.tanh")(x) | is_op("relax.erf")(x)), "first is relax.exp, where"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named_and_tvm_does_not_match_either(case):
    pattern, told = CASES[case]
    given = module()
    with runtime.quiet():
        fused = FuseOpsByPattern([("lab.p", pattern)], bind_constants=False)(given)
    assert len(fused.functions) == 1
    assert told in why_no_match(given, ("lab.p", pattern))


def test_a_pattern_of_operators_in_a_legalized_module():
    with runtime.host_target():
        legal = LegalizeOps()(module())
    assert "main is legalized: match before LegalizeOps" in why_no_match(legal, is_op("relax.exp")(x))


def test_what_matches_but_is_read_elsewhere_too_or_refused_by_its_check():
    pair = is_op("relax.nn.relu")(is_op("relax.exp")(x))
    told = why_no_match(module(), FusionPattern("lab.pair", pair, {}, lambda _: False))
    assert told == "lab.pair matches at second, but first is read by total too: who wants a single output refuses it."
    single = FusionPattern("lab.one", is_op("relax.nn.relu")(x), {}, lambda _: False)
    assert why_no_match(module(), single) == "lab.one matches at second, and its check refuses it."
    assert why_no_match(module(), pair.args[0]) == "the pattern matches at first."


def test_a_template_after_the_clean_up_has_folded_what_it_asks_for(small):
    model = tl.load(small)
    assert tl.why_no_match(model, "conv_bn_relu").startswith("tvmlab.conv_bn_relu matches at relu1")
    cleaned = tl.trace(model)["import"].module
    assert "tvmlab.conv_bn_relu matches nothing; nearest to it is" in tl.why_no_match(cleaned, "conv_bn_relu")
