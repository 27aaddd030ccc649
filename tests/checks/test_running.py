"""A report: what is in it, what is skipped and why, and that nothing makes it fail to come."""

from __future__ import annotations

import json

import pytest

import tvmlab as tl
from tvmlab import checks, ops
from tvmlab.checks import catalogue, running
from tvmlab.errors import CallError, CheckFailed, LoadError, NameRefused, TypeRuleError
from tvmlab.ops import gallery
from tvmlab.testing import assert_op_ok

from .conftest import report_of
from .wrong import DOUBLE, WRONG, clamp

BAD = clamp("tirx.max(lo, tirx.min(const_like(1.0, x), x(*i)))")


def test_a_full_report_has_every_check_and_the_matrix():
    report = report_of(gallery.text("leaky_clamp"), name="right.clamp")
    assert [r.code for r in report.results] == list(checks.codes())
    assert report.ok
    assert {r.code for r in report.of_status("skipped")} == {"C19", "C20"}
    assert report["C20"].why == "it takes long; %tvm_check right.clamp --only C20 makes it"
    kinks = report["C16"].notes[0]
    assert kinks.startswith("kinks were left out, at x = ")
    here = {(c.dtype, c.shape): c.status for c in report.matrix if c.target == "llvm"}
    assert {here["float16", s] for s in ("static", "symbolic", "empty")} == {"right"}
    assert here["int32", "static"] == "refused"
    assert {c.status for c in report.matrix if c.target == "cuda"} == {"compiles", "refused"}
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is True
    assert len(data["results"]) == 20


def test_a_failure_is_shrunk_to_one_line_with_a_cell_that_shows_it():
    result = report_of(BAD, only=["C10"])["C10"]
    shown = 'tl.ops.wrong.op(np.array([[1.0]], "float32"), high=0.375) gives 1, the reference says 0.375'
    assert result.why == shown
    assert result.where.startswith("cell, line 10")
    printed = []
    exec(result.repro, {"print": printed.append})
    assert [p.tolist() for p in printed] == [[[1.0]], [[0.375]]]
    assert result.lesson == "04 Construction crew: TE compute"


def test_a_cell_that_shows_a_type_rule_at_fault_raises_its_error():
    result = report_of(WRONG["rule without unknown shapes"][1], only=["C04"])["C04"]
    with pytest.raises(TypeRuleError, match="'NoneType' object is not iterable"):
        exec(result.repro, {})


def test_a_cell_that_shows_a_gradient_at_fault_prints_the_adjoint(capsys):
    exec(report_of(WRONG["gradient too small"][1], only=["C16"])["C16"].repro, {})
    assert "R.multiply" in capsys.readouterr().out


def test_a_wrong_kind_of_code_is_refused_with_the_one_meant():
    report_of(DOUBLE)
    with pytest.raises(CallError, match="there is no check 'C55'"):
        tl.check("wrong.op", only=["C55"])


def test_nothing_times_infinity_is_no_alarm_but_is_told():
    """For a slope of 0 TVM leaves the product out while it builds; NumPy makes a NaN of 0 * inf."""
    body = (
        "class Attrs:\n    slope: float = 0.0\n"
        "def compute(x, slope):\n    s = const_like(slope, x)\n"
        "    return te.compute(x.shape, lambda *i: x(*i) + s * x(*i))\n"
        "def reference(x, slope):\n    return np.abs(x) + slope * x\n"
    )
    assert report_of(body, only=["C10"])["C10"].status == "failed"
    result = report_of(body.replace("np.abs(x) + slope * x", "np.where(x > 0, x, x) + slope * x"), only=["C10"])["C10"]
    assert result.status == "warning"
    assert "not ordinary" in result.why


def test_a_difference_is_checked_for_booleans_too():
    body = "def compute(x, y): return te.compute(x.shape, lambda *i: x(*i) - y(*i))\ndef reference(x, y): return x - y"
    report = report_of(body, quick=False)
    assert [r.code for r in report.results if r.status == "failed"] == ["C09"]  # y may be smaller than x
    assert "bool" in str(report.to_dict())


def test_a_check_that_fails_itself_is_skipped_with_a_reason(monkeypatch):
    op = ops.define("wrong.op", ops.read_cell(DOUBLE))

    def broken(_subject):
        raise ZeroDivisionError("by mistake")

    check = catalogue.Check("C01", "broken", "", broken)
    monkeypatch.setattr(running, "CHECKS", (check,))
    result = checks.check_op(op, only=["C01"])["C01"]
    assert (result.status, result.why) == (
        "skipped",
        "the check itself could not be made: ZeroDivisionError: by mistake",
    )


def test_an_operator_that_takes_none_of_the_inputs_is_told_so():
    body = "def compute(x):\n    raise ValueError('never')\n"
    report = report_of(body, only=["C05", "C10"])
    assert report["C05"].status == "warning"
    assert "refused all inputs" in report["C05"].why
    assert report["C10"].status == "skipped"


def test_an_exception_is_raised_on_request_with_the_first_failure():
    report_of(BAD)
    with pytest.raises(CheckFailed, match=r"wrong.op fails C10, values equal the reference's: tl.ops.wrong.op\("):
        tl.check("wrong.op", only=["C10"], raise_exception=True)
    assert tl.check("wrong.op", only=["C10"]).ok is False
    with pytest.raises(NameRefused, match=r"no operator 'wrong\.opp' is live"):
        tl.check("wrong.opp")


def test_the_helper_for_tests_tells_all_failures():
    report_of(BAD)
    with pytest.raises(AssertionError, match=r"(?s)wrong.op: 1 ok, 1 failed: C10\nC10 values.*mend: .*> import numpy"):
        assert_op_ok("wrong.op", only=["C05", "C10"])
    report_of(gallery.text("swish"), name="right.swish")
    assert assert_op_ok("right.swish", quick=True).quick


def test_progress_is_told_before_each_check():
    op = ops.define("wrong.op", ops.read_cell(DOUBLE))
    told = []
    checks.check_op(op, only=["C02", "C05"], progress=lambda *each: told.append(each))
    assert told == [
        (0, 2, "C02 takes as many tensors as its compute"),
        (1, 2, "C05 the type rule promises what compute makes"),
    ]


def test_the_same_seed_gives_the_same_report():
    op = ops.define("right.swish", ops.read_cell(gallery.text("swish")))
    assert checks.check_op(op, quick=True, seed=3) == checks.check_op(op, quick=True, seed=3)


def test_nothing_is_printed(capfd):
    report_of(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: te.exp(x(*i)), name='k')\n", only=["C12", "C18"]
    )
    report_of(WRONG["gradient of another shape"][1], only=["C16"])
    assert capfd.readouterr() == ("", "")


FILES = {
    "module.py": "import tvmlab as tl\nfrom tvmlab.prelude import *\n\n@tl.op('files.double')\nclass Double:\n"
    '    """Twice."""\n' + "".join(f"    {line}\n" if line else "\n" for line in DOUBLE.splitlines()),
    "double.py": DOUBLE,
    "notebook.py": "# %% [markdown]\n# Twice\n\n# %%\n# %%tvm_op files.double\n"
    + "".join(f"# {line}\n" if line else "#\n" for line in DOUBLE.splitlines()),
    "notebook.ipynb": json.dumps(
        {"cells": [{"cell_type": "code", "source": ["%%tvm_op files.double\n", DOUBLE]}, {"cell_type": "markdown"}]}
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_an_operator_is_found_in_a_file(name, tmp_path):
    file = tmp_path / name
    file.write_text(FILES[name], encoding="utf-8")
    report = tl.check(f"{file}::double" if name == "double.py" else f"{file}::files.double", only=["C10"])
    assert report.op == ("lab.double" if name == "double.py" else "files.double")
    assert report["C10"].status == "ok"


def test_an_operator_of_a_file_that_cannot_be_defined_has_failed_a_check(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text(DOUBLE.replace("x(*i)", "x(*i[:-1], i[-1] + 1)"), encoding="utf-8")
    report = tl.check(f"{file}::wrong.cell")
    assert [r.code for r in report.failed] == ["C09"]
    assert report["C09"].where.startswith("cell.py, line 2")
    assert {r.why for r in report.of_status("skipped")} == {"the operator could not be defined"}


def test_a_file_that_is_none_is_told(tmp_path):
    with pytest.raises(LoadError, match="cannot be read"):
        tl.check(f"{tmp_path}/none.py::lab.x")
    file = tmp_path / "fails.py"
    file.write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(LoadError, match="ZeroDivisionError: division by zero"):
        tl.check(f"{file}::lab.x")
    file.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(LoadError, match="defines no operator"):
        tl.check(f"{file}::lab.x")


def test_a_counterexample_names_the_call():
    found = report_of(WRONG["axes swapped"][1], only=["C10"])["C10"]
    assert "at [1, 0] gives" in found.why


def test_a_read_outside_is_drawn():
    body = (
        "class Attrs:\n    shift: int = 0\n\ndef compute(x, shift):\n"
        "    return te.compute(x.shape, lambda *i: x(*i[:-1], i[-1] + shift), name='k')\n"
    )
    drawn = report_of(body, name="wrong.past", only=["C09"])["C09"].reads
    assert not drawn.ok
    assert drawn.tensors[0].outside
    assert drawn.tensors[-1].inside == {drawn.at: 1}
