"""Every tutorial runs from top to bottom in a real kernel and writes nothing on stderr; the tour leaves its figures.

Only a cell with the tag ``raises-exception`` may fail.  As they are shipped, no exercise is solved.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from tvmlab import api
from tvmlab.course.lessons import passed
from tvmlab.workspace import to_notebook

TUTORIALS = Path(__file__).resolve().parent.parent / "tutorials"

pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def said():
    """Lines of progress of the demo."""
    return []


@pytest.fixture(scope="module")
def demo(tmp_path_factory, said):
    """The demo, run once for all tests of it."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "figures").mkdir()
    return api.demo(folder / "out", json_file=folder / "figures" / "demo.json", progress=said.append)


def executed(source, folder):
    """The notebook of a tutorial, run as it is shipped."""
    notebook = to_notebook(source)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.mark.parametrize("source", sorted(TUTORIALS.glob("*.py")), ids=lambda source: source.stem)
def test_a_tutorial_runs_and_says_nothing_on_stderr(source, tmp_path, request):
    if source.stem == "00_tour":
        notebook = nbformat.read(request.getfixturevalue("demo").notebook, as_version=4)
    else:
        notebook = executed(source, tmp_path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    streams = [output for cell in code for output in cell.outputs if output.output_type == "stream"]
    assert [output.text for output in streams if output.name == "stderr"] == []
    failed = [cell for cell in code if any(output.output_type == "error" for output in cell.outputs)]
    assert failed == [cell for cell in code if "raises-exception" in cell.metadata.get("tags", ())]
    assert passed(notebook) == set()


def test_the_tour_finds_that_its_network_is_right_and_smaller(demo):
    assert demo.ok
    assert demo.op == "lab.leaky_clamp"
    assert 0 < demo.kernels_after < demo.kernels_before
    assert 0 < demo.max_rel_error <= 1e-4
    assert demo.ratio_vs_unfused > 0
    assert demo.ratio_vs_onnxruntime > 0


def test_the_figures_are_written_as_json(demo):
    figures = json.loads((demo.report.parent.parent / "figures" / "demo.json").read_text(encoding="utf-8"))
    names = {"op", "kernels_before", "kernels_after", "max_rel_error", "ratio_vs_unfused", "ratio_vs_onnxruntime"}
    assert names | {"seconds"} <= set(figures)
    steps = figures["seconds"]
    assert steps["total"] >= sum(seconds for name, seconds in steps.items() if name != "total")


def test_the_report_fetches_nothing(demo):
    page = demo.report.read_text(encoding="utf-8")
    assert "<html" in page
    assert "leaky_clamp" in page
    sources = re.findall(r"""(?:src|href|url\()\s*=?\s*["']?([^"'\s)>]+)""", page)
    assert [source for source in sources if not source.startswith(("data:", "#"))] == []


def test_the_slip_of_the_tour_is_three_lines(demo):
    notebook = nbformat.read(demo.notebook, as_version=4)
    errors = [output for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    assert len(errors) == 1
    assert len(errors[0].traceback) == 3


def test_every_step_is_told_and_the_end_sums_up(demo, said):
    assert len(said) > 8
    assert all(len(line.splitlines()) == 1 for line in said)
    for figure in (str(demo.kernels_before), str(demo.kernels_after), "right", "onnxruntime", str(demo.report)):
        assert figure in demo.headline
