"""``%tvm_check``, and the quick check under ``%%tvm_op``."""

from __future__ import annotations

from tvmlab.ops import gallery
from tvmlab.records import CheckReport

CLAMP = gallery.text("leaky_clamp")


def test_the_card_of_an_operator_ends_with_its_quick_check(notebook):
    ran = notebook(f"%%tvm_op lab.leaky_clamp\n{CLAMP}")
    assert ran.error is None
    assert ran.err == ""
    assert "quick check: 7 checks ok" in ran.out
    assert "%tvm_check lab.leaky_clamp makes all" in ran.out
    assert ran.value.quick_check.quick
    assert ran.value.to_dict()["quick_check"]["ok"] is True
    assert notebook("import tvmlab as tl; tl.ops.lab.leaky_clamp.quick_check.ok").value is True


def test_a_wrong_value_is_told_under_the_card_and_the_operator_lives(notebook):
    ran = notebook("%%tvm_op lab.leaky_clamp\n" + CLAMP.replace("tirx.min(zero, v - lo)", "tirx.max(zero, v - lo)"))
    assert ran.error is None
    assert "✗ C10 values equal the reference's: tl.ops.lab.leaky_clamp(" in ran.out
    assert ran.value.quick_check.ok is False


def test_tvm_check_makes_the_checks_that_are_named(notebook):
    notebook(f"%%tvm_op lab.leaky_clamp -q\n{CLAMP}")
    ran = notebook("%tvm_check lab.leaky_clamp --only c05,C12 -v report")
    assert ran.error is None
    assert isinstance(ran.value, CheckReport)
    assert [r.code for r in notebook["report"].results] == ["C05", "C12"]
    assert notebook("%tvm_check lab.leaky_clamp --quick").value.quick


def test_tvm_check_of_what_is_not_live_names_the_line(notebook):
    ran = notebook("%tvm_check lab.nothing_here")
    assert ran.lines[0].startswith("NameRefused: no operator 'lab.nothing_here' is live")
    assert "%tvm_check" in ran.out


def test_a_failure_raises_on_request(notebook):
    notebook("%%tvm_op lab.leaky_clamp -q\n" + CLAMP.replace("tirx.min(zero, v - lo)", "tirx.max(zero, v - lo)"))
    ran = notebook("%tvm_check lab.leaky_clamp --only C10 --raise")
    assert ran.lines[0].startswith("CheckFailed: lab.leaky_clamp fails C10")
    assert ran.err == ""
