"""Three lines, also after an error went through C++."""

from __future__ import annotations

import pytest

from tvmlab import errors
from tvmlab.errors import ComputeError, Location, TvmlabError, nearest


def test_an_error_renders_as_three_lines():
    error = ComputeError("reads  x\nout of bounds", Location("Cell In[3]", 5, 8, "    y = x[i + 1]"), "guard it")
    assert error._render_traceback_() == [
        "ComputeError: reads x out of bounds",
        "  at Cell In[3], line 5: y = ▸x[i + 1]",
        "  mend: guard it",
    ]


def test_an_error_is_rebuilt_from_its_message():
    error = ComputeError("what", Location("Cell In[3]", 5, 0, "y = x"), "guard it")
    again = ComputeError(f"some text of TVM's\n{error}")
    assert (again.where, again.mend) == (error.where, "guard it")
    assert again.what.endswith("what")


@pytest.mark.parametrize("kind", [getattr(errors, n) for n in errors.__all__ if n not in ("Location", "nearest")])
def test_every_class_survives_tvms_frames(kind):
    import tvm_ffi

    import tvmlab.ops  # noqa: F401  registers the classes

    def fail():
        raise kind("what it is", "here", "do this")

    with pytest.raises(kind) as caught:
        tvm_ffi.convert(fail)()
    assert (caught.value.what, caught.value.where, caught.value.mend) == ("what it is", "here", "do this")


def test_what_is_not_there_is_left_out():
    assert str(TvmlabError("only this")) == "only this"


def test_a_location_without_its_text():
    assert str(Location("cell", 3)) == "cell, line 3"
    assert str(Location("cell", 3, 4, "    x = y")) == "cell, line 3: ▸x = y"
    assert str(Location("cell", 3, -1, "    x = y")) == "cell, line 3: x = y"


def test_the_nearest_word():
    assert nearest("rellu", ["gelu", "relu", "silu"]) == "relu"
    assert nearest("RELU", ["relu"]) == ""
    assert nearest("RELU", ["Relu"], any_case=True) == "Relu"
    assert nearest(7, ["8"]) == nearest("x", []) == ""
