"""A report on one model: every stage, decision, comparison and time, in one HTML file."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tvmlab
from tvmlab import measure, ongoing, ops, pipeline
from tvmlab.errors import CallError, TvmlabError
from tvmlab.measure.machine import machine
from tvmlab.records import Record, Report, Timing, Verification
from tvmlab.show.reports import Part, report_page
from tvmlab.show.text import duration, size
from tvmlab.show.timings import summary

if TYPE_CHECKING:
    from tvmlab.pipeline import Model, Trace

__all__ = ["report"]

SIDES = ("unfused", "scheduled", "onnxruntime")
_EXPLANATIONS = {
    "Model": "What goes in and comes out, and which operators it calls.",
    "Operators": "The operators in it that were defined here.",
    "Stages": "The program after each stage on its way to machine code, and what changed.",
    "Fusion": "Which nodes share a kernel, before and after; why the others do not; and every decision of the fuser.",
    "Levels": "What became of each node of the ONNX model on its way to TVM's kernels.",
    "Verification": "Its outputs against an oracle that does not share its code, on random inputs.",
    "Times": "Every repeat of every build and of onnxruntime, from one interleaved run; then kernel by kernel.",
}


def report(
    model: Model,
    file: str | os.PathLike[str] | None = None,
    *,
    timing: bool = True,
    sides: Sequence[str] = SIDES,
    budget: float = 10.0,
    threads: int | None = None,
    seed: int = 0,
) -> Report:
    """Write one HTML file with all records of a model; it needs no network, and no script for its pictures.

    Parameters
    ----------
    model : Model
    file : path, optional
        Default: the model's name with ``.html``.  A file that is there is replaced.
    timing : bool
        Whether it is timed too, which takes longest.
    sides : sequence of str
        What is timed: see `tvmlab.measure.bench`.
    budget : float
        Seconds that the rounds of the timing may take.
    threads : int, optional
        Of the timing.  Default: all that TVM uses.
    seed : int
        Of the random inputs.

    Returns
    -------
    Report

    Raises
    ------
    CallError
        The file cannot be written; then nothing was run.
    PipelineError
        The model cannot be compiled.

    Notes
    -----
    What else cannot be had, such as an oracle or a time, is told in its section, and the others are made.
    """
    path = _file_of(model) if file is None else Path(file)
    with _replacing(path) as temporary:
        maker = _Maker(model, timing, {"sides": sides, "budget": budget, "threads": threads, "seed": seed})
        text = maker.page()
        temporary.write_text(text, encoding="utf-8")
    return Report(model.name, str(path), len(text.encode()), maker.facts, maker.seconds, maker.ok)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file beside another one, which takes its place in the end; made first, to know that it can be written."""
    partial = path.with_name(f".{path.name[:80]}.{os.getpid()}.part")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder", str(path))
        partial.touch()
    except OSError as error:
        raise CallError(
            f"the report cannot be written there: {error.strerror or error}",
            where=str(path),
            mend='name a file in a folder that is there: tl.report(model, "out.html")',
        ) from error
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _file_of(model: Model) -> Path:
    return Path(f"{re.sub(r'[^a-zA-Z0-9._-]+', '_', model.name)[:80].strip('.') or 'report'}.html")


class _Maker:
    """Makes the records, one part after the other."""

    def __init__(self, model: Model, timing: bool, options: dict[str, Any]) -> None:
        self.model, self.timing, self.options = model, timing, options
        self.facts: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.parts: list[Part] = []
        self.ok = True

    def page(self) -> str:
        """The whole file."""
        self._part("Model", lambda: [self.model])
        if self.model.ops:
            self._part("Operators", lambda: [op.card() for op in self._operators()])
        self._part("Stages", lambda: [self._trace()], needed=True)
        self._part("Fusion", lambda: [pipeline.trace(self.model).partition])
        if self.model.onnx is not None:
            self._part("Levels", lambda: [pipeline.compare_levels(self.model)])
        self._part("Verification", lambda: [self._verification()])
        if self.timing:
            self._part("Times", lambda: [self._timing()])
        facts = machine()
        versions = (
            f"Python {facts.pop('Python')}, TVM {facts.pop('apache-tvm')}, onnxruntime {facts.pop('onnxruntime')}"
        )
        made = f"Made on {time.strftime('%Y-%m-%d %H:%M')} by tvmlab {tvmlab.__version__}; {versions}; "
        on = f"{facts['processor']}, {facts['cores']} cores, {facts['system']}."
        ongoing.say("writing the file")
        return report_page(self.model.name, self.facts, self.parts, made + on)

    def _part(self, title: str, records: Callable[[], list[Any]], *, needed: bool = False) -> None:
        started = time.perf_counter()
        ongoing.say(title.lower())
        made: tuple[Record, ...] = ()
        refused: TvmlabError | None = None
        try:
            made = tuple(records())
        except TvmlabError as error:
            if needed:
                raise
            refused, self.ok = error, False
            self.facts[title] = f"not made: {error.what}"
        self.parts.append(Part(title, _EXPLANATIONS[title], made, refused))
        self.seconds[title] = time.perf_counter() - started

    def _operators(self) -> list[Any]:
        """The live operators of the model, in the versions that it was built with."""
        built_with = {call.op.name: call.op for call in self.model.live.values()}
        return [built_with.get(name) or ops.find(name) for name in self.model.ops]

    def _trace(self) -> Trace:
        trace = pipeline.trace(self.model)
        built = trace["build"]
        partition = trace.partition
        self.facts["Kernels"] = f"{partition.kernels_before:,} before fusion, {partition.kernels_after:,} after"
        if partition.bytes_saved:
            self.facts["Memory"] = f"{size(partition.bytes_saved)} of values in between are no longer written"
        stages = sum(stage.seconds for stage in trace.stages)
        self.facts["Compiling"] = f"{duration(stages)} for the stages, {duration(built.seconds)} for machine code"
        return trace

    def _verification(self) -> Verification:
        found = measure.verify(self.model, seed=self.options["seed"])
        assert isinstance(found, Verification)
        self.facts["Values"] = found.headline.partition(": ")[2]
        self.ok = self.ok and found.ok
        return found

    def _timing(self) -> Timing:
        found = measure.bench(self.model, kernels=True, **self.options)
        self.facts["Speed"] = f"{summary(found)}, on {found.threads} threads"
        worst = found.kernels.worst if found.kernels is not None else None
        if worst is not None and worst.roof and worst.median:
            self.facts["Furthest below its roof"] = f"{worst.name}, at {worst.roof / worst.median:.0%} of it"
        return found
