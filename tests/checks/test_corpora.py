"""Wrong operators are caught by the check that claims them; right ones raise no alarm."""

from __future__ import annotations

import pytest

from .conftest import report_of
from .right import RIGHT
from .wrong import DOUBLE, WRONG

SLOW = ("C19", "C20")  # they time; see test_schedule.py and test_compose.py
WRONG_HERE = {name: case for name, case in WRONG.items() if case[0] not in SLOW}


@pytest.mark.parametrize("name", WRONG_HERE)
def test_a_wrong_operator_is_caught_by_its_check(name):
    code, body = WRONG_HERE[name]
    report_of(DOUBLE, name="wrong.other_name", only=["C02"])
    result = report_of(body, only=[code])[code]
    assert result.status in ("failed", "warning"), result.why
    assert "could not be made" not in result.why
    assert result.mend or result.status == "warning" or code in ("C14", "C15")


def test_every_check_has_two_wrong_operators():
    codes = [code for code, _ in WRONG.values()]
    assert {f"C{n:02}" for n in range(1, 21)} == {c for c in codes if codes.count(c) >= 2}
    assert len(WRONG) >= 60


def test_there_are_enough_right_operators():
    assert len(RIGHT) >= 60


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_operator_raises_no_alarm(name):
    report = report_of(RIGHT[name], name="right.op", quick=True, seed=len(name))
    assert report.ok, [r.why for r in report.failed]
    assert not [r.why for r in report.results if "could not be made" in r.why]
