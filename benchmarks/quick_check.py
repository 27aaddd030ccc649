"""What does the quick check add to an operator's cell, and how long do all checks take?

Every operator of the gallery is defined with and without its quick check, interleaved in one process; each time is a
new version, as when a cell is run again.  ``--full`` makes all checks once, too.

    python benchmarks/quick_check.py [--rounds 7] [--full] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from statistics import median, quantiles

from tvmlab import api, ops
from tvmlab.checks import check_op
from tvmlab.ops import gallery

BOUND_MS = 300


def without(name: str) -> None:
    """Only define it."""
    ops.define(f"bench.{name}", ops.read_cell(gallery.text(name)))


def with_check(name: str) -> None:
    """Define it, as a cell does."""
    api.define(f"bench.{name}", gallery.text(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sides = {"with": with_check, "without": without}
    rng = random.Random(0)
    rows = []
    for name in gallery.names():
        with_check(name)
        times: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(options.rounds):
            for side in rng.sample(list(sides), 2):
                start = time.perf_counter()
                sides[side](name)
                times[side].append(1e3 * (time.perf_counter() - start))
        added = [w - o for w, o in zip(times["with"], times["without"], strict=True)]
        low, middle, high = quantiles(added, n=4)
        rows.append(
            {"op": name, "added_ms": middle, "quartiles_ms": [low, high], "define_ms": median(times["without"])}
        )
        print(f"{name:15} {middle:7.0f} ms added   quartiles {low:.0f} … {high:.0f}", flush=True)
    print(f"median over {len(rows)} operators: {median(r['added_ms'] for r in rows):.0f} ms   (bound: {BOUND_MS} ms)")
    if options.full:
        for row in rows:
            report = check_op(ops.find(f"bench.{row['op']}"))
            row["full_s"] = report.seconds
            print(f"{row['op']:15} {report.seconds:7.1f} s for all checks: {report.headline}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
