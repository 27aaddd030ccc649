"""A notebook that was run elsewhere, opened where nothing may run and no widget is: every display still shows itself.

It is opened untrusted in JupyterLab and in Notebook 7, and as a page of nbconvert's that is opened without a network.
Screenshots are left in build/screenshots.  Needs Chromium, and axe-core as `make js` installs it.
"""

from __future__ import annotations

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from .looking import ODD, THEMES, serious, shot, themed

SETUP = f"""
%load_ext tvmlab
import numpy as np, tvmlab as tl
from tvm import relax, te
from tvmlab.fusion import Graph, partition
from tvmlab.measure.advice import Advice, Match
from tvmlab.measure import KernelTuning, Tuning
from tvmlab.records import FunctionDiff, Reads, Side, StageDiff, TensorReads, Timing
odd = {ODD!r}
"""
DISPLAYS = [  # a cell, words that its output must show, and how many pictures
    (
        """%%tvm_op lab.clamp
class Attrs:
    upper: float = 1.0
def compute(x, upper):
    high = const_like(upper, x)
    return te.compute(x.shape, lambda *i: tirx.min(high, x(*i)), name='clamp')
def reference(x, upper):
    return np.minimum(x, upper)""",
        ["lab.clamp(x, *, upper: float = 1.0)", "identity card", "construction crew", "quick check"],
        0,
    ),
    ("%tvm_check lab.clamp --only C02,C05,C10", ["3 ok", "values equal the reference's"], 0),
    ("tl.reads('lab.clamp')", ["clamp[1, 1]", "1 element: [1, 1]"], 1),
    (
        "tl.reads(lambda x: te.compute(x.shape, lambda i, j: x[i, j + 1], name='past'), shapes=[(4, 5)])",
        ["reads outside", "1 that does not exist: [0, 5]"],
        1,
    ),
    (
        """%%tvm_graph block
def block(x: 'float32[16, 16]', w: 'float32[16, 16]', b: 'float32[16]'):
    h = tl.ops.lab.clamp(relax.op.add(relax.op.matmul(x, w), b))
    return relax.op.nn.softmax(relax.op.matmul(h, w))""",
        ["5 operator calls", "lab.clamp × 1"],
        0,
    ),
    ("%tvm_fuse block", ["block: 5 → 3 kernels", "fused_matmul_add_lab_clamp", "why not one kernel"], 2),
    ("%tvm_fuse block -i", ["block: 5 → 3 kernels", "fused_matmul_add_lab_clamp"], 2),
    ("%tvm_diff block", ["block: legalize → fuse", "+        gv = R.call_tir(fused_matmul_add_lab_clamp"], 0),
    ("%tvm_diff block -i", ["block: legalize → fuse", "+        gv = R.call_tir(fused_matmul_add_lab_clamp"], 0),
    ("tl.trace(block)", ["each operator as a call of a kernel", "loops in parallel and in vectors"], 0),
    ("tl.trace(block).explore()", ["each operator as a call of a kernel"], 0),
    ("tl.trace(block).beside(tl.trace(block, engine='none'))", ["3 (engine python) and 5 (engine"], 0),
    ("%tvm_verify block", ["right", "max ULP"], 0),
    ("tl.verify(block, groups=True)", ["fused against unfused kernels"], 0),
    ("%tvm_time block --budget 0.2 --kernels", ["times as fast as unfused", "bound by", "of its"], 2),
    ("tl.compare(block)", ["python and tvm agree on all 3 groups"], 0),
    ("tl.fuse(block).diff(tl.fuse(block, max_depth=2))", ["max_depth=256 and max_depth=2"], 0),
    ("tl.fuse(block).grouping.graph.explore()", ["Graph"], 1),
    ("tl.compare_levels(tl.load('light_squeezenet.onnx'))", ["kernels 93 → 41", "n65 is 3 kernels"], 0),
    ("%tvm_report block out.html --no-timing", ["block: report", "out.html", "5 before fusion, 3 after"], 0),
    (
        "Tuning('net', (KernelTuning('conv', 16, 'tuned', 4e-3, 2e-3, 32, 3, ''),), 't.jsonl', 'here', 2, ('a note',))",
        ["2.00 × as fast", "a faster one was found"],
        0,
    ),
    (
        """times = Timing('lab.x', (Side('lab.x', (2e-6, 3e-6)), Side('composed', (1e-6, 2e-6))), 'lab.x', 2)
Advice('lab.x', 'compose', ('there',), (Match('relax.op.clip(x)', 'equal', 0.0, 0.0),), None, 9, 99, times, ())""",
        ["compose", "there", "relax.op.clip(x)"],
        1,
    ),
    ("tl.course.find('04a')", ["leaky_clamp", "What is checked"], 0),
    ("%tvm_hint 04a", ["2 more hints"], 0),
    (
        "%%tvm_exercise 04a\ndef compute(x):\n    return te.compute(x.shape, lambda *i: x(*i))",
        ["not yet", "elements are wrong"],
        1,
    ),
    ("%tvm_progress", ["exercises solved"], 0),
    ("%tvm_doctor", ["tvmlab doctor", "apache-tvm"], 0),
    (
        """graph = Graph.from_kinds(['elem'] * 5, [[], [0], [0], [1, 2], [3]], [4], labels=odd)
partition(graph).record(odd[0], 'python', 'relax')""",
        [ODD[0], *ODD[3:]],
        2,
    ),
    ("Reads(odd[1], (0,), tuple(TensorReads(n, (2,), 'output', {(0,): 1}) for n in odd))", [ODD[1], *ODD[3:]], 1),
    (
        "StageDiff(odd[0], 'a', 'b', tuple(FunctionDiff.of(n, 'x = 1', 'y = 2') for n in odd), 0)",
        [*ODD[:2], *ODD[3:]],
        0,
    ),
]
NOT_FOUND = "Error displaying widget"
CELL = ".jp-Cell:not(.jp-MarkdownCell)"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook, run in a kernel and then left; without the state of its widgets."""
    cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *(code for code, _, _ in DISPLAYS))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    folder = tmp_path_factory.mktemp("executed")
    options = {"timeout": 600, "store_widget_state": False, "resources": {"metadata": {"path": str(folder)}}}
    return NotebookClient(notebook, **options).execute()


@pytest.fixture(scope="module", params=["lab", "notebook", "nbconvert-light", "nbconvert-dark"])
def page(request, executed, opened, turned_into_a_page, command, tmp_path_factory):
    """The notebook as it is shown, with no kernel that knows of it."""
    kind, _, theme = request.param.partition("-")
    folder = tmp_path_factory.mktemp(request.param)
    if kind == "nbconvert":
        exporter = HTMLExporter(template_name="lab", theme=theme)
        with turned_into_a_page(exporter.from_notebook_node(executed)[0], folder) as page:
            page.kind, page.themes = kind, [theme]
            yield page
        return
    with opened(kind, executed, folder) as page:
        page.kind, page.themes = kind, list(THEMES)
        if kind == "lab":
            command(page, "application:toggle-left-area")
        yield page


@pytest.fixture
def outputs(page):
    """What each cell shows."""
    found = page.locator(CELL)
    assert found.count() == len(DISPLAYS) + 1
    return [found.nth(at).locator(".jp-OutputArea").first for at in range(1, found.count())]


def test_every_display_shows_what_it_says(page, outputs):
    for (code, words, pictures), shown in zip(DISPLAYS, outputs, strict=True):
        text = re.sub(r"\s+", " ", shown.inner_text())
        assert NOT_FOUND not in text
        for word in words:
            assert re.sub(r"\s+", " ", word) in text + _folded(shown), (code, word)
        images = shown.locator("img").all()
        assert len(images) == pictures, code
        for image in images:
            assert image.evaluate("each => each.complete && each.naturalWidth > 20"), code
            assert image.get_attribute("alt")


def _folded(shown):
    """Text that is folded away."""
    return re.sub(r"\s+", " ", shown.text_content())


def test_no_name_is_run_and_nothing_of_ours_is_fetched(page):
    assert page.evaluate("() => window.hacked") is None
    outside = [address for address in page.outside if "cdnjs.cloudflare.com" not in address]  # nbconvert's own scripts
    assert outside == []


def test_a_fold_opens_by_keyboard(outputs):
    fold = next(shown for (code, *_), shown in zip(DISPLAYS, outputs, strict=True) if code == "tl.trace(block)")
    summary = fold.locator("summary").first
    before = fold.inner_text()
    summary.focus()
    summary.press("Enter")
    assert len(fold.inner_text()) > len(before)
    summary.press("Enter")


@pytest.mark.parametrize("width", [1280, 700])
def test_it_reads_on_both_themes_and_widths_and_for_screen_readers(page, outputs, command, width):
    for theme in page.themes:
        if page.kind == "nbconvert":
            page.set_viewport_size({"width": width, "height": 1000})
        else:
            themed(page, command, theme, width)
        for at, shown in enumerate(outputs):
            shot(shown, f"static-{at:02}", page, theme, width)
        # Browsers take the focus to a box that scrolls by themselves; the sanitiser would take a tabindex away.
        assert serious(page, ".jp-RenderedHTMLCommon", without={"scrollable-region-focusable"}) == []
