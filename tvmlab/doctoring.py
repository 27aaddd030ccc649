"""The doctor: what is installed, whether it works together, and what to type where it does not.

Versions are read from the packages' metadata, before TVM is imported: with a bad pair of versions TVM kills the
process.  What only TVM itself can tell is asked of it in a child process, stage by stage, so that even a death
is a finding.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tvmlab.errors import BackendError
from tvmlab.records import DoctorReport, Finding

__all__ = ["examine", "pair", "require_tvm"]

TESTED_PYTHONS = ((3, 11), (3, 13))
PAIR = {"apache-tvm": ">=0.27,<0.28", "apache-tvm-ffi": ">=0.1.14.post0,<0.1.15"}
DEADLY = "0.1.15"
DEADLY_WHY = ": it kills Python in tvm.ir.save_json, pickle and script(show_meta=True)"
JUPYTER = ("jupyterlab", "ipykernel", "nbclient", "nbconvert", "nbformat", "jupytext")
LIGHT_NETWORK = "backend/test/data/light/light_resnet50.onnx"
PROBE_SECONDS = 90
COUNTS = ("TVM_NUM_THREADS", "OMP_NUM_THREADS")


def examine() -> DoctorReport:
    """Look at the installation, from Python down to a kernel that TVM compiles and runs here.

    Returns
    -------
    DoctorReport
        One finding a subject; each problem with its mend, a command to type.

    Notes
    -----
    Never raises, and imports no TVM into this process.  Takes about three seconds, most of it for TVM's import
    in the child process.
    """
    checks = (_python, pair, _packages, _onnxruntime, _jupyter, _tvm, _folders, _networks)
    return DoctorReport(tuple(finding for check in checks for finding in _safely(check)))


def require_tvm() -> None:
    """Make sure that TVM can be used, before it is imported: with a bad pair of versions it kills the process.

    Raises
    ------
    BackendError
        TVM or its FFI is missing or of a wrong version; with the command that mends it.
    """
    if "tvm" in sys.modules:
        return
    for finding in pair():
        if finding.status == "problem":
            raise BackendError(f"{finding.name} {finding.detail}", where=sys.executable, mend=finding.mend)


def _safely(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """The findings of a check; one that fails is itself a finding."""
    try:
        return list(check())
    except Exception as error:
        name = check.__name__.strip("_")
        why = f"could not be examined: {type(error).__name__}: {error}"
        return [Finding(name, "problem", why, f"{_this_python()} -m pip check")]


def _python() -> Iterator[Finding]:
    here = sys.version_info[:2]
    text = f"{platform.python_version()}, {sys.executable}"
    first, last = (".".join(map(str, v)) for v in TESTED_PYTHONS)
    if here < TESTED_PYTHONS[0]:
        yield Finding("Python", "problem", f"{text}: too old", f"install Python {first} or newer")
    elif here > TESTED_PYTHONS[1]:
        yield Finding("Python", "note", f"{text}: tvmlab is tested on {first} and {last}")
    else:
        yield Finding("Python", "ok", text)
    yield Finding("system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")


def pair() -> Iterator[Finding]:
    """TVM and its FFI; 0.1.15.post1 and .post2 of the latter kill the process when IR is written as JSON."""
    for name, wanted in PAIR.items():
        version = _version(name)
        mend = _pip(f'"{name}{wanted}"')
        if version is None:
            yield Finding(name, "problem", "is not installed", mend)
        elif not _fits(version, wanted):
            why = DEADLY_WHY if (name, version.startswith(DEADLY)) == ("apache-tvm-ffi", True) else ""
            yield Finding(name, "problem", f"{version}, but tvmlab needs {wanted}{why}", mend)
        else:
            yield Finding(name, "ok", version)


def _packages() -> Iterator[Finding]:
    """The other packages that tvmlab cannot do without."""
    versions = {}
    for need in _requirements():
        version = _version(need.name)
        if version is None:
            yield Finding(need.name, "problem", "is not installed", _pip(f'"{need}"'))
        elif not _fits(version, str(need.specifier)):
            yield Finding(need.name, "problem", f"{version}, but tvmlab needs {need.specifier}", _pip(f'"{need}"'))
        else:
            versions[need.name] = version
    if versions:
        yield Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))
    else:
        found = "tvmlab is on the path but not installed, so the versions of its packages were not checked"
        yield Finding("packages", "note", found, _pip("--editable FOLDER_OF_TVMLAB"))


def _requirements() -> list[Requirement]:
    """What tvmlab's own metadata asks for, the pair left out; empty if it is on the path but not installed."""
    try:
        needs = [Requirement(line) for line in importlib.metadata.requires("tvmlab") or []]
    except importlib.metadata.PackageNotFoundError:
        return []
    return [
        need for need in needs if need.name not in PAIR and (need.marker is None or need.marker.evaluate({"extra": ""}))
    ]


def _onnxruntime() -> Iterator[Finding]:
    if importlib.util.find_spec("onnxruntime"):
        yield Finding("onnxruntime", "ok", _version("onnxruntime") or "installed under another name")
        return
    lost = "is not installed: values are compared with ONNX's slow reference evaluator, and times with TVM alone"
    yield Finding("onnxruntime", "note", lost, _pip("onnxruntime"))


def _jupyter() -> Iterator[Finding]:
    versions = {name: _version(name) for name in JUPYTER}
    missing = [name for name, version in versions.items() if version is None]
    there = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    if missing:
        lost = f"{', '.join(missing)} missing: `tvmlab lab` and `tvmlab demo` cannot run"
        yield Finding("Jupyter", "note", f"{there}; {lost}" if there else lost, _pip(" ".join(missing)))
    else:
        yield Finding("Jupyter", "ok", there)


def _tvm() -> Iterator[Finding]:
    """What the child process says, stage by stage."""
    if _version("apache-tvm") is None:
        return
    probe = _run_probe()
    for stage in STAGES:
        if stage.name in probe.answers:
            yield from stage.judge(probe.answers[stage.name])
        else:
            why = probe.errors.get(stage.name, probe.end)
            yield Finding(stage.name, "problem", f"{stage.purpose} failed: {why}", stage.mend())
            if stage.name not in probe.errors:
                return  # the process ended here: nothing is known of the stages after it


@dataclass(frozen=True)
class Probe:
    """What came back from the child: an answer or an error for each stage, and how the process ended."""

    answers: dict[str, Any]
    errors: dict[str, str]
    end: str


def _run_probe() -> Probe:
    """Run `answer_probe` in a child process, and read what it printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    command = [sys.executable, "-c", "from tvmlab.doctoring import answer_probe; answer_probe()"]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
        output, complaint, end = done.stdout, done.stderr, _end(done.returncode)
    except subprocess.TimeoutExpired as error:
        output, complaint, end = error.stdout or b"", b"", f"no answer in {PROBE_SECONDS} seconds"
    answers: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        if line.startswith('{"stage"'):
            said = json.loads(line)
            if "error" in said:
                errors[said["stage"]] = said["error"]
            else:
                answers[said["stage"]] = said["answer"]
    last_words = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
    return Probe(answers, errors, " ".join([end, *(last_words if not answers else [])]))


def _end(code: int) -> str:
    if code == 0:
        return "the process ended before it"
    signals = {
        -4: "illegal instruction",
        -6: "abort",
        -9: "killed, perhaps for want of memory",
        -11: "segmentation fault",
    }
    return f"the process died ({signals.get(code, f'exit code {code}')})"


def answer_probe() -> None:
    """Answer every stage, one JSON line each, on stdout.  Runs in the child process."""
    for stage in STAGES:
        try:
            said = {"stage": stage.name, "answer": stage.ask()}
        except Exception as error:
            said = {"stage": stage.name, "error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        print(json.dumps(said), flush=True)  # noqa: T201


@dataclass(frozen=True)
class Stage:
    """One question to TVM: `ask` runs in the child, `judge` turns its answer into findings here."""

    name: str
    purpose: str
    ask: Callable[[], Any]
    judge: Callable[[Any], Iterator[Finding]]
    mend: Callable[[], str]


def _ask_import() -> dict[str, Any]:
    start = time.perf_counter()
    import tvm

    return {"version": tvm.__version__, "seconds": time.perf_counter() - start}


def _judge_import(answer: dict[str, Any]) -> Iterator[Finding]:
    yield Finding("TVM", "ok", f"imported in {answer['seconds']:.1f} s")


def _ask_targets() -> dict[str, list[str]]:
    import tvm

    kinds = map(str, tvm.target.Target.list_kinds())
    built = [kind for kind in kinds if tvm.get_global_func(f"target.build.{kind}", allow_missing=True)]
    devices = [kind for kind in ("cuda", "rocm", "metal", "opencl", "vulkan") if _has_device(tvm, kind)]
    return {"built": sorted(built), "devices": devices}


def _has_device(tvm: Any, kind: str) -> bool:
    try:
        return bool(tvm.device(kind).exist)
    except Exception:
        return False  # no runtime for it in this build: no such device for us


def _judge_targets(answer: dict[str, list[str]]) -> Iterator[Finding]:
    if "llvm" not in answer["built"]:
        yield Finding(
            "targets", "problem", "this build of TVM has no LLVM, so it cannot compile for the CPU", _reinstall()
        )
        return
    devices = f"; devices here: CPU{''.join(f', {kind}' for kind in answer['devices'])}"
    yield Finding("targets", "ok", f"code generators for {', '.join(answer['built'])}{devices}")


def _ask_host() -> dict[str, Any]:
    from tvmlab import runtime

    return {"target": str(runtime.host_target()), "threads": runtime.thread_count()}


def _judge_host(answer: dict[str, Any]) -> Iterator[Finding]:
    yield Finding("host", "ok", answer["target"])
    yield _judge_threads(answer["threads"], _processors(), _quota(Path("/sys/fs/cgroup")))


def _judge_threads(threads: int, processors: int, quota: float | None) -> Finding:
    """Whether TVM's threads fit the processors that this process may use."""
    set_by = [f"{name}={os.environ[name]}" for name in COUNTS if os.environ.get(name)]
    text = f"{threads} of {processors} processors" + (f" ({', '.join(set_by)})" if set_by else "")
    mend = "set the environment variable TVM_NUM_THREADS={} and restart Python"
    broken = [f"{name}={os.environ[name]}" for name in COUNTS if not _is_count(os.environ.get(name, "1"))]
    if broken:
        others = f"unset {broken[0].split('=')[0]}, or " + mend.format(processors)
        return Finding(
            "threads", "problem", f"{', '.join(broken)} is no number of threads, so TVM takes {threads}", others
        )
    if quota is not None and quota + 0.5 < threads:
        fitting = max(1, round(quota))
        return Finding("threads", "note", f"{text}, but a limit grants this container {quota:g}", mend.format(fitting))
    if threads > processors:
        return Finding("threads", "note", f"{text}: more threads than processors are slower", mend.format(processors))
    return Finding("threads", "ok", text)


def _is_count(text: str) -> bool:
    """Whether it is empty, a positive number, or several, as OpenMP has them for nested levels."""
    parts = [part.strip() for part in text.split(",")] if text else []
    return all(part.isascii() and part.isdecimal() and int(part) > 0 for part in parts)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quota(root: Path) -> float | None:
    """Processors that a Linux control group grants, for both versions of its files; None without a limit."""
    try:
        quota, period = (root / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu/cpu.cfs_quota_us").read_text(encoding="ascii").strip()
            period = (root / "cpu/cpu.cfs_period_us").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return None
    return None if quota in ("max", "-1") else int(quota) / int(period)


def _ask_kernel() -> float:
    """Seconds to compile and run a kernel; its values are checked."""
    import numpy as np
    import tvm
    from tvm import te

    from tvmlab import runtime

    start = time.perf_counter()
    x = te.placeholder((64,), "float32", name="x")
    y = te.compute((64,), lambda i: x[i] * tvm.tirx.const(2, "float32"), name="y")
    kernel = tvm.compile(te.create_prim_func([x, y]), runtime.host_target())
    given = np.arange(64, dtype="float32")
    source, result = tvm.runtime.tensor(given), tvm.runtime.tensor(np.zeros_like(given))
    kernel(source, result)
    if not np.array_equal(result.numpy(), given * 2):
        raise ArithmeticError("2 * x came out wrong")
    return time.perf_counter() - start


def _judge_kernel(seconds: float) -> Iterator[Finding]:
    yield Finding("kernel", "ok", f"compiled and run in {seconds:.1f} s")


def _ask_json() -> int:
    import tvm

    return len(tvm.ir.save_json(tvm.tirx.const(1, "int32")))


def _judge_json(_: int) -> Iterator[Finding]:
    yield Finding("JSON", "ok", "IR can be written as JSON")


def _reinstall() -> str:
    return _pip("--force-reinstall " + " ".join(f'"{name}{wanted}"' for name, wanted in PAIR.items()))


def _mend_processor() -> str:
    return f"set OMP_NUM_THREADS=1 and try again; if it still fails, {_reinstall()}"


STAGES = (
    Stage("TVM", "importing TVM", _ask_import, _judge_import, _reinstall),
    Stage("targets", "listing TVM's targets", _ask_targets, _judge_targets, _reinstall),
    Stage("host", "asking LLVM for this processor", _ask_host, _judge_host, _reinstall),
    Stage("kernel", "compiling and running a kernel", _ask_kernel, _judge_kernel, _mend_processor),
    Stage("JSON", "writing IR as JSON", _ask_json, _judge_json, _reinstall),
)


def _folders() -> Iterator[Finding]:
    """Jupyter, IPython and matplotlib write below the home folder, compilers into the temporary one."""
    home = Path.home()
    places = {"home folder": home, "temporary folder": Path(tempfile.gettempdir())}
    for name, folder in places.items():
        if _writable(folder):
            yield Finding(name, "ok", f"{folder} can be written")
        else:
            variable = "TMPDIR" if folder != home else "USERPROFILE" if os.name == "nt" else "HOME"
            mend = f"set the environment variable {variable} to a folder that you may write, and restart Python"
            yield Finding(name, "problem", f"{folder} cannot be written: Jupyter keeps its files there", mend)


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _networks() -> Iterator[Finding]:
    """The networks that the tour uses come with the onnx package."""
    spec = importlib.util.find_spec("onnx")
    if spec is None or spec.origin is None:
        return  # reported with the packages
    if (Path(spec.origin).parent / LIGHT_NETWORK).is_file():
        yield Finding("networks", "ok", "ResNet-50 and eight others come with onnx")
    else:
        lost = "this onnx package lacks its example networks, which `tvmlab demo` needs"
        yield Finding("networks", "note", lost, _pip("--force-reinstall onnx"))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _fits(version: str, wanted: str) -> bool:
    return SpecifierSet(wanted).contains(version, prereleases=True)


def _pip(arguments: str) -> str:
    """The command that installs into this very Python."""
    return f"{_this_python()} -m pip install {arguments}"


def _this_python() -> str:
    return subprocess.list2cmdline([sys.executable]) if os.name == "nt" else shlex.quote(sys.executable)
