"""Live operators for the tests of this room."""

from __future__ import annotations

import pytest

from tvmlab.api import define

CLAMP = """
class Attrs:
    lower: float = -1.0

def compute(x, lower):
    return te.compute(x.shape, lambda *i: tirx.max(const_like(lower, x), x(*i)), name="clamp")

def reference(x, lower):
    return np.maximum(x, lower)
"""


@pytest.fixture(scope="session")
def clamp():
    """An operator with a reference and an attribute."""
    return define("measurelab.clamp", CLAMP)


@pytest.fixture(scope="session")
def halves():
    """An operator with two outputs."""
    body = """
def compute(x):
    n = x.shape[0]
    low = te.compute(x.shape, lambda *i: x(*i) * const_like(0.5, x), name="low")
    high = te.compute(x.shape, lambda *i: x(*i) + const_like(1, x), name="high")
    return low, high

def reference(x):
    return x * 0.5, x + 1
"""
    return define("measurelab.halves", body)


@pytest.fixture(scope="session")
def doubled():
    """An operator without a reference."""
    body = "def compute(x): return te.compute(x.shape, lambda *i: x(*i) + x(*i), name='doubled')"
    return define("measurelab.doubled", body)
