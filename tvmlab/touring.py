"""The demo: run the tour in a real kernel, and keep the notebook, a report and the figures."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvmlab.errors import BackendError, CallError, PipelineError
from tvmlab.records import Record
from tvmlab.show.pages import notebook_page
from tvmlab.workspace import to_notebook, tutorials_folder

__all__ = ["Demo", "run_tour"]

NEEDED = ("nbclient", "nbformat", "ipykernel")

# Run in the tour's own kernel after its last cell: what the figures are read from are the tour's own variables.
FIGURES = """
import json as _json
_quartiles = lambda slow: timing.ratio(slow, "scheduled")
_rival = next(s.name for s in timing.sides if s.name.startswith("onnx"))
print(_json.dumps({
    "op": tl.ops.lab.leaky_clamp.name,
    "kernels_before": partition.kernels_before,
    "kernels_after": partition.kernels_after,
    "max_rel_error": max(o.relative for o in verification.outputs),
    "verified": verification.ok,
    "oracle": verification.oracle,
    "ratio_vs_unfused": _quartiles("unfused")[1],
    "quartiles_vs_unfused": _quartiles("unfused")[::2],
    "ratio_vs_onnxruntime": _quartiles(_rival)[1],
    "quartiles_vs_onnxruntime": _quartiles(_rival)[::2],
    "rounds": len(timing.sides[0].seconds),
    "rival": _rival,
    "threads": timing.threads,
}))
"""


@dataclass(frozen=True, repr=False)
class Demo(Record):
    """What the tour found.

    Parameters
    ----------
    max_rel_error : float
        Largest absolute error of an output over its largest value.
    ratio_vs_unfused, ratio_vs_onnxruntime : float
        Their median time over ours, paired round by round; above 1 ours is faster.
    quartiles_vs_unfused, quartiles_vs_onnxruntime : pair of float
        Lower and upper quartile of the same ratios.
    rounds : int
        How many ratios there are; a few say little.
    seconds : dict of str to float
        Wall time of each step, and of all (``total``).
    """

    op: str
    kernels_before: int
    kernels_after: int
    max_rel_error: float
    verified: bool
    oracle: str
    ratio_vs_unfused: float
    quartiles_vs_unfused: Sequence[float]
    ratio_vs_onnxruntime: float
    quartiles_vs_onnxruntime: Sequence[float]
    rounds: int
    rival: str
    threads: int
    seconds: dict[str, float]
    notebook: Path
    report: Path

    @property
    def ok(self) -> bool:
        """Whether the result was right."""
        return self.verified

    @property
    def headline(self) -> str:
        low, high = self.quartiles_vs_onnxruntime
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        versus = f"{self.ratio_vs_onnxruntime:.2f}x as fast as {self.rival} ({low:.2f} … {high:.2f} over {rounds})"
        error = f"largest error {self.max_rel_error:.1e} of the largest value"
        return "\n".join(
            (
                f"{self.op} inside ResNet-50, {self.threads} threads:",
                f"  fused      {self.kernels_before} kernels before, {self.kernels_after} after",
                f"  verified   {'right' if self.verified else 'WRONG'}: {error}, against {self.oracle}",
                f"  timed      {self.ratio_vs_unfused:.1f}x as fast as unfused; {versus}",
                f"  took       {self.seconds['total']:.0f} s",
                f"  notebook   {self.notebook}",
                f"  report     {self.report} (open it in a browser)",
            )
        )


def run_tour(
    directory: Path | str = "demo", *, json_file: Path | None = None, progress: Callable[[str], None] | None = None
) -> Demo:
    """Execute the tour in a Jupyter kernel.

    Parameters
    ----------
    directory : path
        Where ``00_tour.ipynb`` and ``report.html`` go; earlier ones there are replaced.
    json_file : path, optional
        Where the figures are written, as JSON.
    progress : callable, optional
        Told in a line what is being done.

    Returns
    -------
    Demo

    Raises
    ------
    BackendError
        If a package that runs notebooks is missing.
    CallError
        If one of the folders cannot be written to; then nothing was run.
    PipelineError
        If a cell of the tour fails.
    """
    say = progress or _say_nothing
    start = time.perf_counter()
    folder = Path(directory)
    _refuse_unwritable(folder, json_file)
    notebook = to_notebook(tutorials_folder() / "00_tour.py")
    seconds: dict[str, float] = {}
    try:
        figures = _execute(notebook, folder, seconds, say)
    finally:
        written = _write(notebook, folder)
    seconds["total"] = time.perf_counter() - start
    demo = Demo(**figures, seconds=seconds, notebook=written[0], report=written[1])
    if json_file is not None:
        json_file.write_text(json.dumps(demo.to_dict(), indent=1) + "\n", encoding="utf-8")
    return demo


def _refuse_unwritable(folder: Path, json_file: Path | None) -> None:
    """Make the folder, and find out before a run of minutes whether its end can be written."""
    if json_file is not None and not json_file.parent.is_dir():
        raise CallError(
            f"there is no folder {json_file.parent} to write the figures to",
            where=str(json_file),
            mend=f"mkdir -p {json_file.parent}, or name a file in a folder that is there",
        )
    if json_file is not None and json_file.is_dir():
        raise CallError("this is a folder, not a file for the figures", where=str(json_file), mend="name a file in it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place in {folder, *([json_file.parent] if json_file is not None else [])}:
            with tempfile.TemporaryFile(dir=place):
                pass
    except OSError as error:
        raise CallError(
            f"the demo cannot write there: {error.strerror or error}",
            where=str(error.filename or folder),
            mend="name another folder: --dir FOLDER",
        ) from error


def _execute(notebook: Any, folder: Path, seconds: dict[str, float], say: Callable[[str], None]) -> dict[str, Any]:
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        raise BackendError(
            f"the demo runs a notebook, and {error.name} is missing", mend="pip install 'tvmlab[lab]'"
        ) from error
    client = NotebookClient(
        notebook,
        timeout=600,
        extra_arguments=["--log-level=40"],  # a warning of the kernel about its transport is not for the terminal
        resources={"metadata": {"path": str(folder)}},
    )
    title = ""
    say("starting a Jupyter kernel")
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == "markdown":
                title = _heading(cell.source) or title
                continue
            before = time.perf_counter()
            say(f"{title}: {_first_code_line(cell.source)}" if title else _first_code_line(cell.source))
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                raise PipelineError(
                    f"a cell of the tour failed: {error.ename}: {error.evalue}",
                    where=f"cell {index + 1} of {folder / '00_tour.ipynb'}: {_first_code_line(cell.source)}",
                    mend="open the notebook to see it whole; tvmlab doctor looks over the installation",
                ) from error
            step = title or "load the extension"
            seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - before
        last = nbformat.v4.new_code_cell(FIGURES)
        notebook.cells.append(last)
        try:
            client.execute_cell(last, len(notebook.cells) - 1)
        finally:
            notebook.cells.pop()
    figures: dict[str, Any] = json.loads("".join(o.text for o in last.outputs if o.output_type == "stream"))
    return figures


def _write(notebook: Any, folder: Path) -> tuple[Path, Path]:
    import nbformat

    executed, report = folder / "00_tour.ipynb", folder / "report.html"
    nbformat.write(notebook, executed)
    report.write_text(notebook_page(notebook), encoding="utf-8")
    return executed, report


def _heading(markdown: str) -> str:
    headings = [line.lstrip("# ").strip() for line in markdown.splitlines() if line.startswith("## ")]
    return headings[-1] if headings else ""


def _first_code_line(source: str) -> str:
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    return lines[-1] if lines and lines[0].startswith(("import", "from")) else lines[0] if lines else ""


def _say_nothing(_line: str) -> None:
    """The progress of somebody who asked for none."""
