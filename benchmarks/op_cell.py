"""What does a ``%%tvm_op`` cell cost over doing the same by hand?

Both sides register one operator with three attributes and lower one call of it: the cell through ``%%tvm_op -q``, the
other through TVM's own calls, written out below.  They are interleaved in one process; each registers a new version
each time, as a re-run cell does.  Then the card is drawn, and the cell's own steps are timed one by one.

    python benchmarks/op_cell.py [--rounds 60] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from pathlib import Path
from statistics import median, quantiles

import tvm
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from tvm import relax, te, tirx
from tvm.ir import Op
from tvm.ir.attrs import Attrs
from tvm_ffi.dataclasses import field, py_class

from tvmlab import ops
from tvmlab.ops import gallery, guards, registry

CELL = "%%tvm_op lab.leaky_clamp -q -v op\n" + gallery.text("leaky_clamp")
_versions = itertools.count()


def by_hand() -> None:
    """Register the operator and lower one call of it with TVM's own calls."""
    version = next(_versions)

    @py_class(f"benchmark.LeakyClamp{version}")
    class LeakyClamp(Attrs):
        lower: float = field(default=-1.0)
        upper: float = field(default=1.0)
        slope: float = field(default=0.01)

    def compute(x, lower, upper, slope):
        lo, hi, leak, zero = (tirx.const(v, x.dtype) for v in (lower, upper, slope, 0))

        def clamp(*i):
            v = x(*i)
            return tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)

        return te.compute(x.shape, clamp, name="leaky_clamp")

    def legalize(builder, call):
        a = call.attrs
        return builder.call_te(compute, *call.args, a.lower, a.upper, a.slope, primfunc_name_hint="leaky_clamp")

    name = f"relax.bench.leaky_clamp{version}"
    tvm.ir._ffi_api.RegisterOp(name, "")
    op = Op.get(name)
    op.set_attr("FPurity", True)
    op.set_attr("FInferType", lambda call, _builder: call.args[0].ty)
    op.set_attr("FLegalize", legalize)
    lower_one_call(lambda x: relax.Call(op, [x], LeakyClamp()))


def lower_one_call(call) -> None:
    """Put a call into a function and legalize it."""
    x = relax.Var("x", relax.TensorType([2, 3], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(builder.emit(call(x)))
        builder.emit_func_output(out)
    relax.transform.LegalizeOps()(builder.get())


def cell(shell: InteractiveShell) -> None:
    """Run the cell, which lowers the operator for its own guards."""
    result = shell.run_cell(CELL, store_history=True)
    result.raise_error()


def breakdown() -> dict[str, float]:
    """Seconds of each step of a definition, medians of 30."""
    steps: dict[str, list[float]] = {}

    def timed(name, function, *args):
        start = time.perf_counter()
        value = function(*args)
        steps.setdefault(name, []).append(time.perf_counter() - start)
        return value

    for _ in range(30):
        parts = timed("run the cell privately", ops.read_cell, gallery.text("leaky_clamp"))
        spec = timed("read its parts, make the attributes class", registry.read_spec, "lab.leaky_clamp", parts)
        example, _ = timed("guards: find example inputs", guards.find_example, spec)
        timed("guards: all", guards.examine, spec)
        op = timed("define, all of the above and commit", registry.define, "lab.leaky_clamp", parts)
        timed("lower one example", registry.lowering.lower, spec, example.types, example.attributes)
        timed("card", op._repr_mimebundle_)
    return {name: median(values) for name, values in steps.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.run_cell("%load_ext tvmlab").raise_error()
    sides = {"cell": lambda: cell(shell), "by hand": by_hand}
    for side in sides.values():
        for _ in range(3):
            side()
    times: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)
    rng = random.Random(0)
    for _ in range(options.rounds):
        rng.shuffle(order)
        for name in order:
            start = time.perf_counter()
            sides[name]()
            times[name].append(time.perf_counter() - start)
    rows = []
    for name, values in times.items():
        low, middle, high = (1e3 * q for q in quantiles(values, n=4))
        rows.append(
            {"case": "op_cell", "side": name, "median_ms": middle, "quartiles_ms": [low, high], "repeats": len(values)}
        )
        print(f"{name:10} {middle:7.2f} ms   quartiles {low:.2f} … {high:.2f}   {len(values)} repeats")
    overhead = sorted(1e3 * (c - h) for c, h in zip(times["cell"], times["by hand"], strict=True))
    low, middle, high = quantiles(overhead, n=4)
    print(f"overhead   {middle:7.2f} ms   quartiles {low:.2f} … {high:.2f}   (bound: 20 ms)")
    print("\nbreakdown, medians:")
    parts = breakdown()
    for name, seconds in parts.items():
        print(f"  {name:45} {1e3 * seconds:7.2f} ms")
    if options.json:
        rows.append({"case": "overhead", "median_ms": middle, "quartiles_ms": [low, high], "repeats": len(overhead)})
        rows.extend({"case": "breakdown", "step": n, "median_ms": 1e3 * s} for n, s in parts.items())
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
