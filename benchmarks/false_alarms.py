"""Do the checks cry wolf?  Every check of every right operator of the corpus, with several seeds of the inputs.

The corpus, `tests/checks/right.py`, is the gallery, also with other defaults, calls of TOPI, and random compositions.
An alarm is a check that fails; a warning is printed too.

    python benchmarks/false_alarms.py [--seeds 5] [--only TEXT] [--seconds S] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

from tvmlab import ops
from tvmlab.checks import check_op
from tvmlab.runtime.isolation import end_child

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "checks" / "right.py"


def right_operators() -> dict[str, str]:
    """Cells of operators that are right, by name."""
    spec = importlib.util.spec_from_file_location("right", CORPUS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.RIGHT)


def told(name: str, body: str, seed: int) -> list[dict[str, Any]]:
    """What the checks say against one operator."""
    report = check_op(ops.define("right.op", ops.read_cell(body)), seed=seed)
    spoken = [r for r in report.results if r.status in ("failed", "warning") or "could not be made" in r.why]
    wrong = [c for c in report.matrix if c.status == "wrong"]
    rows = [{"op": name, "seed": seed, "code": r.code, "status": r.status, "why": r.why} for r in spoken]
    rows += [{"op": name, "seed": seed, "code": "matrix", "status": "failed", "why": str(c)} for c in wrong]
    return rows


def main() -> None:
    """Print one line for each alarm, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="operators whose name holds this text")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chosen = {name: body for name, body in right_operators().items() if options.only in name}
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    made = 0
    for seed in range(options.seeds):
        for name, body in chosen.items():
            if time.perf_counter() - started > options.seconds:
                break
            found = told(name, body, seed)
            made += 1
            rows += found
            for row in found:
                print(f"{row['status']:8} {row['code']} {name}, seed {seed}: {row['why']}", flush=True)
    end_child()
    alarms = sum(row["status"] == "failed" for row in rows)
    took = time.perf_counter() - started
    print(f"{alarms} false alarms in {made} reports on {len(chosen)} right operators, {took:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    sys.exit(alarms > 0)


if __name__ == "__main__":
    main()
