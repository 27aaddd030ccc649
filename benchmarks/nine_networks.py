"""How many kernels are the nine networks of the onnx package, before and after fusion, and what does each stage take?

Three clean-ups side by side: none, TVM's own (which compiles and runs a kernel for each constant), and tvmlab's.

    python benchmarks/nine_networks.py [--networks resnet50 squeezenet] [--cleanups none tvmlab] [--build] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import onnx

from tvmlab import pipeline
from tvmlab.pipeline import stages

FOLDER = Path(onnx.__path__[0]) / "backend" / "test" / "data" / "light"


def main() -> None:
    networks = sorted(path.stem.removeprefix("light_") for path in FOLDER.glob("light_*.onnx"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=networks, default=networks)
    parser.add_argument("--cleanups", nargs="+", choices=stages.CLEANUPS, default=["none", "tvmlab", "tvm"])
    parser.add_argument("--build", action="store_true", help="compile too")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for name in given.networks:
        model = pipeline.load(FOLDER / f"light_{name}.onnx")
        for cleanup in given.cleanups:
            rows.append(measure(model, name, cleanup, given.build))
            print(as_line(rows[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


def measure(model: pipeline.Model, name: str, cleanup: str, build: bool) -> dict[str, Any]:
    trace = pipeline.trace(model, cleanup=cleanup)
    seconds = {stage.name: round(stage.seconds, 3) for stage in trace.stages}
    if build:
        seconds["build"] = round(trace["build"].seconds, 3)
    return {
        "network": name,
        "cleanup": cleanup,
        "kernels_before": trace.partition.kernels_before,
        "kernels_after": trace.partition.kernels_after,
        "seconds": seconds,
    }


def as_line(row: dict[str, Any]) -> str:
    took = "  ".join(f"{stage} {seconds:.2f}" for stage, seconds in row["seconds"].items())
    kernels = f"{row['kernels_before']:>5} → {row['kernels_after']:<4}"
    return f"{row['network']:<14}{row['cleanup']:<8}{kernels}  seconds: {took}"


if __name__ == "__main__":
    main()
