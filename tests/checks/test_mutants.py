"""A selection of automatic slips in the gallery's operators is found; `benchmarks/check_mutants.py` makes all."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import pytest

from tvmlab import ops
from tvmlab.errors import TvmlabError
from tvmlab.ops import gallery

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "check_mutants.py"
SPEC = importlib.util.spec_from_file_location("check_mutants", SCRIPT)
check_mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_mutants)


def test_mutants_are_other_texts_each_once():
    text = gallery.text("leaky_clamp")
    found = list(itertools.islice(check_mutants.mutants(text, 50), 50))
    assert len(set(found)) == 50
    assert all("def reference(x, lower, upper, slope)" in body for body in found)
    assert len({body.partition("def reference")[2] for body in found}) == 1


@pytest.mark.parametrize("name", ["leaky_clamp", "swish", "bias"])
def test_a_slip_is_found_or_makes_no_difference(name):
    text = gallery.text(name)
    original = ops.define("mutant.original", ops.read_cell(text))
    caught = 0
    for body in itertools.islice(check_mutants.mutants(text, 20), 20):
        try:
            mutant = ops.define("mutant.one", ops.read_cell(body))
        except TvmlabError:
            continue
        if check_mutants.caught(mutant, quick=True):
            caught += 1
        else:
            assert check_mutants.caught(mutant, quick=False) or not check_mutants.differs(original, mutant), body
    assert caught >= 5
