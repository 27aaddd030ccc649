"""The tutorials become notebooks in a folder that is the user's own; nothing there is ever written over."""

from __future__ import annotations

import signal
import subprocess
import sys

import nbformat
import pytest

from tvmlab import workspace
from tvmlab.errors import BackendError, LoadError
from tvmlab.workspace import fill, lab, to_notebook, tutorials_folder

SOURCE = """\
# %% [markdown]
# # A title

# %%
# %load_ext tvmlab

# %%
# %%tvm_op lab.twice
def compute(x):
    return x
"""


@pytest.fixture
def tutorials(tmp_path, monkeypatch):
    folder = tmp_path / "tutorials"
    folder.mkdir()
    (folder / "00_first.py").write_text(SOURCE, encoding="utf-8")
    (folder / "01_second.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(workspace, "tutorials_folder", lambda: folder)
    return folder


def test_the_tutorials_of_the_checkout_are_found(tmp_path, monkeypatch):
    package = tmp_path / "tvmlab"
    package.mkdir()
    monkeypatch.setattr(workspace, "__file__", str(package / "workspace.py"))
    with pytest.raises(BackendError, match="tutorials are missing"):
        tutorials_folder()
    for folder in (tmp_path / "tutorials", package / "tutorials"):  # the packaged ones go first
        folder.mkdir()
        (folder / "00_first.py").write_text(SOURCE, encoding="utf-8")
        assert tutorials_folder() == folder


def test_a_source_becomes_a_notebook_with_magics_and_a_kernel(tutorials):
    notebook = to_notebook(tutorials / "00_first.py")
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "code"]
    assert notebook.cells[1].source == "%load_ext tvmlab"
    assert notebook.cells[2].source.startswith("%%tvm_op lab.twice\ndef compute")
    assert notebook.metadata.kernelspec.name == "python3"
    nbformat.validate(notebook)


def test_an_empty_folder_is_filled(tutorials, tmp_path):
    filled = fill(tmp_path / "deep" / "mine")
    assert filled.written == ("00_first.ipynb", "01_second.ipynb")
    assert sorted(file.name for file in filled.folder.iterdir()) == ["00_first.ipynb", "01_second.ipynb"]
    assert "2 new" in filled.headline


def test_work_in_the_folder_is_never_written_over(tutorials, tmp_path):
    mine = tmp_path / "mine"
    fill(mine)
    changed = nbformat.read(mine / "00_first.ipynb", as_version=4)
    changed.cells[1].source = "my_work = 1"
    nbformat.write(changed, mine / "00_first.ipynb")
    (mine / "01_second.ipynb").write_text("no notebook at all", encoding="utf-8")
    before = {file.name: file.read_bytes() for file in mine.iterdir()}
    again = fill(mine)
    assert {file.name: file.read_bytes() for file in mine.iterdir()} == before
    assert again.written == again.kept == ()
    assert again.differing == ("00_first.ipynb", "01_second.ipynb")
    assert "yours kept: 00_first.ipynb" in again.headline


def test_a_notebook_that_was_only_run_counts_as_the_same(tutorials, tmp_path):
    mine = tmp_path / "mine"
    fill(mine)
    run = nbformat.read(mine / "00_first.ipynb", as_version=4)
    run.cells[1].outputs = [nbformat.v4.new_output("stream", text="ran")]
    nbformat.write(run, mine / "00_first.ipynb")
    assert fill(mine).kept == ("00_first.ipynb", "01_second.ipynb")


def test_a_file_where_the_folder_should_be_is_told(tutorials, tmp_path):
    (tmp_path / "mine").write_text("a file")
    with pytest.raises(LoadError, match="cannot be used"):
        fill(tmp_path / "mine")


def test_without_jupytext_the_mend_is_named(tutorials, tmp_path, monkeypatch):
    real = workspace.importlib.util.find_spec
    monkeypatch.setattr(workspace.importlib.util, "find_spec", lambda name: None if name == "jupytext" else real(name))
    with pytest.raises(BackendError, match="pip install jupytext"):
        fill(tmp_path / "mine")


def with_lab(monkeypatch, script):
    """Start another program in JupyterLab's place; returns the list that its command is put into."""
    commands = []
    real = subprocess.Popen

    def start(command):
        commands.append(command)
        return real([sys.executable, "-c", script])

    monkeypatch.setattr(workspace.subprocess, "Popen", start)
    return commands


def test_lab_opens_the_first_notebook_of_the_folder(tutorials, tmp_path, monkeypatch):
    commands, said = with_lab(monkeypatch, "raise SystemExit(3)"), []
    assert lab(tmp_path / "mine", browser=False, port=9999, progress=said.append) == 3
    (command,) = commands
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in command
    assert "--LabApp.default_url=/lab/tree/00_first.ipynb" in command
    assert {"--no-browser", "--port=9999"} <= set(command)
    assert "2 new" in said[0]


@pytest.mark.parametrize("user", [0, 1000])
def test_root_is_allowed_only_for_root(tutorials, tmp_path, monkeypatch, user):
    monkeypatch.setattr(workspace.os, "geteuid", lambda: user, raising=False)
    assert ("--allow-root" in workspace._lab_command(tmp_path, browser=True, port=None)) == (user == 0)


def test_ctrl_c_is_left_to_jupyterlab(tutorials, tmp_path, monkeypatch):
    """It asks whether to stop, so we go on waiting for its answer."""
    ask = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(0.5)"
    with_lab(monkeypatch, ask)
    interrupted = []
    handler = signal.signal(signal.SIGINT, lambda *_: interrupted.append(1) or signal.default_int_handler(*_))
    try:
        assert lab(tmp_path / "mine", progress=lambda _: None) == 0
    finally:
        signal.signal(signal.SIGINT, handler)
    assert interrupted
