"""How fast are whole networks, with nothing tuned, against onnxruntime with all its optimisations?

The nine networks that the onnx package ships, with random weights.  Both sides run in one process, in a random order
each round, with as many threads.  The ratio is onnxruntime's time over tvmlab's, round by round: above 1, tvmlab is
faster.  Milliseconds are medians; compile seconds are all stages, machine code included.

    python benchmarks/networks.py [--threads 1 2] [--only resnet50] [--budget 8] [--json FILE]
"""

from __future__ import annotations

from pathlib import Path

import onnx
from _timing import PEER, options, summary, timed, write

from tvmlab import pipeline

NETWORKS = Path(onnx.__path__[0]) / "backend" / "test" / "data" / "light"
NAMES = (
    "resnet50",
    "squeezenet",
    "shufflenet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "bvlc_alexnet",
    "zfnet512",
    "vgg19",
)
SIDES = ("scheduled", PEER)


def main() -> None:
    given = options(__doc__, budget=8.0).parse_args()
    rows = []
    for name in NAMES:
        if given.only not in name:
            continue
        model = pipeline.load(NETWORKS / f"light_{name}.onnx", weights="random")
        trace = pipeline.trace(model)
        seconds = sum(stage.seconds for stage in trace.stages) + trace["build"].seconds
        rows += [timed(name, model, SIDES, threads, given.budget, compile_seconds=seconds) for threads in given.threads]
        print(f"{'':58}    compiled in {seconds:.1f} s, {trace['schedule'].kernels} kernels")
    for threads in given.threads:
        summary([row for row in rows if row["threads"] == threads], f"{threads} thread(s)")
    write(rows, given.json)


if __name__ == "__main__":
    main()
