"""What teachers see of the exercises."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from tvmlab.sandbox import Sandbox

TEACHER = Path(__file__).resolve().parents[2] / "teacher"


@pytest.fixture(scope="session")
def teacher():
    """Read the teacher's file of an exercise."""
    return lambda identity: SimpleNamespace(**runpy.run_path(str(TEACHER / f"ex{identity}.py")))


@pytest.fixture(scope="session")
def apart():
    """Processes for answers, not shut in: that is tested elsewhere."""
    with Sandbox(caged=False) as made:
        yield made
