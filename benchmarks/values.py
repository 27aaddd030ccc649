"""Are the values right, everywhere?  Every gallery operator, template and network, in every combination of stages.

Each subject runs with every clean-up, by every fusing engine, after every stage, in every dtype, and is compared with
its oracle: a live operator's NumPy reference, onnxruntime with its optimiser off, or onnx's reference evaluator.  Equal
modules are built once.  ULP are of the largest value; what is allowed is what `tl.verify` allows.

    python benchmarks/values.py [--only resnet50] [--dtypes float32] [--stages schedule] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tvm_ffi
from onnx import TensorProto, helper, numpy_helper, parser
from tvm import relax

from tvmlab import api, pipeline
from tvmlab.errors import TvmlabError
from tvmlab.measure.inputs import make_inputs
from tvmlab.measure.kernel_checks import errors_of
from tvmlab.measure.oracles import ask
from tvmlab.measure.verification import tolerance_for
from tvmlab.ops import gallery
from tvmlab.pipeline.stages import CLEANUPS, ENGINES
from tvmlab.records import KernelCheck, worst_of

STAGES = pipeline.STAGES[1:-1]
DTYPES = ("float32", "float16", "float64")
ONNX_TYPES = {"float32": "float", "float16": "float16", "float64": "double"}
NETWORKS = (
    "squeezenet",
    "shufflenet",
    "resnet50",
    "inception_v1",
    "inception_v2",
    "densenet121",
    "bvlc_alexnet",
    "zfnet512",
    "vgg19",
)

# Operator, attributes, types with open dimensions, and their sizes: 1, primes and 0 among them.
GALLERY = [
    ("leaky_clamp", {}, ["n, 13"], [1, 0, 7]),
    ("leaky_clamp", {"lower": -0.25, "upper": 2.0, "slope": 0.5}, ["3, 1, 17"], []),
    ("swish", {}, ["n, 5"], [1, 0, 11]),
    ("swish", {}, ["1"], []),
    ("bias", {}, ["n, 19", "19"], [1, 0, 4]),
    ("bias", {"axis": 1}, ["2, 3, 5, 7", "3"], []),
    ("softmax", {}, ["n, 31"], [1, 0, 5]),
    ("softmax", {}, ["2, 3, 1"], []),
    ("softmax", {}, ["4, 128"], []),
    ("sum", {}, ["n, 23"], [1, 0, 6]),
    ("sum", {"axis": (1,)}, ["2, 37, 4"], []),
    ("sum", {"axis": (-1, 0), "keepdims": True}, ["5, 3, 16"], []),
    ("split", {"sections": 3, "axis": 1}, ["n, 6"], [1, 0, 7]),
    ("split", {"sections": 2, "axis": -2}, ["4, 11"], []),
    ("rms_norm", {}, ["n, 29", "29"], [1, 0, 6]),
    ("rms_norm", {"epsilon": 0.1}, ["2, 3, 16", "16"], []),
    ("pad", {}, ["3, 7"], []),
    ("pad", {"width": 2, "value": 7.0}, ["2, 1, 13"], []),
    ("matmul", {}, ["n, 17", "17, 29"], [1, 0, 5]),
    ("matmul", {}, ["8, 64", "64, 32"], []),
    ("matmul", {}, ["1, 1", "1, 1"], []),
    ("depthwise_conv", {}, ["n, 3, 7, 6", "3, 1, 3, 3"], [1, 2]),
    ("depthwise_conv", {"stride": 2, "padding": 0}, ["1, 8, 11, 9", "8, 1, 5, 3"], []),
]

# For each template a graph with an open batch, and the shapes of its weights.
TEMPLATES = {
    "conv_bn_relu": (
        (
            "(T[n, 8, 9, 7] x) => (T[n, 16, 9, 7] y)"
            "{ c = Conv <pads = [1, 1, 1, 1]> (x, w) b = BatchNormalization (c, s, h, m, v) y = Relu (b) }"
        ),
        {"w": (16, 8, 3, 3), "s": (16,), "h": (16,), "m": (16,), "v": (16,)},
    ),
    "matmul_add_gelu": (
        (
            "(T[n, 19] x) => (T[n, 48] y) { p = MatMul (x, w) a = Add (p, b) d = Div (a, root) e = Erf (d)"
            " o = Add (e, one) f = Mul (a, o) y = Mul (f, half) }"
        ),
        {"w": (19, 48), "b": (48,), "root": 2**0.5, "one": 1.0, "half": 0.5},
    ),
    "slice_transpose_reshape": (
        (
            "(T[4, 16, 30] x) => (T[4, 80] y) <int64[1] starts = {3}, int64[1] ends = {13}, int64[1] axes = {2},"
            " int64[1] steps = {2}, int64[2] shape = {4, 80}>"
            "{ s = Slice (x, starts, ends, axes, steps) t = Transpose <perm = [0, 2, 1]> (s) y = Reshape (t, shape) }"
        ),
        {},
    ),
    "layer_norm": (
        (
            "(T[n, 33] x) => (T[n, 33] y) <int64[1] axes = {1}> { m = ReduceMean <axes = [1]> (x) d = Sub (x, m)"
            " q = Mul (d, d) v = ReduceMean <axes = [1]> (q) e = Add (v, eps) r = Sqrt (e) n1 = Div (d, r)"
            " g = Mul (n1, gamma) y = Add (g, beta) }"
        ),
        {"eps": 1e-3, "gamma": (33,), "beta": (33,)},
    ),
    "attention": (
        (
            "(T[n, 7, 8] q, T[n, 7, 8] k, T[n, 7, 8] v) => (T[n, 7, 8] y) { t = Transpose <perm = [0, 2, 1]> (k)"
            " p = MatMul (q, t) d = Mul (p, scale) s = Softmax <axis = -1> (d) y = MatMul (s, v) }"
        ),
        {"scale": 8**-0.5},
    ),
}


@dataclass(frozen=True)
class Subject:
    """A model to be made, and the sizes of its open dimension to run it with."""

    name: str
    dtype: str
    make: Callable[[], pipeline.Model]
    sizes: tuple[int, ...] = ()


def subjects(dtypes: Sequence[str] = DTYPES) -> Iterator[Subject]:
    """Everything, in every dtype; networks last."""
    for dtype in dtypes:
        for name, attributes, types, sizes in GALLERY:
            given = ", ".join(f"{k}={v}" for k, v in attributes.items())
            label = f"{name}({given}) on {' and '.join(f'[{t}]' for t in types)}"
            yield Subject(label, dtype, lambda a=(name, attributes, types, dtype): gallery_model(*a), tuple(sizes))
        for name in TEMPLATES:
            yield Subject(name, dtype, lambda a=(name, dtype): template_model(*a), (1, 3))
    for name, dtype in itertools.product(NETWORKS, dtypes):
        yield Subject(name, dtype, lambda a=(name, dtype): network(*a))


def gallery_model(name: str, attributes: dict[str, Any], types: Sequence[str], dtype: str) -> pipeline.Model:
    """An operator of the gallery between two others, so that it is fused with both where that is possible."""
    op = api.define(f"values.{name}", gallery.text(name))
    names = [f"x{i}" for i in range(len(types))]
    parameters = ", ".join(f'{n}: "{dtype}[{t}]"' for n, t in zip(names, types, strict=True))

    def body(*tensors: Any) -> Any:
        result = op.bind(relax.op.add(tensors[0], tensors[0]), *tensors[1:], **attributes)
        if name == "split":
            return tuple(relax.op.negative(relax.TupleGetItem(result, i)) for i in range(attributes["sections"]))
        return relax.op.negative(result)

    space: dict[str, Any] = {"body": body}
    exec(f"def block({parameters}): return body({', '.join(names)})", space)
    return pipeline.graph(space["block"], name=name)


def template_model(name: str, dtype: str) -> pipeline.Model:
    """A graph that the template matches, with random weights."""
    text, weights = TEMPLATES[name]
    graph = text.replace("T[", f"{ONNX_TYPES[dtype]}[")
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{name} {graph}')
    random = np.random.default_rng(0)
    for weight, shape in weights.items():
        array = np.asarray(shape) if isinstance(shape, float) else random.uniform(0.5, 1.5, shape)
        proto.graph.initializer.append(numpy_helper.from_array(array.astype(dtype), weight))
    return pipeline.load(proto, name=name)


def network(name: str, dtype: str) -> pipeline.Model:
    """A network of the onnx package with random weights, in another dtype."""
    model = pipeline.load(f"light_{name}.onnx", weights="random", name=name)
    return model if dtype == "float32" else pipeline.load(in_dtype(model.onnx, dtype), name=name)


def in_dtype(model: onnx.ModelProto, dtype: str) -> onnx.ModelProto:
    """The model with every float32 tensor in another dtype."""
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for info in (*changed.graph.input, *changed.graph.output, *changed.graph.value_info):
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = to
    for tensor in (*changed.graph.initializer, *(a.t for n in changed.graph.node for a in n.attribute)):
        if tensor.data_type == TensorProto.FLOAT:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is too large for float16 becomes infinite, on both sides
                array = numpy_helper.to_array(tensor).astype(dtype)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return changed


def check(
    subject: Subject,
    stages: Sequence[str] = STAGES,
    cleanups: Sequence[str] = CLEANUPS,
    engines: Sequence[str] = ENGINES,
) -> dict[str, Any]:
    """Run a subject in every combination; its worst output, and whatever is wrong."""
    model = subject.make()
    started = time.perf_counter()
    cases = [feeds_of(model, size) for size in subject.sizes or (None,)]
    answers = [ask(model, feeds) for feeds in cases]
    checks: list[KernelCheck] = []
    built: dict[Any, list[KernelCheck]] = {}
    for cleanup, engine in itertools.product(cleanups, engines):
        trace = pipeline.trace(model, cleanup=cleanup, engine=engine)
        for stage in stages:
            key = tvm_ffi.structural_hash(trace[stage].module)
            if key not in built:
                where = f"{cleanup}, {engine}, {stage}"
                executable = pipeline.stages.build(trace[stage].module)
                built[key] = []
                for feeds, answer in zip(cases, answers, strict=True):
                    got = executable.run(*feeds)
                    got = got if isinstance(got, tuple) else (got,)
                    built[key].append(KernelCheck(where, (), errors_of(answer.outputs, got, tolerance_for)))
            checks += built[key]
    worst = worst_of([check for check in checks if any(error.shape for error in check.outputs)]) or checks[0]
    error = worst.worst
    return {
        "subject": subject.name,
        "dtype": subject.dtype,
        "oracle": answers[0].oracle,
        "combinations": len(checks),
        "builds": len(built),
        "ok": all(check.ok for check in checks),
        "ulp_of_peak": error.ulp_of_peak,
        "allowed_ulp": (error.tolerance or 0.0) * error.peak / error.unit if error.unit else 0.0,
        "worst_in": worst.kernel,
        "wrong_in": sorted({check.kernel for check in checks if not check.ok}),
        "seconds": time.perf_counter() - started,
    }


def feeds_of(model: pipeline.Model, size: int | None) -> tuple[Any, ...]:
    """Random inputs, with a size for the open dimension."""
    given = {}
    for tensor in model.inputs:
        if size is not None and "n" in (tensor.shape or ()):
            shape = [size if d == "n" else d for d in tensor.shape or ()]
            given[tensor.name] = np.random.default_rng(size).standard_normal(shape).astype(tensor.dtype)
    return make_inputs(model.inputs, given).arrays


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", help="subjects whose name holds this text")
    options.add_argument("--no-networks", action="store_true", help="operators and templates alone")
    options.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES)
    options.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    options.add_argument("--cleanups", nargs="+", choices=CLEANUPS, default=CLEANUPS)
    options.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    options.add_argument("--json", type=Path, help="write the rows to this file")
    given = options.parse_args()
    rows = []
    for subject in subjects(given.dtypes):
        if given.only not in subject.name or (given.no_networks and subject.name in NETWORKS):
            continue
        try:
            row = check(subject, given.stages, given.cleanups, given.engines)
        except TvmlabError as error:
            row = {"subject": subject.name, "dtype": subject.dtype, "ok": False, "error": str(error)}
        rows.append(row)
        print(line_of(row), flush=True)
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1))
    wrong = [row for row in rows if not row["ok"]]
    runs = sum(row.get("combinations", 0) for row in rows)
    print(f"\n{len(rows)} subjects, {runs:,} combinations, {len(wrong)} wrong")
    return 1 if wrong else 0


def line_of(row: dict[str, Any]) -> str:
    """One row of the table."""
    head = f"{row['subject'][:58]:58} {row['dtype']:8}"
    if "error" in row:
        return f"{head} FAILED {row['error']}"
    verdict = "right" if row["ok"] else f"WRONG in {'; '.join(row['wrong_in'])}"
    far = f"{row['ulp_of_peak']:10.3g} of {row['allowed_ulp']:8.3g} ULP"
    return f"{head} {row['combinations']:4} ({row['builds']:3} builds) {far} {verdict}  {row['seconds']:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
