"""Plain values there and back, and what is none."""

from __future__ import annotations

import json
import socket
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tvmlab.fusion import Graph, Kind
from tvmlab.records import Mismatch
from tvmlab.sandbox import plain

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v) | st.tuples(v, v) | st.dictionaries(st.text() | st.integers(), v), max_leaves=20
)


def there_and_back(value):
    tree, blob = plain.encode(value)
    return plain.decode(json.loads(json.dumps(tree)), blob)


@given(VALUES)
def test_plain_values_come_back_as_they_were(value):
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


@given(
    hnp.arrays(
        hnp.scalar_dtypes().filter(lambda d: d.kind in "biufc" and d.itemsize <= 16), hnp.array_shapes(min_dims=0)
    )
)
def test_arrays_come_back_bit_by_bit(array):
    array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name in ("longdouble", "float128", "clongdouble", "complex256"):
        assert isinstance(there_and_back(array), plain.Odd)
        return
    back = there_and_back(array)
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_graphs_kinds_numbers_of_numpy_and_findings_come_back():
    graph = Graph.from_kinds([0, 1, 4], [[-1], [0, 0], [1]], [0, 2], labels="abc")
    back = there_and_back(graph)
    assert back.to_dict() == graph.to_dict()
    assert there_and_back(Kind.OEF) == 4
    assert there_and_back(np.float32(0.1)).dtype == np.float32
    assert there_and_back(Mismatch("a", "b", "c")) == Mismatch("a", "b", "c")
    assert there_and_back(n for n in range(3)) == [0, 1, 2]


def test_what_is_not_plain_arrives_as_its_name_and_text():
    class Thing:
        def __repr__(self):
            return "a thing"

    back = there_and_back([Thing(), lambda: 1, np.array([object()])])
    assert [type(each).__name__ for each in back] == ["Thing", "function", "ndarray"]
    assert repr(back[0]) == "a thing"


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {},
        {"list": 1},
        {"pickle": "x"},
        {"array": ["object", [1], 0]},
        {"array": ["float32", [1 << 40], 0]},
        {"array": ["float32", [-1], 0]},
        {"array": ["float32", [1], -8]},
        {"array": [7, [1], 0]},
        {"dict": [[{"list": []}, 1]]},
        {"dict": [[1, 2, 3]]},
        {"mismatch": ["a"]},
        {"graph": {"list": [1, 2]}},
        {"list": [{"list": [[]]}]},
    ],
)
def test_what_is_no_message_is_refused(tree):
    with pytest.raises(plain.Garbled):
        plain.decode(tree, b"\0" * 16)


def test_deep_data_is_refused_and_no_overflow():
    deep = []
    for _ in range(500):
        deep = [deep]
    tree, blob = plain.encode(deep)
    assert plain.decode(tree, blob) is not None
    tree = 1
    for _ in range(500):
        tree = {"list": [tree]}
    with pytest.raises(plain.Garbled):
        plain.decode(tree, b"")


def test_messages_that_are_late_broken_or_too_large_are_told_apart():
    here, there = socket.socketpair()
    plain.send(there, {"x": np.arange(4)})
    assert plain.receive(here)["x"].tolist() == [0, 1, 2, 3]
    with pytest.raises(TimeoutError):
        plain.receive(here, time.monotonic() + 0.05)
    there.sendall(plain._HEAD.pack(plain.LARGEST, 1))
    with pytest.raises(plain.TooLarge):
        plain.receive(here)
    there.sendall(plain._HEAD.pack(3, 0) + b"{{{")
    with pytest.raises(plain.Garbled):
        plain.receive(here)
    there.sendall(b"\0\0")
    there.close()
    with pytest.raises(EOFError):
        plain.receive(here)
    here.close()
