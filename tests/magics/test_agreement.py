"""The magics offer what the functions of the api take, under the same names."""

from __future__ import annotations

import inspect

import pytest

from tvmlab import api, doctoring, measure, pipeline, reporting
from tvmlab.magics.commands import DEFAULT_SIDES, SIDES, STAGES, Tvmlab

FUNCTIONS = {  # what each magic calls, and the arguments that are not its options
    "tvm_op": (api.define, {"body", "shell_namespace", "label", "first_line", "cache"}),
    "tvm_check": (api.check, {"progress"}),
    "tvm_graph": (api.graph_from_source, {"body", "shell_namespace", "label", "first_line", "cache"}),
    "tvm_load": (api.load, set()),
    "tvm_save": (api.save, set()),
    "tvm_export": (api.export, set()),
    "tvm_fuse": (api.fuse, set()),
    "tvm_diff": (api.diff, set()),
    "tvm_verify": (measure.verify, {"inputs"}),
    "tvm_time": (measure.bench, {"inputs", "composed", "attributes"}),
    "tvm_tune": (measure.tune, {"progress"}),
    "tvm_exercise": (api.attempt, {"body", "shell_namespace", "label", "first_line", "cache"}),
    "tvm_hint": (api.hint, set()),
    "tvm_progress": (api.progress, set()),
    "tvm_report": (reporting.report, set()),
    "tvm_why": (api.why, set()),
    "tvm_doctor": (doctoring.examine, set()),
}


def test_every_magic_is_here():
    assert sorted(FUNCTIONS) == sorted(name for name in dir(Tvmlab) if name.startswith("tvm_"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_are_the_keywords_of_the_function(name):
    function, given_by_the_magic = FUNCTIONS[name]
    options = {action.dest for action in getattr(Tvmlab, name).parser._actions} - {"quiet", "var", "interactive"}
    options -= {"levels"} if name == "tvm_fuse" else set()  # that calls another function
    assert options | given_by_the_magic == set(inspect.signature(function).parameters)


def test_sides_are_those_of_the_benchmark():
    assert (measure.SIDES, measure.DEFAULT_SIDES) == (SIDES, DEFAULT_SIDES)


def test_stages_are_those_of_the_pipeline():
    assert STAGES == pipeline.STAGES
