"""Run tutorials in a real kernel, and tell how long each took, what its exercises came to, and what went wrong.

`python tools/run_tutorials.py` runs all as they are shipped, `--solved` puts the solutions of `teacher/` in.
Names, such as `03` or `03_type_rules`, choose some; `--out DIR` keeps the executed notebooks.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from tvmlab.course.lessons import exercise_in, passed, solved
from tvmlab.workspace import to_notebook, tutorials_folder

TEACHER = Path(__file__).resolve().parent.parent / "teacher"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="Tutorials, by the start of their names.")
    parser.add_argument("--solved", action="store_true", help="Put the solutions into the exercises.")
    parser.add_argument("--out", type=Path, metavar="DIR", help="Keep the executed notebooks there.")
    options = parser.parse_args()
    chosen = [
        source
        for source in sorted(tutorials_folder().glob("*.py"))
        if not options.names or source.stem.startswith(tuple(options.names))
    ]
    if not chosen:
        parser.error(f"no tutorial is called {' or '.join(options.names)}")
    went_well = [_report(source, solve=options.solved, out=options.out) for source in chosen]
    return 0 if all(went_well) else 1


def _report(source: Path, *, solve: bool, out: Path | None) -> bool:
    """Run one, print what happened, and say whether it went well."""
    notebook = to_notebook(source)
    asked = [found for cell in notebook.cells if cell.cell_type == "code" and (found := exercise_in(cell.source))]
    if solve:
        notebook = solved(notebook, {i: runpy.run_path(str(TEACHER / f"ex{i}.py"))["SOLUTION"] for i in asked})
    start = time.perf_counter()
    troubles = _run(notebook)
    seconds = time.perf_counter() - start
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, out / f"{source.stem}.ipynb")
    right = passed(notebook)
    troubles += [f"exercise {i} {'fails' if solve else 'passes'}" for i in asked if (i in right) != solve]
    print(f"{source.stem:32} {seconds:5.1f} s  {len(right)} of {len(asked)} exercises pass", flush=True)
    for trouble in troubles:
        print(f"    {trouble}", flush=True)
    return not troubles


def _run(notebook: Any) -> list[str]:
    """Execute a notebook in place; what it wrote to stderr, and the error that it must not have."""
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=300, extra_arguments=["--log-level=40"], resources={"metadata": {"path": folder}}
        )
        try:
            client.execute()
        except nbclient.exceptions.CellExecutionError as error:
            return [f"it stops with {error.ename}: {error.evalue}"]
    return [
        f"cell {at} says on stderr: {output.text.strip()[:200]}"
        for at, cell in enumerate(notebook.cells, 1)
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]


if __name__ == "__main__":
    sys.exit(main())
