"""A bare shell, in which cells run as a front end runs them."""

from __future__ import annotations

import atexit
import sys
from dataclasses import dataclass

import pytest
from hypothesis import settings
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

settings.register_profile("shared machine", deadline=None)  # which may stand still for longer than a test takes
settings.load_profile("shared machine")


@dataclass
class Ran:
    """What running one cell did."""

    value: object
    error: BaseException | None
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the error as it was shown."""
        return [line.strip() for line in self.out.splitlines()]


class Notebook:
    """Runs cells in a bare shell, as a front end does."""

    def __init__(self, shell, capsys) -> None:
        self.shell = shell
        self._capsys = capsys

    def __call__(self, cell: str) -> Ran:
        self._capsys.readouterr()
        result = self.shell.run_cell(cell, store_history=True)
        out, err = self._capsys.readouterr()
        return Ran(result.result, result.error_before_exec or result.error_in_exec, out, err)

    def __getitem__(self, name: str) -> object:
        return self.shell.user_ns[name]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """An InteractiveShell without the extension, in an empty folder."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell puts its own module there
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    yield shell
    atexit.unregister(shell.atexit_operations)  # it would collect garbage once for every shell that ever was
    InteractiveShell.clear_instance()


@pytest.fixture
def bare(shell, capsys):
    """A notebook that has not loaded tvmlab."""
    return Notebook(shell, capsys)


@pytest.fixture
def notebook(bare):
    """A notebook that has loaded tvmlab."""
    assert bare("%load_ext tvmlab").error is None
    return bare
