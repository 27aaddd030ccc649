"""How long does one wait: from an operator's cell to its card, for its first call, and for its second?

In each round every operator of the gallery is defined anew by its cell in a shell, as a notebook does it, and its card
is drawn for the notebook and for a terminal; then it is called on its own example, and the first call compiles.
NumPy's side is the cell's own reference on the same arrays.  The ratio is NumPy's time over that of a second call.

    python benchmarks/latency.py [--rounds 15] [--only softmax] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _timing import row_of_rounds, write
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import tvmlab as tl
from tvmlab import runtime
from tvmlab.measure.inputs import make_inputs
from tvmlab.measure.rounds import Rounds
from tvmlab.ops import gallery
from tvmlab.records import TensorInfo, quantile

STEPS = ("cell to card", "first call", "second call", "numpy")
NAMES = ("leaky_clamp", "swish", "bias", "sum", "softmax", "matmul", "depthwise_conv")
CALLS = 50  # of a call that takes microseconds


def shell_with_magics() -> InteractiveShell:
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.run_cell("%load_ext tvmlab").raise_error()
    return shell


def seconds(step: Callable[[], Any], times: int = 1) -> float:
    started = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - started) / times


def one_round(shell: InteractiveShell, name: str) -> dict[str, float]:
    """Seconds of each step."""
    cell = f"%%tvm_op lab.{name} -q -v op\n{gallery.text(name)}"

    def cell_to_card() -> None:
        result = shell.run_cell(cell, store_history=True)
        result.raise_error()
        shell.display_formatter.format(shell.user_ns["op"])

    with runtime.quiet():
        taken = {"cell to card": seconds(cell_to_card)}
    op = shell.user_ns["op"]
    example = op.examination.example
    types = [TensorInfo(f"x{i}", tuple(map(int, t.shape)), str(t.dtype)) for i, t in enumerate(example.types)]
    arrays, attributes = make_inputs(types).arrays, dict(example.attributes)
    call = getattr(tl.ops.lab, name)
    taken["first call"] = seconds(lambda: call(*arrays, **attributes))
    taken["second call"] = seconds(lambda: call(*arrays, **attributes), CALLS)
    if op.spec.reference is not None:
        taken["numpy"] = seconds(lambda: op.reference(*arrays, **attributes), CALLS)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="how often each operator is defined; default 15")
    parser.add_argument("--quick", dest="rounds", action="store_const", const=3, help="3 rounds")
    parser.add_argument("--only", default="", help="operators whose name holds this text")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    given = parser.parse_args()
    shell = shell_with_magics()
    names = [name for name in NAMES if given.only in name]
    taken: dict[str, dict[str, list[float]]] = {name: {step: [] for step in STEPS} for name in names}
    order, shuffle = list(names), random.Random(0).shuffle
    for name in names:  # what the first operator of a process pays for all
        one_round(shell, name)
    gc.disable()
    for _ in range(given.rounds):
        shuffle(order)
        for name in order:
            for step, value in one_round(shell, name).items():
                taken[name][step].append(value)
    gc.enable()
    print(f"{'median (quartiles), ms':16}" + "".join(f"{step:>26}" for step in STEPS))
    rows = []
    for name in names:
        steps = {step: tuple(values) for step, values in taken[name].items() if values}
        told = (spread(steps[step]) if step in steps else "" for step in STEPS)
        print(f"{name:22}" + "".join(f"{text:>26}" for text in told))
        fast, slow = "second call", "numpy" if "numpy" in steps else "first call"
        rows.append(row_of_rounds(f"lab.{name}", Rounds(steps, {}), slow, fast, runtime.thread_count()))
    write(rows, given.json)


def spread(values: tuple[float, ...]) -> str:
    low, middle, high = (1e3 * quantile(sorted(values), q) for q in (0.25, 0.5, 0.75))
    return f"{middle:.3g} ({low:.3g} … {high:.3g})"


if __name__ == "__main__":
    main()
