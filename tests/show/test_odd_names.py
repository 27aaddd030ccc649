"""Names of all sorts in every picture: shown, not run, and nothing is broken by them, in text, HTML, SVG and PNG."""

from __future__ import annotations

import base64
import io
import warnings
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from tvmlab.fusion import Graph
from tvmlab.fusion import partition as fused
from tvmlab.measure import KernelTuning, Tuning
from tvmlab.measure.advice import Advice, Match
from tvmlab.records import (
    Bisection,
    CheckReport,
    CheckResult,
    CourseProgress,
    FunctionDiff,
    Group,
    GroupComparison,
    Hints,
    KernelCheck,
    KernelProfile,
    KernelTime,
    LevelDifference,
    LevelsDiff,
    NodeOnLevels,
    OutputError,
    Partition,
    PropertyResult,
    Reads,
    Report,
    Side,
    StageCheck,
    StageDiff,
    Standing,
    TensorReads,
    Timing,
    Verdict,
    Verification,
)

ODD = {
    "script": "<script>window.hacked = 1</script>",
    "quotes": "\"'&<img src=x onerror='window.hacked=1'>",
    "long": "n" * 10_000,
    "right-to-left": "مرحبا\u202e",
    "cjk": "卷積神經",
    "mathematics": "$\\frac{x$ \\alpha^{",
    "control": "a\x00\x1b[31m\nb",
    "surrogate": "a\ud800",
}


def error(name):
    return OutputError(name, "float32", (2,), 1e-7, 1.0, 1.0, (0,), 1.0, 1.0, 0)


def timing(name):
    kernels = KernelProfile(
        name, (KernelTime(name, 1, (1e-3,), 9, 9, 0, 9, 0, 9, 1e9, 1e-4, "memory"),), 1e9, {9: 1e9}, 20, 1, (1e-2,)
    )
    return Timing(name, (Side(name, (1.0, 2.0), name), Side("b", (1.0, 3.0))), name, 2, {name: name}, (name,), kernels)


def partition(name):
    graph = Graph.from_kinds(["oef", "elem", "elem"], [[], [0], [1]], [2], labels=[name, f"{name}1", f"{name}2"])
    return fused(graph, 2).record(name, "python", "onnx")


RECORDS = {
    "advice": lambda n: Advice(n, "compose", (n,), (Match(n, n, 0.0, 0.0),), None, 9, 9, timing(n), (n,)),
    "bisection": lambda n: Bisection(
        n, n, (StageCheck(n, (KernelCheck(n, (n,), (error(n),), n),), 1.0, n),), (n,), 1.0, (n,)
    ),
    "check": lambda n: CheckReport(
        n, (CheckResult("C01", n, "failed", n, n, n, n, n, (n,)),), (), quick=False, seconds=1.0
    ),
    "progress": lambda n: CourseProgress((Standing(n, n, 1, n, "tried", 1, 1),), n),
    "diff": lambda n: StageDiff(n, n, n, (FunctionDiff.of(n, "x = 1", "y = 2"),), 0),
    "groups": lambda n: GroupComparison(n, n, (KernelCheck(n, (n,), (error(n),), n),), 1.0, (n,)),
    "hints": lambda n: Hints(n, n, (n,), 1),
    "levels": lambda n: LevelsDiff(
        n, (NodeOnLevels(n, n, n, (n,)),), (LevelDifference("split", (n, n), (n, n), n),), (1, 1), (1, 1)
    ),
    "partition": partition,
    "plain partition": lambda n: Partition(n, n, "relax", (Group(n, (n,), (n,)),), 1, 1),
    "partitions apart": lambda n: partition(n).diff(partition(n).what_if(max_depth=1)),
    "reads": lambda n: Reads(
        n, (0,), (TensorReads(n, (2,), "input", {(0,): 1}, ((-1,),)), TensorReads(n, (2,), "output", {(0,): 1}))
    ),
    "report": lambda n: Report(n, n, 9, {n: n}, {n: 1.0}, ok=True),
    "timing": timing,
    "tuning": lambda n: Tuning(n, (KernelTuning(n, 1, "tuned", 2.0, 1.0, 9, 0, n),), n, n, 2, (n,)),
    "verdict": lambda n: Verdict(n, n, (PropertyResult(n, "holds"),), notes=(n,)),
    "verification": lambda n: Verification(n, n, 1e-4, (error(n),), 1.0, (n,)),
}


@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_it_is_shown(draw, record, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # they would go to stderr
        made = record(name)
        page, plain = draw(made)
        bundle = made._repr_mimebundle_()
    start = name[:20].replace("\n", " ").translate({0: "\ufffd", 0x1B: "\ufffd", 0xD800: "\ufffd", 0x202E: "\ufffd"})
    shown = page.text.replace("\n", " ").replace("\u202e", "\ufffd")
    assert start in shown
    bundle["text/html"].encode()
    assert "\x00" not in bundle["text/html"]
    assert plain
    for image in page.images:
        data = base64.b64decode(image["src"].partition(",")[2])
        if data.startswith(b"<svg"):
            tree = ET.fromstring(data)
            assert not [each for each in tree.iter() if each.tag.rpartition("}")[2] in {"script", "image", "a"}]
            assert float(tree.get("width")) < 3000
        else:
            assert Image.open(io.BytesIO(data)).width < 3000
    assert len(bundle["text/html"]) < 700_000
