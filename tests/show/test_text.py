"""Numbers and tables for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab.show.text import count, duration, plain_table, power


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.75, "4.75 s"),
        (47.51, "47.5 s"),
        (123.4, "123 s"),
        (0.0123, "12.3 ms"),
        (4.51e-5, "45.1 µs"),
        (3e-8, "0.03 µs"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (7.46e-6, "7.5e-6"), (1e-4, "1e-4"), (31, "31"), (3.1e7, "3.1e7"), (float("inf"), "inf")],
)
def test_powers(value, text):
    assert power(value) == text


@given(st.floats(1e-300, 1e300))
def test_powers_keep_two_digits(value):
    assert float(power(value)) == pytest.approx(value, rel=0.051)


def test_counts():
    assert (count(1, "kernel"), count(1210, "kernel"), count(2, "box", "boxes")) == (
        "1 kernel",
        "1,210 kernels",
        "2 boxes",
    )


def test_tables_line_up():
    assert plain_table(("name", "n"), [("a", 1), ("longer", 100)], "lr") == "name      n\na         1\nlonger  100"
    assert plain_table(("", ""), [("a\nb", "x")]) == "a b  x"
