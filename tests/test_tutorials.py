"""Every tutorial runs from top to bottom in a real kernel, and writes nothing on stderr."""

from __future__ import annotations

from pathlib import Path

import nbclient
import pytest

from tvmlab.workspace import to_notebook

TUTORIALS = Path(__file__).resolve().parent.parent / "tutorials"


@pytest.mark.notebook
@pytest.mark.parametrize("source", sorted(TUTORIALS.glob("*.py")), ids=lambda source: source.stem)
def test_a_tutorial_runs(source, tmp_path):
    notebook = to_notebook(source)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    complaints = [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert complaints == []
