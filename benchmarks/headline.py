"""How fast is the full pipeline against onnxruntime, all its optimisations on, where fusion is said to help?

Each case is one small ONNX model with random weights.  Both sides run it in one process, in a random order each round,
with inputs and outputs bound and as many threads.  The ratio is onnxruntime's time over tvmlab's, round by round: above
1, tvmlab is faster.  Milliseconds are medians.

Below chains and moves stands what share of memory's speed they reach, in a run of its own: against y = 2 x (chains)
or the quicker of that and a plain copy (moves) over as many elements, interleaved with the row's kernel.

    python benchmarks/headline.py [--threads 1 2] [--only conv] [--budget 2] [--json FILE]
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import onnx
from _limits import LIMITS, limit_of
from _timing import PEER, options, summary, timed, write
from onnx import TensorProto, helper, numpy_helper

from tvmlab import pipeline

SIDES = ("scheduled", PEER)
RANDOM = np.random.default_rng(0)


def constant(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) / math.sqrt(shape[-1])).astype("f4")


def model(nodes, inputs, outputs, constants) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "case",
        [info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def slice_transpose_reshape(shape, starts, ends, axes, reshaped, order, result) -> onnx.ModelProto:
    nodes = [helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["s"])]
    last = "s"
    if reshaped:
        nodes.append(helper.make_node("Reshape", ["s", "split"], ["r"]))
        last = "r"
    nodes += [helper.make_node("Transpose", [last], ["t"], perm=order), helper.make_node("Reshape", ["t", "to"], ["y"])]
    constants = {"starts": starts, "ends": ends, "axes": axes, "to": result}
    if reshaped:
        constants["split"] = reshaped
    return model(nodes, {"x": shape}, {"y": result}, {k: np.array(v, "i8") for k, v in constants.items()})


def chain(length: int, size: int) -> onnx.ModelProto:
    """Max, Mul, Max, Mul, …"""
    nodes = [
        helper.make_node(("Max", "Mul")[i % 2], [f"v{i}" if i else "x", f"c{i % 2}"], [f"v{i + 1}"])
        for i in range(length)
    ]
    nodes[-1].output[0] = "y"
    return model(nodes, {"x": [size]}, {"y": [size]}, {"c0": np.float32(-0.5), "c1": np.float32(1.01)})


def gelu(decomposed: bool) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    if not decomposed:
        return [helper.make_node("Gelu", ["a"], ["y"])], {}
    nodes = [
        helper.make_node("Div", ["a", "root"], ["g1"]),
        helper.make_node("Erf", ["g1"], ["g2"]),
        helper.make_node("Add", ["g2", "one"], ["g3"]),
        helper.make_node("Mul", ["a", "g3"], ["g4"]),
        helper.make_node("Mul", ["g4", "half"], ["y"]),
    ]
    return nodes, {"root": np.float32(math.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}


def matmul_add_gelu(m: int, k: int, n: int, decomposed: bool) -> onnx.ModelProto:
    tail, constants = gelu(decomposed)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["a"]), *tail]
    return model(nodes, {"x": [m, k]}, {"y": [m, n]}, {"w": constant(k, n), "b": constant(n), **constants})


def conv_bn_relu(shape, out, kernel, stride=1, groups=1, decomposed=False) -> onnx.ModelProto:
    batch, channels, height, width = shape
    weight = RANDOM.standard_normal((out, channels // groups, kernel, kernel)).astype("f4") / kernel
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[kernel // 2] * 4, strides=[stride] * 2, group=groups),
    ]
    form = (1, out, 1, 1) if decomposed else (out,)
    names = ("gamma", "beta", "mean", "var")
    constants = {"w": weight} | {n: RANDOM.uniform(0.5, 1.5, form).astype("f4") for n in names}
    if decomposed:
        nodes += [
            helper.make_node("Sub", ["c", "mean"], ["b1"]),
            helper.make_node("Div", ["b1", "var"], ["b2"]),
            helper.make_node("Mul", ["b2", "gamma"], ["b3"]),
            helper.make_node("Add", ["b3", "beta"], ["b"]),
        ]
    else:
        nodes.append(helper.make_node("BatchNormalization", ["c", *names], ["b"]))
    nodes.append(helper.make_node("Relu", ["b"], ["y"]))
    result = [batch, out, (height - 1) // stride + 1, (width - 1) // stride + 1]
    return model(nodes, {"x": shape}, {"y": result}, constants)


def softmax(rows: int, columns: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=-1)]
    return model(nodes, {"x": [rows, columns]}, {"y": [rows, columns]}, {})


def layer_norm(rows: int, columns: int) -> onnx.ModelProto:
    nodes = [helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1)]
    return model(
        nodes, {"x": [rows, columns]}, {"y": [rows, columns]}, {"g": constant(columns), "b": constant(columns)}
    )


def attention(heads: int, length: int, depth: int) -> onnx.ModelProto:
    """softmax(q k^T / sqrt(depth)) v"""
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Mul", ["s", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    shape = [1, heads, length, depth]
    return model(nodes, dict.fromkeys("qkv", shape), {"y": shape}, {"scale": np.float32(depth**-0.5)})


def trap(rows: int, columns: int, steps: int) -> onnx.ModelProto:
    """A row goes through Mul and Exp again and again, then meets a matrix: inlined, it is computed for every row."""
    nodes, last = [], "row"
    for i in range(steps):
        nodes += [helper.make_node("Mul", [last, "c"], [f"m{i}"]), helper.make_node("Exp", [f"m{i}"], [f"e{i}"])]
        last = f"e{i}"
    nodes.append(helper.make_node("Add", ["x", last], ["y"]))
    inputs = {"x": [rows, columns], "row": [1, columns]}
    return model(nodes, inputs, {"y": [rows, columns]}, {"c": np.float32(0.5)})


def moves() -> Iterator[tuple[str, onnx.ModelProto]]:
    for name, length, width in (("qkv split L2", 128, 384), ("qkv split", 512, 2304)):
        third, heads = width // 3, max(1, width // 3 // 64)
        shape = [1, length, width]
        split, result = [1, length, heads, third // heads], [1, heads, length * (third // heads)]
        yield name, slice_transpose_reshape(shape, [third], [2 * third], [2], split, [0, 2, 1, 3], result)
    crop = [8, 64, 130, 130]
    yield (
        "NCHW->NHWC crop",
        slice_transpose_reshape(crop, [1, 1], [129, 129], [2, 3], None, [0, 2, 3, 1], [8, 16384, 64]),
    )
    yield "big 2-D", slice_transpose_reshape([4096, 4352], [128], [4224], [1], None, [1, 0], [64, 64, 4096])
    rows = [8, 512, 16, 64]
    yield "row-keeping perm", slice_transpose_reshape(rows, [0], [480], [1], None, [0, 2, 1, 3], [8, 16, 480 * 64])


CHAINS = [(k, n, where) for n, where in ((1 << 14, "L2"), (1 << 18, "L3"), (1 << 24, "DRAM")) for k in (3, 8)]
MATMULS = {
    "BERT ffn M128 K768 N3072": (128, 768, 3072),
    "BERT ffn M512 K768 N3072": (512, 768, 3072),
    "head M4096 K64 N256": (4096, 64, 256),
    "thin K M16384 K16 N256": (16384, 16, 256),
    "thin K M65536 K4 N64": (65536, 4, 64),
    "batch-1 row M8 K768 N3072": (8, 768, 3072),
}
CONVOLUTIONS = {
    "resnet 3x3 1x64x56x56->64": ([1, 64, 56, 56], 64, 3, 1, 1),
    "resnet 1x1 up 1x64x56x56->256": ([1, 64, 56, 56], 256, 1, 1, 1),
    "mbv2 expand 1x16x112x112->96": ([1, 16, 112, 112], 96, 1, 1, 1),
    "first layer 1x3x224x224->32 s2": ([1, 3, 224, 224], 32, 3, 2, 1),
    "depthwise 1x96x112x112->96": ([1, 96, 112, 112], 96, 3, 1, 96),
    "thin 1x1 1x4x224x224->64": ([1, 4, 224, 224], 64, 1, 1, 1),
    "thin 1x1 batch 8 8x4x112x112->64": ([8, 4, 112, 112], 64, 1, 1, 1),
}


def cases() -> Iterator[tuple[str, str, onnx.ModelProto]]:
    """Group, name and model of each case."""
    for name, made in moves():
        yield "moves", f"Slice-Transpose-Reshape {name}", made
    for length, size, where in CHAINS:
        yield "chains", f"elementwise chain k={length} {where} n={size}", chain(length, size)
    for decomposed in (False, True):
        for name, sizes in MATMULS.items():
            yield "matmul", f"MatMul-Add-Gelu{'5' * decomposed} {name}", matmul_add_gelu(*sizes, decomposed)
    for decomposed in (False, True):
        for name, sizes in CONVOLUTIONS.items():
            yield "conv", f"Conv-BN{'4' * decomposed}-ReLU {name}", conv_bn_relu(*sizes, decomposed=decomposed)
    yield "others", "softmax 1024x1024", softmax(1024, 1024)
    yield "others", "layer norm 1024x768", layer_norm(1024, 768)
    yield "others", "attention 12 heads 128x64", attention(12, 128, 64)
    yield "others", "97x trap 1024x1024", trap(1024, 1024, 4)


def against_limit(group: str, loaded: pipeline.Model, threads: int, budget: float) -> dict[str, object]:
    """What share of memory's speed a row reaches, printed below it."""
    found = limit_of(group, loaded, threads, budget)
    print(f"{'':58}    {found['share']:4.0%} of {found['limit']} at {found['gb_per_second']:.0f} GB/s", flush=True)
    return found


def main() -> None:
    given = options(__doc__, budget=2.0).parse_args()
    rows = []
    for group, name, made in cases():
        if given.only not in f"{group} {name}":
            continue
        loaded = pipeline.load(made, name=name)
        for threads in given.threads:
            row = timed(name, loaded, SIDES, threads, given.budget, group=group)
            rows.append(row | (against_limit(group, loaded, threads, given.budget / 2) if group in LIMITS else {}))
    for threads in given.threads:
        for group in ("moves", "chains", "matmul", "conv", "others"):
            some = [row for row in rows if row["threads"] == threads and row["group"] == group]
            if some:
                summary(some, f"{threads} thread(s), {group}")
        summary([row for row in rows if row["threads"] == threads], f"{threads} thread(s), all")
    write(rows, given.json)


if __name__ == "__main__":
    main()
