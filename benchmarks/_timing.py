"""What the benchmarks of speed share: one row for each case, its table, and its JSON."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from tvmlab import measure
from tvmlab.measure.rounds import Rounds
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


def quick(parser: argparse.ArgumentParser) -> None:
    """Add how many rounds to run; ``--quick`` for few, to see that all works."""
    parser.add_argument("--repeats", type=int, help="rounds; default: as many as fit into the budget")
    parser.add_argument("--quick", dest="repeats", action="store_const", const=3, help="3 rounds")


def row_of_rounds(case: str, rounds: Rounds, slow: str, fast: str, threads: int, **more: Any) -> dict[str, Any]:
    """What every script writes of a case: its sides, the paired ratio slow / fast with its quartiles, the repeats."""
    pairs = sorted(s / f for s, f in zip(rounds.seconds[slow], rounds.seconds[fast], strict=True))
    ordered = {side: sorted(seconds) for side, seconds in rounds.seconds.items()}
    return {
        "case": case,
        "threads": threads,
        "sides": list(ordered),
        "median_ms": {side: 1e3 * quantile(seconds, 0.5) for side, seconds in ordered.items()},
        "least_ms": {side: 1e3 * seconds[0] for side, seconds in ordered.items()},
        "quartiles_ms": {side: [1e3 * quantile(seconds, q) for q in (0.25, 0.75)] for side, seconds in ordered.items()},
        "ratio_of": [slow, fast],
        "ratio": [quantile(pairs, q) for q in (0.25, 0.5, 0.75)],
        "repeats": len(pairs),
        **more,
    }


def timed(name: str, model: Any, sides: tuple[str, ...], threads: int, budget: float, **more: Any) -> dict[str, Any]:
    """Time a model, print its row, and return it as plain data."""
    row = as_row(name, measure.bench(model, sides=sides, threads=threads, budget=budget), **more)
    low, middle, high = row["ratio"]
    times = "  ".join(f"{side} {ms:9.3f}" for side, ms in row["median_ms"].items())
    print(f"{name:58} {threads}  {times}  ratio {middle:6.2f}  ({low:.2f} … {high:.2f}, {row['repeats']})", flush=True)
    return row


def as_row(name: str, timing: Timing, **more: Any) -> dict[str, Any]:
    """Medians of each side, and the paired ratio onnxruntime / tvmlab: above 1, tvmlab is faster."""
    rounds = Rounds({side.name: side.seconds for side in timing.sides}, {})
    return row_of_rounds(name, rounds, PEER, "scheduled", timing.threads, notes=list(timing.notes), **more)


def summary(rows: list[dict[str, Any]], title: str) -> None:
    """Geometric mean and the worst of some rows."""
    ratios = {row["case"]: row["ratio"][1] for row in rows}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = min(ratios, key=ratios.__getitem__)
    print(f"{title}: geometric mean {mean:.2f}, worst {ratios[worst]:.2f} ({worst})")


def write(rows: list[dict[str, Any]], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
