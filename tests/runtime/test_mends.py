from __future__ import annotations

import pytest

from tvmlab.runtime.mends import is_out_of_memory, mend_of_compiling


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        (
            "Check failed: (!require_value_computed) is false: PrimExpr n * T.int64(2) is not computed",
            "alone in an input",
        ),
        ("CodeGenVM cannot handle this intrinsic now: Op(relax.nn.attention)", "legalize every operator first"),
        ("std::bad_alloc", "smaller shapes"),
        ("something new", "%tb shows all"),
    ],
)
def test_a_mend_is_for_its_cause(said, mend):
    assert mend in mend_of_compiling(RuntimeError(said))


@pytest.mark.parametrize(
    ("error", "so"), [(MemoryError(), True), (RuntimeError("std::bad_alloc"), True), (RuntimeError("other"), False)]
)
def test_what_is_out_of_memory(error, so):
    assert is_out_of_memory(error) == so
