"""Operators of the corpora, defined and checked."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from tvmlab import checks, ops
from tvmlab.errors import TvmlabError


def report_of(body, name="wrong.op", **options):
    """Define an operator and check it; if it is refused, the report that says so."""
    if body.startswith("@"):
        first, _, body = body.partition("\n")
        name = first[1:]
    try:
        op = ops.define(name, ops.read_cell(body))
    except TvmlabError as error:
        return checks.refused_report(name, error)
    return checks.check_op(op, **options)


@pytest.fixture
def report():
    """`report_of`."""
    return report_of


@pytest.fixture(scope="session", autouse=True)
def _packed_functions():
    """What wrong kernels call."""

    def plain(source, target):
        target.copyfrom(source.numpy())

    def random(_source, target):
        target.copyfrom(np.random.default_rng().random(target.shape).astype(str(target.dtype)))

    def writes(source, target):
        ones = np.ones(target.shape, str(target.dtype))
        target.copyfrom(ones)
        source.copyfrom(ones)

    functions = {"wrong.f": plain, "wrong.random": random, "wrong.writes": writes}
    for name, function in functions.items():
        tvm.register_global_func(name, function, override=True)
    yield
    for name in functions:
        tvm.get_global_func(name)
