"""A bare shell, and an api that writes down how it was called."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


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
    yield InteractiveShell.instance(config=config)
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


class Shown:
    """A record that a front end can show."""

    def __init__(self, what: str, name: str = "") -> None:
        self.what, self.name = what, name

    def __repr__(self) -> str:
        return f"<Shown {self.what}>"


class Model(Shown):
    """Stands for tvmlab.pipeline.Model."""


@dataclass
class Api:
    """Stands for tvmlab.api: every function writes down its call and returns a record."""

    calls: list = field(default_factory=list)

    def __getattr__(self, function: str):
        if function.startswith("_"):
            raise AttributeError(function)

        def call(*args, **kwargs):
            self.calls.append((function, args, kwargs))
            if function == "load":
                return Model("model", kwargs.get("name") or getattr(args[0], "stem", "loaded"))
            return Model("model", args[0]) if function == "graph_from_source" else Shown(function)

        return call

    @property
    def last(self) -> SimpleNamespace:
        """The last call: function, args, kwargs."""
        function, args, kwargs = self.calls[-1]
        return SimpleNamespace(function=function, args=args, kwargs=kwargs)


@pytest.fixture
def api(monkeypatch):
    """The magics call this in place of tvmlab.api; TVM is not imported."""
    api = Api()
    pipeline = ModuleType("tvmlab.pipeline")
    pipeline.Model = Model
    monkeypatch.setitem(sys.modules, "tvm", ModuleType("tvm"))
    monkeypatch.setitem(sys.modules, "tvmlab.pipeline", pipeline)
    monkeypatch.setitem(sys.modules, "tvmlab.api", api)
    return api
