"""Each explorer is opened and used in JupyterLab and in Notebook 7, in a real browser and without a network.

Screenshots are left in build/screenshots.  Needs Chromium, and axe-core as `make js` installs it.
"""

from __future__ import annotations

import pytest

from .looking import ODD, THEMES, serious, shot, themed

CELLS = [
    """
%load_ext tvmlab
import ipywidgets, tvmlab as tl
from tvm import relax
from tvmlab.records import FunctionDiff, StageDiff

def block(x: "float32[8, 16]", w: "float32[16, 16]", b: "float32[16]"):
    h = relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w), b))
    return relax.op.nn.softmax(relax.op.add(relax.op.matmul(h, w), b), axis=-1)

block = tl.graph(block)
trace = tl.trace(block)
""",
    "trace.explore()",
    "%tvm_diff block legalize fuse -i",
    'trace.beside(tl.trace(block, engine="none")).explore()',
    """
linked = trace.explore()
slider = ipywidgets.IntSlider(max=len(linked.facts["steps"]) - 1)
joined = ipywidgets.jslink((slider, "value"), (linked, "position"))
display(slider, linked)
""",
    f"""
odd = {ODD!r}
StageDiff(odd[0], "a", "b", tuple(FunctionDiff.of(n, f"x = '{{n}}'", f"y = '{{n}}' + x") for n in odd), 0).explore()
""",
]
TRACE, DIFF, BESIDE, LINKED, NAMES = range(5)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["lab", "notebook"])
def page(request, opened, command, tmp_path_factory):
    """The notebook, with every cell run."""
    with opened(request.param, CELLS, tmp_path_factory.mktemp(request.param)) as page:
        page.kind = request.param
        if page.kind == "lab":
            command(page, "application:toggle-left-area")
        command(page, "notebook:run-all-cells")
        page.locator(".tvmlab .cm-editor").nth(len(CELLS) - 2).wait_for(timeout=240_000)
        yield page


@pytest.fixture
def explorer(page):
    """One of the explorers on the page."""

    def find(number):
        found = page.locator(".tvmlab").nth(number)
        found.scroll_into_view_if_needed()
        return found

    return find


def shows(explorer, step, function="main"):
    """Wait until the explorer shows a function at a step."""
    explorer.locator(".tvmlab-heading .tvmlab-title", has_text=step).wait_for(timeout=30_000)
    explorer.locator(f'.tvmlab-difference[data-shown$="/{function}"] .cm-editor').first.wait_for(timeout=30_000)


def passes(explorer):
    """Names in the list of passes."""
    return explorer.get_by_role("listbox", name="Passes").locator(".tvmlab-name").all_inner_texts()


def choose(explorer, box, name):
    """Click on a name in a list."""
    explorer.get_by_role("listbox", name=box).locator(".tvmlab-name").get_by_text(name, exact=True).click()


def test_nothing_failed_and_nothing_was_fetched(page):
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert page.locator(".tvmlab").count() == len(CELLS) - 1
    assert page.outside == []


def test_the_buttons_go_through_the_passes(explorer):
    trace = explorer(TRACE)
    choose(trace, "Passes", "legalize")
    shows(trace, "legalize")
    names = passes(trace)
    trace.get_by_role("button", name="Next").click()
    shows(trace, names[names.index("legalize") + 1])
    trace.get_by_role("button", name="Prev").click()
    shows(trace, "legalize")
    assert "R.call_tir" in trace.locator(".cm-content").last.inner_text()


def test_the_slider_moves_by_keys_and_the_notebook_does_not(page, explorer):
    trace = explorer(TRACE)
    choose(trace, "Passes", "fuse")
    shows(trace, "fuse")
    before = page.locator(".jp-Cell.jp-mod-active").count()
    slider = trace.get_by_role("slider", name="Pass")
    slider.focus()
    slider.press("ArrowRight")
    shows(trace, "FuseTIR")
    assert slider.get_attribute("aria-valuetext") == "FuseTIR"
    slider.press("ArrowLeft")
    shows(trace, "fuse")
    assert page.locator(".jp-Cell.jp-mod-active").count() == before


def test_lists_move_by_keys(explorer):
    trace = explorer(TRACE)
    choose(trace, "Passes", "fuse")
    shows(trace, "fuse")
    trace.get_by_role("listbox", name="Passes").press("ArrowDown")
    shows(trace, "FuseTIR")
    chosen = trace.get_by_role("listbox", name="Passes").locator("[aria-selected=true]")
    assert chosen.count() == 1
    assert chosen.inner_text().startswith("FuseTIR")


def test_a_function_is_chosen_by_click(explorer):
    trace = explorer(TRACE)
    choose(trace, "Passes", "legalize")
    choose(trace, "Functions", "matmul")
    shows(trace, "legalize", "matmul")
    assert "matmul" in trace.locator(".cm-content").last.get_attribute("aria-label")
    assert 'T.sblock("matmul")' in trace.locator(".cm-content").last.inner_text()
    choose(trace, "Functions", "main")
    shows(trace, "legalize")


def test_search_leaves_the_passes_of_that_name(explorer):
    trace = explorer(TRACE)
    search = trace.get_by_role("searchbox", name="Search passes by name")
    search.fill("fusetir")
    assert passes(trace) == ["FuseTIR", "FuseTIRInner"]
    search.fill("")
    few = passes(trace)
    trace.get_by_label("unchanged passes").check()
    assert set(few) < set(passes(trace))
    trace.get_by_label("unchanged passes").uncheck()


def test_both_views_and_the_lines_that_are_folded_away(explorer):
    trace = explorer(TRACE)
    choose(trace, "Passes", "fuse")
    shows(trace, "fuse")
    trace.get_by_role("button", name="Side by side").click()
    assert trace.locator(".cm-mergeView .cm-editor").count() == 2
    assert trace.locator(".cm-merge-b .cm-changedLine").count() >= 1
    trace.get_by_role("button", name="Unified").click()
    assert trace.locator(".tvmlab-difference .cm-editor").count() == 1
    assert trace.locator(".cm-deletedChunk").count() >= 1
    trace.get_by_label("boilerplate").check()
    trace.get_by_text("# from tvm.script import").first.wait_for()
    trace.get_by_label("boilerplate").uncheck()
    trace.get_by_role("button", name="Side by side").click()


def test_a_copy_is_the_whole_program(page, explorer):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    trace = explorer(TRACE)
    choose(trace, "Passes", "fuse")
    shows(trace, "fuse")
    trace.get_by_role("button", name="Copy after").click()
    trace.get_by_text("copied after").wait_for(state="attached")
    assert "fused_matmul_add_relu" in page.evaluate("() => navigator.clipboard.readText()")


def test_lines_that_came_and_went_are_counted(explorer):
    trace = explorer(TRACE)
    row = trace.get_by_role("listbox", name="Passes").get_by_role("option").filter(has_text="annotate").first
    row.locator(".tvmlab-plus").wait_for(timeout=30_000)
    assert row.locator(".tvmlab-minus").inner_text().startswith("−")


def test_build_compiles_when_it_is_looked_at(explorer):
    trace = explorer(TRACE)
    choose(trace, "Passes", "build")
    trace.get_by_text("tirx.MakePackedAPI", exact=True).first.wait_for(state="attached", timeout=60_000)
    choose(trace, "Passes", "tirx.MakePackedAPI")
    trace.locator(".tvmlab-heading .tvmlab-title", has_text="tirx.MakePackedAPI").wait_for()


def test_the_difference_of_two_stages_has_what_lies_between(explorer):
    difference = explorer(DIFF)
    shows(difference, "legalize → fuse")
    assert [name for name in passes(difference) if name in {"annotate", "fuse"}] == ["annotate", "fuse"]
    choose(difference, "Passes", "annotate")
    choose(difference, "Functions", "relu")
    shows(difference, "annotate", "relu")
    assert "op_pattern" in difference.locator(".cm-content").last.inner_text()


def test_two_traces_stand_side_by_side(explorer):
    beside = explorer(BESIDE)
    shows(beside, "fuse")
    beside.get_by_role("button", name="Side by side").click()
    left, right = beside.locator(".cm-mergeView .cm-content").all()
    assert "fused_matmul_add" in left.inner_text()
    assert "fused" not in right.inner_text()
    assert left.get_attribute("aria-label") == "main, engine python"


def test_a_slider_of_ipywidgets_drives_it_in_the_browser(page, explorer):
    linked = explorer(LINKED)
    choose(linked, "Passes", "legalize")
    shows(linked, "legalize")
    handle = page.locator(".widget-slider .noUi-handle")
    before = handle.get_attribute("aria-valuenow")
    box = page.locator(".widget-slider .noUi-base").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    linked.locator(".tvmlab-heading .tvmlab-title", has_text="build").wait_for(timeout=60_000)
    assert handle.get_attribute("aria-valuenow") != before
    assert linked.get_by_role("slider", name="Pass").get_attribute("aria-valuetext") == "build"


@pytest.mark.parametrize("name", ODD, ids=["script", "quotes", "long", "right-to-left", "cjk"])
def test_odd_names_are_shown_and_neither_run_nor_break_it(page, explorer, name):
    odd = explorer(NAMES)
    rows = odd.get_by_role("listbox", name="Functions").get_by_role("option")
    rows.nth(ODD.index(name)).click()
    odd.locator(".tvmlab-heading bdi").nth(1).get_by_text(name, exact=True).wait_for()
    assert page.evaluate("() => window.hacked") is None
    assert odd.evaluate("each => each.scrollWidth <= each.clientWidth + 1")
    assert odd.locator("script, img:not(.cm-widgetBuffer)").count() == 0


@pytest.mark.parametrize("width", [1280, 700])
@pytest.mark.parametrize("theme", THEMES)
def test_it_reads_on_both_themes_and_widths_and_for_screen_readers(page, explorer, command, theme, width):
    themed(page, command, theme, width, len(CELLS) - 1)
    for number, name in enumerate(("trace", "diff", "beside", "linked", "names")):
        each = explorer(number)
        shot(each, name, page, theme, width)
        assert each.evaluate("each => each.scrollWidth <= each.clientWidth + 1"), name
    assert serious(page, ".tvmlab") == []
    assert page.outside == []
