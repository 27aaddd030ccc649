"""An api that writes down how it was called."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest


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
    pipeline.CompiledModel = type("CompiledModel", (), {})
    pipeline.Model = Model
    monkeypatch.setitem(sys.modules, "tvm", ModuleType("tvm"))
    monkeypatch.setitem(sys.modules, "tvmlab.pipeline", pipeline)
    monkeypatch.delitem(sys.modules, "tvmlab.ops", raising=False)  # another test's, which knows the true TVM
    monkeypatch.setitem(sys.modules, "tvmlab.api", api)
    return api


@pytest.fixture(autouse=True)
def _operators_keep_their_names():
    """Unloading the extension takes the live operators' names away, also those of other tests."""
    yield
    if (ops := sys.modules.get("tvmlab.ops")) is not None:
        ops.republish()
