"""The nine networks in the onnx package, each group of nodes a function: how many, how long it takes, the values.

Both sides of each line ran in onnxruntime, its optimiser off, in one process.

    python benchmarks/onnx_functions.py [--json FILE]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from _timing import write

from tvmlab.fusion import as_functions, read_onnx
from tvmlab.fusion.onnx_file import shipped_networks
from tvmlab.pipeline.weights import with_random_weights


def results(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    given = parser.parse_args()
    rows = []
    random = np.random.default_rng(0)
    print(f"{'network':24} {'nodes':>6} {'functions':>10} {'seconds':>8} {'largest difference':>19}")
    for path in sorted(shipped_networks().glob("light_*.onnx")):
        model = with_random_weights(onnx.load(path), seed=0)
        reading = read_onnx(model)
        start = time.perf_counter()
        made = as_functions(reading)
        seconds = time.perf_counter() - start
        onnx.checker.check_model(made, full_check=True)
        feeds = {
            i.name: random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim], np.float32)
            for i in reading.view.inputs
        }
        pairs = zip(results(model, feeds), results(made, feeds), strict=True)
        worst = max(float(np.abs(a - b).max()) for a, b in pairs)
        print(f"{path.stem:24} {len(reading.nodes):6} {len(made.functions):10} {seconds:8.2f} {worst:19}", flush=True)
        rows.append(
            {
                "case": path.stem,
                "nodes": len(reading.nodes),
                "functions": len(made.functions),
                "seconds": seconds,
                "largest_difference": worst,
            }
        )
    write(rows, given.json)


if __name__ == "__main__":
    main()
