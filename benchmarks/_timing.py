"""What the benchmarks of speed share: one row for each case, its table, and its JSON."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from statistics import median
from typing import Any

from tvmlab import measure
from tvmlab.records import Timing, quantile

PEER = "onnxruntime"


def options(doc: str, budget: float) -> argparse.ArgumentParser:
    """A parser with what every benchmark of speed understands."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="threads of every side; default 1")
    parser.add_argument("--budget", type=float, default=budget, help=f"seconds a case; default {budget:g}")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    return parser


def timed(name: str, model: Any, sides: tuple[str, ...], threads: int, budget: float, **more: Any) -> dict[str, Any]:
    """Time a model, print its row, and return it as plain data."""
    row = as_row(name, measure.bench(model, sides=sides, threads=threads, budget=budget), **more)
    low, middle, high = row["ratio"]
    times = "  ".join(f"{side} {ms:9.3f}" for side, ms in row["median_ms"].items())
    print(f"{name:58} {threads}  {times}  ratio {middle:6.2f}  ({low:.2f} … {high:.2f}, {row['repeats']})", flush=True)
    return row


def as_row(name: str, timing: Timing, **more: Any) -> dict[str, Any]:
    """Medians of each side, and the paired ratio onnxruntime / tvmlab: above 1, tvmlab is faster."""
    return {
        "case": name,
        "threads": timing.threads,
        "sides": [side.name for side in timing.sides],
        "median_ms": {side.name: 1e3 * median(side.seconds) for side in timing.sides},
        "least_ms": {side.name: 1e3 * min(side.seconds) for side in timing.sides},
        "quartiles_ms": {
            side.name: [1e3 * quantile(sorted(side.seconds), q) for q in (0.25, 0.75)] for side in timing.sides
        },
        "ratio": list(timing.ratio(PEER, "scheduled")),
        "repeats": len(timing.sides[0].seconds),
        "notes": list(timing.notes),
        **more,
    }


def summary(rows: list[dict[str, Any]], title: str) -> None:
    """Geometric mean and the worst of some rows."""
    ratios = {row["case"]: row["ratio"][1] for row in rows}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = min(ratios, key=ratios.__getitem__)
    print(f"{title}: geometric mean {mean:.2f}, worst {ratios[worst]:.2f} ({worst})")


def write(rows: list[dict[str, Any]], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
