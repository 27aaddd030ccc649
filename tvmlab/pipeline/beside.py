"""Two traces side by side."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from tvmlab.errors import CallError
from tvmlab.pipeline.tracing import STAGES, Trace, diff_of
from tvmlab.records import Explorable, StageDiff

__all__ = ["Beside"]


@dataclass(frozen=True, repr=False, eq=False)
class Beside(Explorable):
    """Two ways to machine code, stage by stage.

    Parameters
    ----------
    left, right : Trace
    """

    left: Trace = field(repr=False)
    right: Trace = field(repr=False)

    @functools.cached_property
    def names(self) -> tuple[str, str]:
        """What tells the two apart: the options, or models, in which they differ."""
        sides: tuple[list[str], list[str]] = ([], [])
        for what in ("model", "cleanup", "engine"):
            values = [getattr(trace, what) for trace in (self.left, self.right)]
            if values[0] != values[1]:
                for side, value in zip(sides, values, strict=True):
                    side.append(value if what == "model" else f"{what} {value}")
        return ", ".join(sides[0]) or "left", ", ".join(sides[1]) or "right"

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages that both have."""
        return STAGES[:-1]

    def __getitem__(self, stage: str) -> StageDiff:
        """What is different after a stage, function by function.

        Raises
        ------
        CallError
            There is no such stage.
        """
        if stage not in self.stages:
            raise CallError(f"there is no stage {stage!r}", mend=f"the stages are {', '.join(self.stages)}")
        if stage not in self._diffs:
            names = (f"{stage} ({self.names[0]})", f"{stage} ({self.names[1]})")
            self._diffs[stage] = diff_of(self.left, self.left[stage], self.right[stage], names)
        return self._diffs[stage]

    @functools.cached_property
    def _diffs(self) -> dict[str, StageDiff]:
        return {}

    @property
    def headline(self) -> str:
        kernels = [trace.partition.kernels_after for trace in (self.left, self.right)]
        return f"{self.left.model}: kernels {kernels[0]} ({self.names[0]}) and {kernels[1]} ({self.names[1]})"
