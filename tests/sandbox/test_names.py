"""What an answer takes from the other cells of its notebook."""

from __future__ import annotations

import pytest

from tvmlab.errors import CellError
from tvmlab.sandbox.names import names_for

CELLS = [
    "%load_ext tvmlab\nimport numpy as np\nfrom math import pi, tau",
    "def twice(x):\n    return scale * x\n\nscale = 2\n1 / 0",
    "%%tvm_exercise 01a\ndef swish(x):\n    return x",
    "%%time\nscale = 9",
    "class Box:\n    size = scale",
    "this is no Python",
    "broken = 1 / 0",
]


def test_only_what_is_mentioned_is_run_with_what_it_needs():
    names = names_for("def f(x):\n    return np.add(twice(x), pi)", CELLS)
    assert {"np", "twice", "scale", "pi"} <= set(names)
    assert names["twice"](3) == 6
    assert "Box" not in names
    assert "broken" not in names


def test_a_class_and_another_answer_are_there_and_cells_of_magics_are_not():
    names = names_for("Box.size, swish(1)", CELLS)
    assert names["Box"].size == 2
    assert names["swish"](1) == 1


def test_a_cell_that_fails_is_named():
    with pytest.raises(CellError, match="ZeroDivisionError") as caught:
        names_for("broken", CELLS)
    assert "code cell 7, which binds broken" in str(caught.value)


def test_a_text_that_is_no_python_needs_nothing():
    assert set(names_for("def f(:", CELLS)) <= {"__name__"}
