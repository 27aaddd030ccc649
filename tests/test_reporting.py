"""The report on a model: one file with everything, opened from disk."""

# ruff: noqa: F821 - types of a graph are texts

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tvm import relax, te, tirx

import tvmlab as tl
from tvmlab import measure
from tvmlab.cli import main
from tvmlab.errors import CallError, PipelineError
from tvmlab.prelude import const_like


class Opened(HTMLParser):
    """What a browser would fetch or run; links, ids, and the text."""

    def __init__(self, source):
        super().__init__()
        self.fetched, self.tags, self.links, self.ids, self.texts = [], [], [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.fetched += [given[name] for name in ("src", "srcset", "data", "onload") if name in given]
        self.links += [given["href"]] if "href" in given else []
        self.ids += [given["id"]] if "id" in given else []

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


@pytest.fixture(scope="module")
def block():
    @tl.op("lab.report_clamp")
    class Clamp:
        def compute(x):
            zero = const_like(0, x)
            return te.compute(x.shape, lambda *i: tirx.max(zero, x(*i)), name="clamp")

        def reference(x):
            return np.maximum(x, 0)

    def block(x: float32[4, 16], w: float32[16, 16]):
        h = tl.ops.lab.report_clamp(relax.op.matmul(x, w))
        return relax.op.nn.softmax(relax.op.matmul(h, w))

    return tl.graph(block)


def test_everything_is_in_one_file_that_needs_nothing(block, tmp_path):
    record = tl.report(block, tmp_path / "out.html", sides=["scheduled", "unfused"], budget=0.2)
    source = (tmp_path / "out.html").read_text(encoding="utf-8")
    opened = Opened(source)
    assert record.bytes == len(source.encode())
    assert record.ok
    assert all(each.startswith("data:image/") for each in opened.fetched)
    assert {"script", "link", "iframe"}.isdisjoint(opened.tags)
    assert "url(" not in source.partition("</style>")[0]
    assert opened.links == [f"#{each}" for each in opened.ids]
    for text in (
        "lab.report_clamp", "each operator as a call of a kernel",  # the operator's card, the stages
        "4 → 3 kernels", "why not one kernel: 2 edges between groups", " stay apart: ",
        "phase 0", "post-dominators",  # the decisions
        "right", "Every repeat is kept and shown", "of its roof", "operations a byte",
    ):  # fmt: skip
        assert text in opened.text + _drawings(source), text
    assert record.facts["Kernels"] == "4 before fusion, 3 after"
    assert "as fast as" in record.facts["Speed"]
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]


def _drawings(source):
    """Text in the SVGs."""
    import base64

    found = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", source)
    return "".join(base64.b64decode(each).decode() for each in found)


def test_what_cannot_be_had_is_told_in_its_place(block, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise PipelineError("no oracle <b> can run the model", mend="install one")

    monkeypatch.setattr(measure, "verify", refuse)
    record = tl.report(block, tmp_path / "out.html", timing=False)
    text = Opened((tmp_path / "out.html").read_text(encoding="utf-8")).text
    assert "no oracle <b> can run the model" in text
    assert "Times" not in text
    assert not record.ok
    assert record.facts["Verification"] == "not made: no oracle <b> can run the model"


def test_a_place_that_cannot_be_written_is_refused_first(block, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "verify", lambda *_args, **_options: pytest.fail("it ran"))
    for place in (tmp_path, tmp_path / "none" / "out.html"):
        with pytest.raises(CallError, match="cannot be written there"):
            tl.report(block, place)


def test_a_file_that_was_there_stays_if_the_model_fails(block, tmp_path, monkeypatch):
    from tvmlab import pipeline

    (tmp_path / "out.html").write_text("old", encoding="utf-8")

    def fail(_model):
        raise PipelineError("the stage fuse failed")

    monkeypatch.setattr(pipeline, "trace", fail)
    with pytest.raises(PipelineError):
        tl.report(block, tmp_path / "out.html")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.html", "old")]


def test_the_command_line_and_its_default_name(tmp_path, monkeypatch, capsys):
    from onnx import TensorProto, helper, save

    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    save(helper.make_model(graph), tmp_path / "a <b>.onnx")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "a <b>.onnx", "--no-timing"]) == 0
    said = capsys.readouterr().out
    assert "report in a_b_.html" in said
    source = (tmp_path / "a_b_.html").read_text(encoding="utf-8")
    assert "What became of each node of the ONNX model" in source
    assert "<title>a &lt;b&gt;: report</title>" in source


def test_the_picture_of_a_report(block, tmp_path):
    bundle = tl.report(block, tmp_path / "out.html", timing=False)._repr_mimebundle_()
    assert "open it in a browser" in bundle["text/html"]
    assert "Kernels    4 before fusion, 3 after" in bundle["text/plain"]
