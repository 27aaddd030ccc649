"""An exported operator is its own text, with all that it takes from around it, and passes the test beside it."""

from __future__ import annotations

import ast
import importlib.util
import math
import sys
import threading
from math import sqrt as square_root

import numpy as np
import pytest

import tvmlab as tl
from tvmlab.api import define
from tvmlab.errors import CallError
from tvmlab.ops import find, gallery
from tvmlab.ops.exporting import NotWritable, module_text
from tvmlab.prelude import const_like, te, tirx

SCALE = 1.5
TABLE = np.array([[0.5, 2.0]], "f4")
SETTINGS = {"add": (1, 2.0), "names": ["a", None, True], "far": float("inf")}


def scaled(value):
    return value * SCALE


@tl.op("exportlab.module")
class Module:
    """Everything that a class in a file may take from around it: "quotes" \\ too."""

    class Attrs:
        power: int = 2

    def compute(x, power):
        factor = const_like(float(scaled(TABLE[0, 1]) * square_root(4) + SETTINGS["add"][0] + math.floor(0.5)), x)
        return te.compute(x.shape, lambda *i: tirx.power(x(*i), const_like(power, x)) * factor, name="module")

    def reference(x, power):
        return x**power * x.dtype.type(7)


CELL = '''"""A cell's operator."""
from __future__ import annotations

OFFSET = 3

def shifted(value):
    return value + OFFSET * step

class Attrs:
    by: float = 1.0

def compute(x, by):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(by, x) + const_like(shifted(0.5), x), name="cell")

def reference(x, by):
    return (x * np.float32(by) + np.float32(shifted(0.5))).astype(x.dtype)
'''


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Export an operator and import what was written: the module, and its test."""
    monkeypatch.syspath_prepend(tmp_path)

    def run(op, name="my_op"):
        op.export(tmp_path / f"{name}.py")
        made = []
        for module in (name, f"test_{name}"):
            spec = importlib.util.spec_from_file_location(module, tmp_path / f"{module}.py")
            loaded = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, module, loaded)
            spec.loader.exec_module(loaded)
            made.append(loaded)
        return made

    return run


@pytest.mark.parametrize("name", gallery.names())
def test_the_gallery(name, imported):
    op = define(f"exportlab.{name}", gallery.text(name))
    text = module_text(op.spec)
    _, test = imported(op)
    test.test_it_gives_what_it_gave_when_it_was_exported()
    live = find(op.name)
    assert live is not op
    assert test.op is live
    assert (live.spec.doc, live.spec.signature, module_text(live.spec)) == (op.spec.doc, op.spec.signature, text)
    missing = [part for part in ("type_rule", "reference", "gradient") if getattr(op.spec, part) is None]
    assert [part for part in ("type_rule", "reference", "gradient") if getattr(live.spec, part) is None] == missing


def test_all_checks_of_an_exported_operator(imported):
    _, test = imported(define("exportlab.checked", gallery.text("swish")))
    test.test_it_passes_every_check()


def test_a_class_in_a_file_takes_what_it_uses_along(imported):
    module, test = imported(Module)
    assert {"SCALE", "TABLE", "SETTINGS", "scaled", "math", "square_root"} <= set(vars(module))
    assert not {"pytest", "CELL", "gallery", "threading"} & set(vars(module))
    assert module.Module.spec.doc == Module.spec.doc
    assert module.Module(np.full(2, 3, "f4"), power=3).tolist() == [189, 189]
    test.test_it_gives_what_it_gave_when_it_was_exported()


def test_a_cell_takes_the_notebooks_names_along(imported):
    namespace = {"step": np.float32(2), "unused": threading.Lock()}
    op = define("exportlab.cell", CELL, shell_namespace=namespace)
    module, test = imported(op)
    assert module.cell(np.zeros(1, "f4")).tolist() == [6.5]
    assert module.__doc__.startswith("exportlab.cell: A cell's operator.")
    test.test_it_gives_what_it_gave_when_it_was_exported()


def test_variables_of_a_function_around_it(imported):
    def make(number):
        @tl.op("exportlab.inside")
        class Inside:
            def compute(x):
                return te.compute(x.shape, lambda *i: x(*i) + const_like(number, x), name="inside")

        return Inside

    module, _ = imported(make(4))
    assert module.Inside(np.zeros(1, "f4")).tolist() == [4]


REFUSED = {
    "lock": (threading.Lock(), "is a lock, which cannot be written down as Python"),
    "big": (np.zeros(2000), "is a ndarray, which cannot be written down"),
    "partial": (np.vectorize(abs), "is a vectorize, which"),
    "builder": (eval("lambda v: v"), "is a function or class whose text is not known"),
    "other": (Module, "is a Op, which"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_down_is_named(name, tmp_path):
    value, why = REFUSED[name]
    body = f"def compute(x):\n    {name}\n    return te.compute(x.shape, lambda *i: x(*i), name='refused')\n"
    op = define("exportlab.refused", body, shell_namespace={name: value})
    with pytest.raises(NotWritable, match=f"exportlab.refused uses {name}, which {why}"):
        op.export(tmp_path / "refused.py")
    assert list(tmp_path.iterdir()) == []


def test_a_class_made_by_a_program_has_no_text(tmp_path):
    namespace = {"te": te}
    exec("def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i), name='made')", namespace)
    op = tl.op("exportlab.made")(type("Made", (), {"compute": namespace["compute"]}))
    with pytest.raises(NotWritable, match=r"the text of exportlab\.made is not known"):
        op.export(tmp_path / "made.py")


def test_nothing_is_overwritten_unless_that_is_asked_for(tmp_path):
    op = define("exportlab.swish", gallery.text("swish"))
    test = tmp_path / "test_own.py"
    test.write_text("mine")
    with pytest.raises(CallError, match=r"test_own\.py would be overwritten"):
        op.export(tmp_path / "own.py")
    assert (test.read_text(), (tmp_path / "own.py").exists()) == ("mine", False)
    record = op.export(tmp_path / "own.py", overwrite=True)
    assert list(record.files) == ["own.py", "test_own.py"]
    ast.parse(test.read_text())
    for name, what in (("my-op.py", "no name of a module"), ("op.txt", "no name of a module"), ("class.py", "no name")):
        with pytest.raises(CallError, match=what):
            op.export(tmp_path / name)
    for name in ("numpy.py", "math.py"):
        with pytest.raises(CallError, match="would hide the module"):
            op.export(tmp_path / name)
    with pytest.raises(CallError, match="is no path"):
        op.export(None)
    with pytest.raises(CallError, match="there is no folder"):
        op.export(tmp_path / "no" / "own.py")
