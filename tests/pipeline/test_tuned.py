"""The database of tuned schedules, and what is taken from it."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.errors import PipelineError
from tvmlab.pipeline import stages, tuned
from tvmlab.pipeline.tuned import Database, TunedKernel, TunedSchedules, kernel_key

RECORD = TunedKernel("abc", "relu", "a machine", 1, 8, 2.0, 1.0, 1.5, [])


def block(x: "float32[16, 32]", w: "float32[32, 64]"):
    return relax.op.nn.relu(relax.op.matmul(x, w))


def kernel():
    trace = pipeline.trace(pipeline.graph(block))
    (function,) = (f for v, f in stages.laid_out(trace["inline"].module).functions.items() if v.name_hint != "main")
    return function


@pytest.fixture
def file(tmp_path):
    return tmp_path / "folder" / "tuned.jsonl"


def test_what_is_added_is_found_again(file):
    database = Database(file)
    assert len(database) == 0
    database.add(RECORD)
    database.add(dataclasses.replace(RECORD, threads=2, gain=0.9))
    again = Database(file)
    assert again.get("abc", "a machine", 1) == RECORD
    assert again.get("abc", "a machine", 2).taken is False
    assert again.get("abc", "another machine", 1) is None
    assert again.get("abd", "a machine", 1) is None


def test_a_later_record_takes_the_place_of_an_earlier_one(file):
    for seconds in (1.0, 0.5):
        Database(file).add(dataclasses.replace(RECORD, seconds=seconds))
    assert Database(file).get("abc", "a machine", 1).seconds == 0.5


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"format": 99}', "[1]", '{"format": 1, "key": 3}'])
def test_a_damaged_line_is_named_and_nothing_is_lost(file, line):
    Database(file).add(RECORD)
    good = file.read_bytes()
    file.write_bytes(good + line.encode() + b"\n" + good)
    with pytest.raises(
        PipelineError, match=r"damaged: line 2 is no record(.|\n)*tuned.jsonl, line 2(.|\n)*delete this line"
    ):
        Database(file)
    assert file.read_bytes().count(good) == 2


def test_half_a_line_at_the_end_is_written_over(file):
    Database(file).add(RECORD)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])
    database = Database(file)
    assert len(database) == 1
    database.add(dataclasses.replace(RECORD, key="second"))
    assert {json.loads(line)["key"] for line in file.read_text().splitlines()} == {"abc", "second"}


def test_two_that_write_lose_nothing(file):
    one, other = Database(file), Database(file)
    one.add(RECORD)
    other.add(dataclasses.replace(RECORD, key="second"))
    one.add(dataclasses.replace(RECORD, key="third"))
    assert len(Database(file)) == 3


def test_a_full_disk_is_told_and_leaves_whole_lines(file, monkeypatch):
    database = Database(file)
    database.add(RECORD)
    before = file.read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tvmlab.pipeline.tuned.os.fsync", full)
    with pytest.raises(PipelineError, match=r"cannot be kept: No space left on device(.|\n)*database="):
        database.add(dataclasses.replace(RECORD, key="second"))
    assert file.read_bytes() == before


def test_a_folder_is_no_database(tmp_path):
    with pytest.raises(PipelineError, match="cannot be read"):
        Database(tmp_path)


def test_the_default_is_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tuned.default_database() == tmp_path / "tvmlab" / "tuned.jsonl"


def test_a_key_is_the_same_in_every_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tests_tuned_source as t;"
        "from tvmlab.pipeline.tuned import kernel_key; print(kernel_key(t.kernel()))"
    )
    folder = str(__file__).rsplit("/", 1)[0]
    code = code.replace("tests_tuned_source", "test_tuned")
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == kernel_key(kernel()) == kernel_key(kernel().with_attr("global_symbol", "other"))


def doubled_trace(function):
    """A trace that no rule would make: the last loop in two."""
    import tvm

    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": tuned.searchable(function)}))
    block_of = schedule.get_child_blocks(schedule.get_sblock("root"))[-1]
    schedule.split(schedule.get_loops(block_of)[-1], [None, 2])
    return json.loads(json.dumps(tuned.plain_trace(schedule.trace)))


def known(file, **changes):
    database = Database(file)
    facts = {"key": kernel_key(kernel()), "machine": tuned.here(), "trace": doubled_trace(kernel()), **changes}
    database.add(dataclasses.replace(RECORD, **facts))
    return database


def said(trace):
    functions = trace["schedule"].module.functions.items()
    (text,) = (f.attrs["tvmlab.schedule"] for v, f in functions if v.name_hint != "main")
    return text


def test_a_schedule_that_was_faster_is_taken_and_computes_the_same(file):
    from tvmlab import runtime

    model = pipeline.graph(block)
    known(file)
    with runtime.threads(1):
        trace = pipeline.trace(model, tuned=file)
        assert said(trace) == "tuned: 2.00 times as fast as by the rules"
        assert pipeline.trace(model, tuned=file) is trace
        x, w = np.ones((16, 32), "f4"), np.arange(32 * 64, dtype="f4").reshape(32, 64)
        assert np.allclose(trace.executable.run(x, w), np.maximum(x @ w, 0))
    assert said(pipeline.trace(model)).startswith("matmul: tile")


@pytest.mark.parametrize("changes", [{"gain": 1.0}, {"machine": "another"}, {"threads": 3}, {"trace": None}])
def test_else_the_rule_decides(file, changes):
    trace = pipeline.trace(
        pipeline.graph(block), tuned=TunedSchedules(known(file, **changes), machine=tuned.here(), threads=1)
    )
    assert said(trace).startswith("matmul: tile")


def test_a_trace_that_does_not_fit_is_said_and_the_rule_decides(file):
    database = known(file, trace=[[["GetSBlock", [], ["nothing", "main"], ["b0"]]], []])
    trace = pipeline.trace(pipeline.graph(block), tuned=TunedSchedules(database, threads=1))
    assert said(trace).startswith("a tuned schedule does not fit its kernel")
    assert "matmul: tile" in said(trace)


def test_own_schedules_and_symbols_are_left():
    define(
        "tunedlab.own",
        "def compute(x): return te.compute(x.shape, lambda *i: x(*i), name='own')\ndef schedule(sch, block): pass\n",
    )

    def own(x: "float32[8]"):
        import tvmlab as tl

        return tl.ops.tunedlab.own(x)

    def rows(x: "float32[n, 8]"):
        return relax.op.exp(x)

    reasons = []
    for graph in (own, rows, block):
        module = stages.laid_out(pipeline.trace(pipeline.graph(graph))["inline"].module)
        reasons += [tuned.reason_to_leave(f) for v, f in module.functions.items() if v.name_hint != "main"]
    assert reasons == ["an operator in it brings its own schedule", "its sizes are symbols", ""]
