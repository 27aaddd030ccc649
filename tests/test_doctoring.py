"""The doctor finds what is wrong, gives a mend for it, and survives whatever it meets."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tvmlab import doctoring
from tvmlab.doctoring import examine
from tvmlab.errors import BackendError
from tvmlab.records import DoctorReport

ROOT = Path(__file__).resolve().parent.parent


def finding(report: DoctorReport, name: str):
    """The one finding of that name."""
    found = [f for f in report.findings if f.name == name]
    assert len(found) == 1, (name, report.findings)
    return found[0]


def with_versions(monkeypatch, **versions):
    """Change what the metadata says; None: not installed.  Underscores stand for dashes."""
    changed = {name.replace("_", "-"): version for name, version in versions.items()}
    real = importlib.metadata.version

    def version(name):
        if name not in changed:
            return real(name)
        if changed[name] is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return changed[name]

    monkeypatch.setattr(importlib.metadata, "version", version)


def with_child(monkeypatch, script):
    """Let the child process run another script."""
    real = subprocess.run

    def run(command, **options):
        return real([*command[:-1], script], **options)

    monkeypatch.setattr(doctoring.subprocess, "run", run)


@pytest.fixture(scope="module")
def report():
    return examine()


def test_all_is_well_here(report):
    assert report.ok, report.findings
    assert finding(report, "apache-tvm").detail == importlib.metadata.version("apache-tvm")
    for name in ("Python", "TVM", "targets", "host", "kernel", "JSON", "home folder", "temporary folder", "networks"):
        assert finding(report, name).status == "ok"


def test_targets_and_host_are_named(report):
    assert "llvm" in finding(report, "targets").detail
    assert "mcpu" in finding(report, "host").detail
    assert "processors" in finding(report, "threads").detail


def test_a_report_is_plain_data(report):
    assert json.loads(json.dumps(report.to_dict()))["ok"] is True


def test_the_doctor_imports_no_tvm():
    code = (
        "import sys; from tvmlab.doctoring import examine; examine(); "
        "print([m for m in sys.modules if m.split('.')[0] in ('tvm', 'tvm_ffi')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


@pytest.mark.parametrize("version", ["0.1.15.post1", "0.1.15.post2"])
def test_the_deadly_pair_is_found_in_the_metadata(monkeypatch, version):
    with_versions(monkeypatch, apache_tvm_ffi=version)
    tvm, bad = doctoring.pair()
    assert (tvm.status, bad.status) == ("ok", "problem")
    assert version in bad.detail
    assert "kills Python" in bad.detail
    assert bad.mend.endswith('-m pip install "apache-tvm-ffi>=0.1.14.post0,<0.1.15"')


@pytest.mark.parametrize("version", ["0.26.0", "0.28.0", "0.28.0rc1"])
def test_another_tvm_is_a_problem(monkeypatch, version):
    with_versions(monkeypatch, apache_tvm=version)
    bad, ffi = doctoring.pair()
    assert (bad.status, ffi.status) == ("problem", "ok")


@pytest.mark.parametrize("version", ["0.1.14.post0", "0.1.14.post1"])
def test_the_good_pair_is_well(monkeypatch, version):
    with_versions(monkeypatch, apache_tvm_ffi=version)
    assert [f.status for f in doctoring.pair()] == ["ok", "ok"]


def test_a_bad_pair_is_refused_before_tvm_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "tvm", raising=False)
    doctoring.require_tvm()
    with_versions(monkeypatch, apache_tvm_ffi="0.1.15.post2")
    with pytest.raises(BackendError, match="kills Python") as refused:
        doctoring.require_tvm()
    assert "pip install" in refused.value.mend


def test_without_tvm_there_is_a_mend_and_no_probe(monkeypatch):
    with_versions(monkeypatch, apache_tvm=None)
    report = examine()
    assert not report.ok
    assert "pip install" in finding(report, "apache-tvm").mend
    assert "TVM" not in [f.name for f in report.findings]


def test_a_missing_package_is_a_problem_with_its_mend(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ["ipywidgets>=8.1", "numpy>=2", "x; extra == 'lab'"])
    with_versions(monkeypatch, ipywidgets=None, numpy="1.26.4")
    missing, old, rest = doctoring._packages()
    assert missing.status == old.status == "problem"
    assert missing.mend.endswith('pip install "ipywidgets>=8.1"')
    assert "1.26.4" in old.detail
    assert rest.status == "note"


def test_without_onnxruntime_the_loss_is_told(monkeypatch):
    real = doctoring.importlib.util.find_spec
    monkeypatch.setattr(
        doctoring.importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else real(name)
    )
    (lost,) = doctoring._onnxruntime()
    assert lost.status == "note"
    assert "reference evaluator" in lost.detail
    assert lost.mend.endswith("pip install onnxruntime")


def test_missing_jupyter_pieces_are_named(monkeypatch):
    with_versions(monkeypatch, jupytext=None, nbclient=None)
    (lost,) = doctoring._jupyter()
    assert lost.status == "note"
    assert lost.mend.endswith("pip install nbclient jupytext")


STAGES = [stage.name for stage in doctoring.STAGES]


@pytest.mark.parametrize("at", range(len(STAGES)), ids=STAGES)
def test_a_death_in_tvm_is_a_finding(monkeypatch, at):
    """The stages before it are reported, it is named, nothing is said of those after it."""
    script = (
        "import dataclasses, os, signal\n"
        "from tvmlab import doctoring\n"
        "die = lambda: os.kill(os.getpid(), signal.SIGSEGV)\n"
        f"stages = list(doctoring.STAGES); stages[{at}] = dataclasses.replace(stages[{at}], ask=die)\n"
        "doctoring.STAGES = tuple(stages)\n"
        "doctoring.answer_probe()\n"
    )
    with_child(monkeypatch, script)
    found = list(doctoring._tvm())
    assert found[-1].name == STAGES[at]
    assert found[-1].status == "problem"
    assert "segmentation fault" in found[-1].detail
    assert "pip install --force-reinstall" in found[-1].mend
    assert all(f.status == "ok" for f in found[:-1])
    assert not {f.name for f in found} & set(STAGES[at + 1 :])


def test_an_error_in_a_stage_does_not_hide_the_next(monkeypatch):
    script = (
        "import dataclasses\n"
        "from tvmlab import doctoring\n"
        "def fail(): raise ImportError('libtvm.so: no such file')\n"
        "doctoring.STAGES = (dataclasses.replace(doctoring.STAGES[0], ask=fail), doctoring.STAGES[1])\n"
        "doctoring.answer_probe()\n"
    )
    with_child(monkeypatch, script)
    found = list(doctoring._tvm())
    assert "ImportError: libtvm.so: no such file" in found[0].detail
    assert found[1].name == "targets"
    assert found[1].status == "ok"


def test_a_child_that_never_answers_is_ended(monkeypatch):
    monkeypatch.setattr(doctoring, "PROBE_SECONDS", 0.2)
    with_child(monkeypatch, "import time; time.sleep(60)")
    (found,) = doctoring._tvm()
    assert found.status == "problem"
    assert "no answer in 0.2 seconds" in found.detail


def test_a_child_that_cannot_start_says_why(monkeypatch):
    with_child(monkeypatch, "raise SystemExit('no tvmlab here')")
    (found,) = doctoring._tvm()
    assert "no tvmlab here" in found.detail


def test_a_check_that_breaks_is_a_finding():
    def _broken():
        raise RuntimeError("boom")
        yield

    (found,) = doctoring._safely(_broken)
    assert (found.name, found.status) == ("broken", "problem")
    assert "boom" in found.detail


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4.0),
        ({}, None),
        ({"cpu.max": "nonsense"}, None),
    ],
)
def test_the_limit_of_a_container_is_read(tmp_path, files, quota):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert doctoring._quota(tmp_path) == quota


@pytest.mark.parametrize(
    ("threads", "processors", "quota", "status", "mend"),
    [
        (4, 4, None, "ok", ""),
        (4, 4, 4.0, "ok", ""),
        (1, 4, None, "ok", ""),
        (8, 8, 2.0, "note", "TVM_NUM_THREADS=2 "),
        (8, 8, 0.3, "note", "TVM_NUM_THREADS=1 "),
        (8, 2, None, "note", "TVM_NUM_THREADS=2 "),
    ],
)
def test_too_many_threads_are_noted(threads, processors, quota, status, mend):
    found = doctoring._judge_threads(threads, processors, quota)
    assert found.status == status
    assert mend in found.mend


def test_a_variable_that_sets_the_threads_is_named(monkeypatch):
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    assert "TVM_NUM_THREADS=1" in doctoring._judge_threads(1, 4, None).detail


def test_a_home_that_cannot_be_written_is_a_problem(monkeypatch, tmp_path):
    missing = str(tmp_path / "missing")
    monkeypatch.setenv("HOME", missing)
    monkeypatch.setenv("USERPROFILE", missing)
    home = next(iter(doctoring._folders()))
    assert home.status == "problem"
    assert "environment variable" in home.mend


def test_no_home_at_all_is_a_finding(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(doctoring.Path, "home", no_home)
    (found,) = doctoring._safely(doctoring._folders)
    assert "home" in found.detail


def test_an_onnx_without_its_networks_is_noted(monkeypatch):
    monkeypatch.setattr(doctoring, "LIGHT_NETWORK", "missing.onnx")
    (found,) = doctoring._networks()
    assert found.status == "note"
    assert found.mend


def test_every_problem_and_note_has_a_mend_or_is_harmless(monkeypatch):
    with_versions(monkeypatch, apache_tvm_ffi="0.1.15.post2", jupyterlab=None, ipython=None)
    report = examine()
    assert not report.ok
    for found in report.findings:
        assert found.mend or found.status == "ok" or found.name == "Python"


def test_the_doctor_asks_for_what_pyproject_asks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, wanted in doctoring.PAIR.items():
        assert f"{name}{wanted}" in project["dependencies"]
    lab = {need.split(">=")[0] for need in project["optional-dependencies"]["lab"]}
    assert set(doctoring.JUPYTER) <= lab


@pytest.mark.parametrize("name", ["TVM_NUM_THREADS", "OMP_NUM_THREADS"])
@pytest.mark.parametrize(
    ("value", "status"), [("abc", "problem"), ("0", "problem"), ("-1", "problem"), ("1.5", "problem"), ("2", "ok")]
)
def test_a_number_of_threads_that_is_none_is_a_problem(monkeypatch, name, value, status):
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv(name, value)
    found = doctoring._judge_threads(2, 4, None)
    assert found.status == status
    assert f"{name}={value}" in found.detail
    if status == "problem":
        assert found.mend.startswith(f"unset {name}")


def test_nested_levels_of_openmp_are_numbers_of_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    assert doctoring._judge_threads(4, 4, None).status == "ok"
