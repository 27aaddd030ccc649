"""How each record looks: static HTML that every sanitiser keeps, and plain text that reads well on a terminal.

Importing this room registers the pictures; `tvmlab.records` imports it when a record is first displayed.
"""

from __future__ import annotations

from tvmlab.show import (
    advices,
    bisections,
    cards,
    checks,
    classes,
    diagnoses,
    diffs,
    doctors,
    exercises,
    files,
    kernel_profiles,
    levels,
    loads,
    models,
    mutations,
    partitions,
    reads,
    reports,
    stage_explorer,
    stepper,
    timings,
    traces,
    tunings,
    verifications,
)

__all__ = [
    "advices",
    "bisections",
    "cards",
    "checks",
    "classes",
    "diagnoses",
    "diffs",
    "doctors",
    "exercises",
    "files",
    "kernel_profiles",
    "levels",
    "loads",
    "models",
    "mutations",
    "partitions",
    "reads",
    "reports",
    "stage_explorer",
    "stepper",
    "timings",
    "traces",
    "tunings",
    "verifications",
]
