"""TVM's passes are recorded as they ran: nested, timed, with the module before and after."""

from __future__ import annotations

import itertools

import pytest
import tvm
from tvm import relax
from tvm.relax import transform

from tvmlab import pipeline
from tvmlab.pipeline import passes
from tvmlab.pipeline.passes import record_passes


@pytest.fixture(scope="module")
def model():
    def block(x: "float32[4, 4]", w: "float32[4, 4]"):  # noqa: F821, UP037  types of a graph are written as texts
        return relax.op.nn.relu(relax.op.matmul(x, w))

    return pipeline.graph(block)


def walk(runs):
    for run in runs:
        yield run
        yield from walk(run.passes)


def test_runs_are_nested_and_each_takes_at_least_what_is_inside(model):
    module = transform.LegalizeOps()(model.module.clone())
    with record_passes() as runs:
        tvm.transform.Sequential([transform.AnnotateTIROpPattern(), transform.FuseOps(), transform.FuseTIR()])(module)
    assert [run.name for run in runs] == ["sequential"]
    assert [run.name for run in runs[0].passes] == ["AnnotateTIROpPattern", "FuseOps", "FuseTIR"]
    assert "FuseTIRInner" in [run.name for run in runs[0].passes[2].passes]
    for run in walk(runs):
        assert run.seconds >= sum(inner.seconds for inner in run.passes)


def test_what_one_pass_leaves_the_next_one_finds(model):
    with record_passes() as runs:
        tvm.transform.Sequential([transform.LegalizeOps(), transform.AnnotateTIROpPattern()])(model.module.clone())
    first, second = runs[0].passes
    tvm.ir.assert_structural_equal(first.after, second.before)
    assert first.changed == ("main", "matmul", "relu")
    assert second.changed == ("matmul", "relu")


def test_a_pass_that_changes_its_module_in_place_is_seen_to_change_it(model):
    @tvm.transform.module_pass(opt_level=0)
    def spoil(module, _context):
        module["extra"] = module["main"].with_attr("global_symbol", "extra")
        return module

    with record_passes() as runs:
        spoil(model.module.clone())
    assert runs[0].changed == ("extra",)


def test_options_and_instruments_of_the_context_stay_in_force(model):
    timing = tvm.ir.instrument.PassTimingInstrument()
    with (
        tvm.transform.PassContext(opt_level=1, config={"relax.FuseOps.max_depth": 1}, instruments=[timing]),
        record_passes() as runs,
    ):
        context = tvm.transform.PassContext.current()
        assert (context.opt_level, int(context.config["relax.FuseOps.max_depth"])) == (1, 1)
        transform.LegalizeOps()(model.module.clone())
        assert "LegalizeOps" in timing.render()
    assert [run.name for run in runs] == ["LegalizeOps"]


def test_thousands_of_inner_passes_are_counted_and_not_kept(model, monkeypatch):
    monkeypatch.setattr(passes, "_MOST_INNER", 3)
    module = transform.LegalizeOps()(model.module.clone())
    with record_passes() as whole, record_passes() as runs:
        tvm.transform.Sequential([transform.AnnotateTIROpPattern(), transform.FuseOps(), transform.FuseTIR()])(module)
    assert whole[0].name == runs[0].name == "sequential"
    kept = list(itertools.islice(walk(runs), 1, None))
    assert len(kept) == 3
    monkeypatch.setattr(passes, "_MOST_INNER", 1000)
    with record_passes() as everything:
        tvm.transform.Sequential([transform.AnnotateTIROpPattern(), transform.FuseOps(), transform.FuseTIR()])(module)
    assert len(list(walk(everything))) == 1 + 3 + sum(run.unkept for run in walk(runs))


def test_stages_have_their_passes_build_too(model):
    trace = pipeline.trace(model)
    assert [run.name for run in trace["legalize"].passes] == ["LegalizeOps"]
    assert not trace.is_built
    names = {run.name for run in walk(trace["build"].passes)}
    assert {"tirx.MakePackedAPI", "VMShapeLower"} <= names
    assert trace.is_built
