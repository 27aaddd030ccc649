"""The magics in a real kernel: outputs, errors and nothing on stderr; and what notebook runners make of a failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import tvmlab

pytestmark = pytest.mark.notebook

OP = '''%%tvm_op lab.kernel_leaky
"""Leaky."""

class Attrs:
    slope: float = 0.5

def compute(x, slope):
    s = const_like(slope, x)
    return te.compute(x.shape, lambda *i: tirx.max(x(*i), x(*i) * s), name="leaky")
'''
CELLS = {
    "load": "%load_ext tvmlab",
    "op": OP,
    "quiet op": OP.replace("leaky\n", "leaky -q -v op\n", 1),
    "imports": "import numpy as np\nimport tvmlab as tl",
    "use": "tl.ops.lab.kernel_leaky(np.array([-1.0, 2.0], 'float32')).tolist()",
    "use var": "op.name",
    "silent use": "tl.ops.lab.kernel_leaky(np.ones(3, 'float64'));",
    "graph": """%%tvm_graph block
def block(x: "float32[2, 64]", w: "float32[64, 8]"):
    return tl.ops.lab.kernel_leaky(relax.op.matmul(x, w), slope=0.25)
""",
    "network": "%tvm_load light_squeezenet.onnx --weights random --name net",
    "fuse": "%tvm_fuse block",
    "diff": "%tvm_diff block",
    "verify": "%tvm_verify block",
    "time": "%tvm_time block --repeats 3",
    "fuse network": "%tvm_fuse net -v partition",
    "wrong magic": "%%tvm_opp lab.x\npass",
    "empty": "%%tvm_op lab.x",
    "wrong option": "%tvm_fuse net --engin tvm",
    "no model": "\n\n%tvm_fuse nat",
    "failing op": "\n" + OP.replace("x(*i) * s", "x(*i) * t"),
    "syntax": "%%tvm_op lab.x\n\ndef compute(x:\n    return x",
    "whole": "%tb",
    "still there": "tl.ops.lab.kernel_leaky(np.array([-1.0], 'float32')).tolist()",
    "reload": "%reload_ext tvmlab",
    "after reload": OP,
    "unload": "%unload_ext tvmlab",
}
RECORDS = ("op", "after reload", "graph", "network", "fuse", "diff", "verify", "time", "fuse network")
GOOD = (
    *RECORDS,
    "load",
    "op",
    "quiet op",
    "imports",
    "use",
    "use var",
    "silent use",
    "still there",
    "reload",
    "unload",
)


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )


@pytest.fixture(scope="module")
def path():
    """Kernels and runners find this tvmlab, installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        here = str(Path(tvmlab.__file__).parents[1])
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])))
        yield


@pytest.fixture(scope="module")
def outputs(path, tmp_path_factory):
    """Outputs of every cell, all run in one kernel."""
    notebook = notebook_of(*CELLS.values())
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=folder).execute()
    # What takes long on a busy machine shows how far it is, and leaves an empty output.
    shown = ([o for o in cell.outputs if o.get("data", {}).get("text/plain") != ""] for cell in notebook.cells)
    return dict(zip(CELLS, shown, strict=True))


def error_of(outputs) -> list[str]:
    """The lines of the only output, an error."""
    (output,) = outputs
    assert output.output_type == "error"
    return [re.sub(r"\x1b\[[\d;]*m", "", line).strip() for line in output.traceback]


def text_of(outputs) -> str:
    (output,) = outputs
    assert output.output_type == "execute_result"
    return output.data["text/plain"]


def test_no_cell_writes_to_stderr(outputs):
    streams = {name: o.text for name, shown in outputs.items() for o in shown if o.get("name") == "stderr"}
    assert streams == {}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_cell_has_no_error(outputs, name):
    assert [o.output_type for o in outputs[name] if o.output_type == "error"] == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_shown_once_in_text_and_html(outputs, name):
    assert text_of(outputs[name])
    assert "<" in outputs[name][0].data["text/html"]


def test_an_operator_shows_its_card(outputs):
    assert text_of(outputs["op"]).startswith("lab.kernel_leaky(x, *, slope: float = 0.5)")


def test_it_computes(outputs):
    assert text_of(outputs["use"]) == "[-0.5, 2.0]"
    assert text_of(outputs["use var"]) == "'lab.kernel_leaky'"
    assert text_of(outputs["still there"]) == "[-0.5]"


@pytest.mark.parametrize("name", ["load", "quiet op", "silent use", "reload", "unload"])
def test_it_shows_nothing(outputs, name):
    assert outputs[name] == []


def number(name: str) -> int:
    """The execution count of a cell."""
    return list(CELLS).index(name) + 1


def test_usage_errors_are_error_outputs(outputs):
    assert error_of(outputs["wrong magic"]) == [
        "TvmlabUsageError: there is no magic %%tvm_opp",
        f"at Cell In[{number('wrong magic')}], line 1: ▸%%tvm_opp lab.x",
        "mend: did you mean %%tvm_op?",
    ]
    assert error_of(outputs["empty"])[0] == "TvmlabUsageError: the cell under %%tvm_op is empty"
    assert error_of(outputs["wrong option"])[:2] == [
        "TvmlabUsageError: %tvm_fuse has no option --engin",
        f"at Cell In[{number('wrong option')}], line 1: %tvm_fuse net ▸--engin tvm",
    ]
    assert error_of(outputs["no model"])[1] == f"at Cell In[{number('no model')}], line 3: %tvm_fuse ▸nat"


def test_errors_of_the_cell_are_at_its_own_lines(outputs):
    what, where, mend = error_of(outputs["failing op"])
    assert what.startswith("ComputeError: ")
    assert where.startswith(f"at Cell In[{number('failing op')}], line 10: ")
    assert "▸t)" in where
    assert mend.startswith("mend: ")
    assert error_of(outputs["syntax"])[1].startswith(f"at Cell In[{number('syntax')}], line 3: def compute▸(x:")


def test_tb_shows_the_whole(outputs):
    whole = "\n".join(error_of(outputs["whole"]))
    assert "SyntaxError" in whole
    assert "CellError" in whole
    assert "run_cell_magic" in whole


RED = {
    "wrong_magic": ["%load_ext tvmlab", CELLS["wrong magic"]],
    "wrong_option": ["%load_ext tvmlab", CELLS["wrong option"]],
    "failing_cell": ["%load_ext tvmlab", CELLS["failing op"]],
}
GREEN = {"good": ["%load_ext tvmlab", "%tvm_fuse?", "1 + 1"]}
RUNNERS = ("--nbmake", "--nbval-lax")


@pytest.mark.parametrize("name", RED)
def test_nbclient_goes_red(path, tmp_path, name):
    client = NotebookClient(
        notebook_of(*RED[name]), timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    with pytest.raises(CellExecutionError):
        client.execute()


@pytest.fixture(scope="module")
def reports(path, tmp_path_factory):
    """The runners' reports on all notebooks; they run side by side."""
    started = {}
    for runner in RUNNERS:
        folder = tmp_path_factory.mktemp(runner.strip("-"))
        for name, cells in {**RED, **GREEN}.items():
            nbformat.write(notebook_of(*cells), folder / f"{name}.ipynb")
        (folder / "pytest.ini").write_text("[pytest]\n")
        command = [sys.executable, "-m", "pytest", runner, "-q", "-p", "no:cacheprovider", "--junitxml=ran.xml", "."]
        started[runner] = folder, subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    for _, process in started.values():
        process.wait(timeout=300)
    return {runner: ET.parse(folder / "ran.xml") for runner, (folder, _) in started.items()}


@pytest.mark.parametrize("runner", RUNNERS)
def test_pytest_runners_go_red(reports, runner):
    verdicts = {name: set() for name in (*RED, *GREEN)}
    for case in reports[runner].iter("testcase"):
        place = " ".join(case.get(key, "") for key in ("classname", "file", "name"))
        (name,) = (name for name in verdicts if name in place)
        verdicts[name].add("red" if case.find("failure") is not None or case.find("error") is not None else "green")
    assert {name for name, seen in verdicts.items() if "red" in seen} == set(RED)
    assert verdicts["good"] == {"green"}
