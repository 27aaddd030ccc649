"""Schedules that a search found, kept in a file, and taken in place of the rules' where they were measured faster.

The file has one line of JSON for each finished kernel.  It is only ever appended to, so that what is finished stays;
what was found on another processor, or with another TVM, is kept and ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tvmlab import runtime
from tvmlab.errors import PipelineError
from tvmlab.pipeline.kernel import blocks_of
from tvmlab.pipeline.own_schedules import MARK
from tvmlab.pipeline.schedule import ATTRIBUTE, schedule_kernel
from tvmlab.pipeline.schedule.vector_math import with_vector_math
from tvmlab.runtime.executable import first_line

__all__ = [
    "Database",
    "TunedKernel",
    "TunedSchedules",
    "apply_trace",
    "default_database",
    "here",
    "kernel_key",
    "machine_name",
    "plain_trace",
    "reason_to_leave",
    "searchable",
]

_FORMAT = 1


@dataclass(frozen=True)
class TunedKernel:
    """What is known of one kernel on one machine.

    Parameters
    ----------
    key : str
        `kernel_key` of the kernel before it was scheduled.
    kernel : str
        Its name in the model that was tuned.
    machine : str
        `here`, or what a remote device says it is.
    threads : int
        It was measured on.
    trials : int
        Candidates that were measured.
    rule_seconds, seconds : float
        Medians of the rule's schedule and of the best candidate, from one interleaved run.
    gain : float
        Lower quartile of their ratio, round by round; above 1 the candidate is taken.
    trace : list or None
        The steps of the candidate, as TVM writes them; None if no candidate worked.
    """

    key: str
    kernel: str
    machine: str
    threads: int
    trials: int
    rule_seconds: float
    seconds: float
    gain: float
    trace: Any

    @property
    def taken(self) -> bool:
        """Whether the candidate takes the place of the rule's schedule."""
        return self.trace is not None and self.gain > 1.0


def kernel_key(function: Any) -> str:
    """Name of a kernel's content: equal for equal PrimFuncs in every process."""
    with runtime.quiet():
        text = function.without_attr("global_symbol").script()
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def reason_to_leave(function: Any) -> str:
    """Why a kernel is left to the rules; empty if a schedule may be searched for it."""
    import tvm
    from tvm.tirx import IntImm

    shapes = [getattr(parameter, "shape", None) for parameter in function.params]
    if any(shape is None or not all(isinstance(d, IntImm) for d in shape) for shape in shapes):
        return "its sizes are symbols"
    blocks = blocks_of(schedule := tvm.s_tir.Schedule(tvm.IRModule({"main": function})))
    if any(MARK in schedule.get(block.rv).annotations for block in blocks):
        return "an operator in it brings its own schedule"
    return ""


def searchable(function: Any) -> Any:
    """What the search starts from, and a trace is applied to: the kernel with exp and its like in vectors."""
    return with_vector_math(function)[0]


class TunedSchedules:
    """The schedules that a database has for this machine and this number of threads."""

    def __init__(self, database: Database, machine: str | None = None, threads: int | None = None) -> None:
        self._database = database
        self._machine = here() if machine is None else machine
        self._threads = runtime.thread_count() if threads is None else threads

    @property
    def stamp(self) -> str:
        """Changes when the schedules may."""
        return f"{self._database.stamp}@{self._machine}@{self._threads}"

    def schedule_kernel(self, function: Any) -> Any:
        """The kernel by its tuned schedule if there is one that is faster than the rule's, else by the rule's."""
        record = self._database.get(kernel_key(function), self._machine, self._threads)
        if record is None or not record.taken:
            return schedule_kernel(function)
        try:
            made = apply_trace(searchable(function), record.trace)
        except PipelineError as error:
            by_rule = schedule_kernel(function)
            return by_rule.with_attr(ATTRIBUTE, f"{error.what}; {by_rule.attrs[ATTRIBUTE]}")
        said = f"tuned: {record.rule_seconds / record.seconds:.2f} times as fast as by the rules"
        return made.with_attrs({ATTRIBUTE: said, "tirx.is_scheduled": True})


def here() -> str:
    """What a schedule's speed depends on, here: processor, its target, TVM."""
    return machine_name(str(runtime.host_target().attrs["mcpu"]), _processor_model())


def machine_name(target: str, model: str = "") -> str:
    """One text for a processor and the installed TVM."""
    return "; ".join(filter(None, (model, target, f"TVM {version('apache-tvm')}")))


def _processor_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def default_database() -> Path:
    """Where schedules are kept unless another file is given: in the user's cache folder."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tvmlab" / "tuned.jsonl"


class Database:
    """The file of tuned kernels.

    Parameters
    ----------
    path : path, optional
        Default: `default_database`.

    Raises
    ------
    PipelineError
        The file cannot be read, or a line in it is no record.  A last line that was cut off in the middle, as by a
        full disk, is no error: it is not finished, and the next record takes its place.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_database() if path is None else Path(path)
        self._whole = 0  # bytes that are whole lines
        self._kernels: dict[tuple[str, str, int], TunedKernel] = {}
        for number, line in enumerate(self._lines(), 1):
            record = self._record(line, number)
            self._kernels[record.key, record.machine, record.threads] = record

    def __len__(self) -> int:
        return len(self._kernels)

    def get(self, key: str, machine: str, threads: int) -> TunedKernel | None:
        """What is known of a kernel on a machine with so many threads."""
        return self._kernels.get((key, machine, threads))

    def add(self, record: TunedKernel) -> None:
        """Append a finished kernel, and see to it that it is on the disk.

        Raises
        ------
        PipelineError
            It cannot be written; what was there is as it was.
        """
        line = (json.dumps({"format": _FORMAT, **asdict(record)}) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append(line)
        except OSError as error:
            raise PipelineError(
                f"the tuned schedule of {record.kernel} cannot be kept: {error.strerror or error}",
                where=str(self.path),
                mend="make room there, or give another file: database=…; what was finished before is kept",
            ) from error
        self._kernels[record.key, record.machine, record.threads] = record

    @property
    def stamp(self) -> str:
        """Changes when the content does."""
        return f"{self.path}@{len(self._kernels)}@{self._whole}"

    def _append(self, line: bytes) -> None:
        with self.path.open("ab") as file:
            end = file.seek(0, os.SEEK_END)
            if end > self._whole and not self._ends_a_line(end):
                end = file.truncate(self._whole)
            try:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.truncate(self.path, end)  # half a line would be in the way of the next
                raise
        self._whole = end + len(line)

    def _ends_a_line(self, end: int) -> bool:
        """Whether the file, which another process may have appended to, ends with a whole line."""
        with self.path.open("rb") as file:
            file.seek(end - 1)
            whole = file.read(1) == b"\n"
        if not whole:
            content = self.path.read_bytes()
            self._whole = content.rfind(b"\n") + 1
        return whole

    def _lines(self) -> list[bytes]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise PipelineError(
                f"the database of tuned kernels cannot be read: {error.strerror or error}",
                where=str(self.path),
                mend="give another file: database=…",
            ) from error
        self._whole = content.rfind(b"\n") + 1
        return content[: self._whole].splitlines()

    def _record(self, line: bytes, number: int) -> TunedKernel:
        try:
            return _read(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PipelineError(
                f"the database of tuned kernels is damaged: line {number} is no record",
                where=f"{self.path}, line {number}",
                mend="delete this line, which leaves the others as they are; or give another file: database=…",
            ) from error


def _read(facts: dict[str, Any]) -> TunedKernel:
    if facts.pop("format") != _FORMAT:
        raise ValueError("another format")
    record = TunedKernel(**facts)
    if type(record.key) is not str or type(record.gain) not in (int, float):
        raise TypeError("a field of another type")
    return record


def apply_trace(function: Any, trace: Any) -> Any:
    """A kernel with the steps of a trace.

    Raises
    ------
    PipelineError
        They do not fit it.
    """
    import tvm
    from tvm.s_tir.schedule import Trace

    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
    try:
        Trace.apply_json_to_schedule(trace, schedule)
    except Exception as error:
        raise PipelineError(f"a tuned schedule does not fit its kernel: {first_line(error)}") from error
    return schedule.mod["main"]


def plain_trace(trace: Any) -> Any:
    """TVM's trace as JSON data."""
    return _plain(trace.as_json())


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if hasattr(value, "value") and not hasattr(value, "__len__"):
        return value.value
    return [_plain(v) for v in value]
