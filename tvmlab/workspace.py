"""The tutorials as notebooks: where they are, a copy that is the user's own, and JupyterLab on it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvmlab.errors import BackendError, LoadError
from tvmlab.records import Record

__all__ = ["Workspace", "fill", "lab", "to_notebook", "tutorials_folder"]


@dataclass(frozen=True, repr=False)
class Workspace(Record):
    """A folder of notebooks that are the user's to change.

    Parameters
    ----------
    folder : pathlib.Path
    written : tuple of str
        Notebooks that were put there now.
    kept : tuple of str
        Notebooks that were there, with the cells that tvmlab ships.
    differing : tuple of str
        Notebooks that were there with other cells: changed by the user, or by a newer tvmlab.
    """

    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]
    differing: tuple[str, ...]

    @property
    def headline(self) -> str:
        parts = [f"{len(self.written)} new"] if self.written else []
        if self.kept:
            parts.append(f"{len(self.kept)} as they were")
        if self.differing:
            parts.append(f"yours kept: {', '.join(self.differing)} (move one away to get tvmlab's)")
        return f"notebooks in {self.folder}: {', '.join(parts) or 'none'}"


def tutorials_folder() -> Path:
    """The folder of the tutorials' sources: inside the installed package, else beside it in a checkout.

    Raises
    ------
    BackendError
        The installation has none.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "tutorials", package.parent / "tutorials"):
        if any(folder.glob("*.py")):
            return folder
    raise BackendError(
        "the tutorials are missing", where=str(package), mend="install tvmlab again, from its wheel or a whole checkout"
    )


def to_notebook(source: Path) -> Any:
    """Read a tutorial in the ``py:percent`` form as a notebook.

    Returns
    -------
    nbformat.NotebookNode
        With Python's kernel; without outputs.
    """
    _need("jupytext", "nbformat")
    import jupytext

    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def fill(folder: Path) -> Workspace:
    """Put the tutorials into a folder as notebooks.  A file that is there is never written over.

    Raises
    ------
    LoadError
        The folder cannot be made or written.
    """
    _need("jupytext", "nbformat")
    import nbformat

    written: list[str] = []
    kept: list[str] = []
    differing: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(tutorials_folder().glob("*.py")):
            notebook, target = to_notebook(source), folder / f"{source.stem}.ipynb"
            if not target.exists():
                nbformat.write(notebook, target)
                written.append(target.name)
            else:
                (kept if _cells_of(target) == _cells(notebook) else differing).append(target.name)
    except OSError as error:
        raise LoadError(
            f"the folder for the notebooks cannot be used: {error.strerror}",
            where=str(folder),
            mend="name another folder",
        ) from error
    return Workspace(folder.resolve(), tuple(written), tuple(kept), tuple(differing))


def _cells(notebook: Any) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source.strip()) for cell in notebook.cells]


def _cells_of(file: Path) -> list[tuple[str, str]] | None:
    """The cells of a notebook file; None if it is no notebook."""
    import nbformat

    try:
        return _cells(nbformat.read(file, as_version=4))
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError):
        return None


def lab(folder: Path, *, browser: bool = True, port: int | None = None, progress: Callable[[str], None] = print) -> int:
    """Put the tutorials into a folder and run JupyterLab on it until the user ends it; returns its exit code.

    Parameters
    ----------
    folder : pathlib.Path
        What is in it is kept.
    browser : bool
        Open a browser; else only print the address.
    port : int, optional
        Default: Jupyter's, 8888 or the next one that is free.
    progress : callable
        Takes lines for the user.

    Raises
    ------
    BackendError
        JupyterLab is not installed.
    LoadError
        The folder cannot be used.
    """
    _need("jupyterlab")
    progress(fill(folder).headline)
    progress("JupyterLab starts; Ctrl-C ends it")
    process = subprocess.Popen(_lab_command(folder, browser=browser, port=port))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # JupyterLab got it too, and asks whether to stop


def _lab_command(folder: Path, *, browser: bool, port: int | None) -> list[str]:
    command = [sys.executable, "-m", "jupyterlab", "--log-level=WARN", f"--ServerApp.root_dir={folder.resolve()}"]
    first = next(iter(sorted(folder.glob("*.ipynb"))), None)
    if first is not None:
        command.append(f"--LabApp.default_url=/lab/tree/{first.name}")
    if not browser:
        command.append("--no-browser")
    if port is not None:
        command.append(f"--port={port}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container everybody is root
    return command


def _need(*modules: str) -> None:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise BackendError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            where=sys.executable,
            mend=f"python -m pip install {' '.join(missing)}; tvmlab doctor lists all that is missing",
        )
