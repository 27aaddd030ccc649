"""The fusion stepper is opened and used in JupyterLab and in Notebook 7, in a real browser and without a network.

Screenshots are left in build/screenshots.  Needs Chromium, and axe-core as `make js` installs it.
"""

from __future__ import annotations

import json

import pytest

from .looking import ODD, THEMES, serious, shot, themed

CELLS = [
    """
%load_ext tvmlab
import tvmlab as tl
from tvm import relax
from tvmlab.fusion import Graph, partition

def block(x: "float32[8, 16]", w: "float32[16, 16]", b: "float32[16]"):
    h = relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w), b))
    return relax.op.nn.softmax(relax.op.add(relax.op.matmul(h, w), b), axis=-1)

block = tl.graph(block)
""",
    "%tvm_fuse block -i",
    'tl.fuse("light_squeezenet.onnx").explore()',
    "tl.fuse(block).grouping.graph.explore()",
    f"""
odd = {ODD!r}
graph = Graph.from_kinds(["elem"] * 5, [[], [0], [0], [1, 2], [3]], [4], labels=odd)
partition(graph).record(odd[0], "python", "relax").explore()
""",
]
BLOCK, NETWORK, GRAPH, NAMES = range(4)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["lab", "notebook"])
def page(request, opened, command, tmp_path_factory):
    """The notebook, with every cell run."""
    with opened(request.param, CELLS, tmp_path_factory.mktemp(request.param)) as page:
        page.kind = request.param
        if page.kind == "lab":
            command(page, "application:toggle-left-area")
        command(page, "notebook:run-all-cells")
        page.locator(".tvmlab[data-position]").nth(len(CELLS) - 2).wait_for(state="attached", timeout=240_000)
        yield page


@pytest.fixture
def explorer(page):
    """One of the explorers on the page, without changes."""

    def find(number):
        found = page.locator(".tvmlab").nth(number)
        found.scroll_into_view_if_needed()
        reset = found.get_by_role("button", name="Reset")
        if reset.is_enabled():
            reset.click()
            drawn(found, kinds={})
        return found

    return find


def at(explorer, position):
    """Wait until the explorer is at a decision."""
    explorer.page.wait_for_function(
        "([each, position]) => each.dataset.position === position", arg=[explorer.element_handle(), str(position)]
    )


def drawn(explorer, **changes):
    """Wait until the explorer has drawn the partition with these changes."""
    explorer.page.wait_for_function(
        "([each, wanted]) => Object.entries(JSON.parse(wanted)).every(([key, value]) =>"
        " JSON.stringify(JSON.parse(each.dataset.drawn)[key]) === JSON.stringify(value))",
        arg=[explorer.element_handle(), json.dumps(changes)],
    )


def graph(explorer):
    return explorer.locator(".tvmlab-graph").first


def counted(explorer):
    return explorer.locator(".tvmlab-bar .tvmlab-quiet").first.inner_text()


def begin(explorer):
    """Go to before the first decision."""
    explorer.get_by_role("slider", name="Decision").focus()
    explorer.get_by_role("slider", name="Decision").press("Home")
    at(explorer, 0)


def test_nothing_failed_and_nothing_was_fetched(page):
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert page.locator(".tvmlab").count() == len(CELLS) - 1
    assert page.outside == []


def test_the_buttons_go_through_the_decisions_and_the_groups_grow(explorer):
    stepper = explorer(BLOCK)
    begin(stepper)
    verdict = stepper.locator(".tvmlab-verdict")
    assert verdict.inner_text().startswith("Before the first decision")
    alone = graph(stepper).locator(".tvmlab-group").count()
    assert alone == 1  # softmax, which stays alone
    stepper.get_by_role("button", name="Next ▶").click()
    at(stepper, 1)
    assert verdict.inner_text().startswith("Merged: ")
    assert verdict.get_attribute("data-merged") == "true"
    assert graph(stepper).locator(".tvmlab-group").count() == alone + 1
    assert graph(stepper).locator("[data-role='node']").count() == 1
    assert graph(stepper).locator("[data-role='into']").count() == 1
    stepper.get_by_role("button", name="◀ Prev").click()
    at(stepper, 0)
    assert graph(stepper).locator(".tvmlab-group").count() == alone


def test_the_slider_moves_by_keys_and_the_notebook_does_not(page, explorer):
    stepper = explorer(BLOCK)
    begin(stepper)
    before = page.locator(".jp-Cell.jp-mod-active").get_attribute("data-windowed-list-index")
    slider = stepper.get_by_role("slider", name="Decision")
    slider.press("ArrowRight")
    at(stepper, 1)
    slider.press("ArrowRight")
    at(stepper, 2)
    assert slider.get_attribute("aria-valuetext").startswith("decision 2 of ")
    slider.press("End")
    at(stepper, slider.get_attribute("max"))
    assert page.locator(".jp-Cell.jp-mod-active").get_attribute("data-windowed-list-index") == before


def test_a_node_is_chosen_and_becomes_of_another_kind(explorer):
    stepper = explorer(BLOCK)
    assert counted(stepper) == "6 → 3 kernels"
    graph(stepper).locator(".tvmlab-tile", has_text="relu").click()
    assert "kElemWise" in stepper.locator(".tvmlab-about").inner_text()
    stepper.get_by_label("Kind of the chosen node").select_option("OPAQUE")
    stepper.get_by_text("(+1 by the changes)").wait_for()
    assert counted(stepper) == "6 → 4 kernels (+1 by the changes)"
    stepper.get_by_label("phase 0").uncheck()
    drawn(stepper, without=["phase0"])
    stepper.get_by_label("max_depth").fill("1")
    stepper.get_by_label("max_depth").press("Enter")
    drawn(stepper, max_depth=1)
    assert counted(stepper).startswith("6 → 6 kernels")
    stepper.get_by_role("button", name="Reset").click()
    drawn(stepper, kinds={}, max_depth=256, without=[])
    assert counted(stepper) == "6 → 3 kernels"


def test_an_edge_says_why_by_mouse_and_by_keyboard(explorer):
    stepper = explorer(BLOCK)
    verdict = stepper.locator(".tvmlab-verdict")
    edge = graph(stepper).locator(".tvmlab-hit").first
    first, second = (
        graph(stepper).locator(f"[data-node='{node}'] .tvmlab-text").text_content()
        for node in edge.get_attribute("data-edge").split("-")
    )
    edge.dispatch_event("click")
    stepper.get_by_text(f"{first} and {second} ").first.wait_for()
    graph(stepper).locator(".tvmlab-tile", has_text="relu").click()
    buttons = stepper.get_by_role("group", name="Edges of the chosen node").get_by_role("button")
    assert buttons.count() == 2
    buttons.last.focus()
    buttons.last.press("Enter")
    stepper.get_by_text("stay apart").first.wait_for()
    assert "relu" in verdict.inner_text()


def test_the_list_of_decisions_and_the_tree_beside_the_graph(explorer):
    stepper = explorer(BLOCK)
    stepper.get_by_role("button", name="Decisions").click()
    box = stepper.get_by_role("listbox", name="Decisions")
    box.press("Home")
    at(stepper, 0)
    box.press("ArrowDown")
    at(stepper, 1)
    assert box.locator("[aria-selected=true]").inner_text().replace("\n", " ").endswith("merged")
    stepper.get_by_role("button", name="Post-dominators").click()
    tree = stepper.locator(".tvmlab-graph").nth(1)
    assert tree.locator(".tvmlab-tile").count() == graph(stepper).locator(".tvmlab-tile").count()
    assert tree.locator("[data-role='node']").count() == 1


def test_search_zoom_and_the_arrow_keys_of_the_graph(explorer):
    stepper = explorer(NETWORK)
    search = stepper.get_by_label("Search nodes by name")
    search.fill("softmax")
    assert graph(stepper).locator(".tvmlab-tile:not([data-dim])").count() == 1
    search.press("Enter")
    assert "softmax" in stepper.locator(".tvmlab-about").inner_text()
    search.fill("")
    seen = [graph(stepper).get_attribute("viewBox")]
    for act in (
        stepper.get_by_role("button", name="Larger").first.click,
        lambda: graph(stepper).press("ArrowDown"),
        lambda: graph(stepper).press("-"),
        stepper.get_by_role("button", name="The whole graph").first.click,
    ):
        act()
        seen.append(graph(stepper).get_attribute("viewBox"))
    assert len(set(seen)) == len(seen)


def test_blocks_that_repeat_are_folded_away_and_come_back(explorer):
    stepper = explorer(NETWORK)
    folded = graph(stepper).locator(".tvmlab-tile").count()
    stepper.get_by_label("fold repeated blocks").uncheck()
    whole = 93
    graph(stepper).locator(".tvmlab-tile").nth(whole - 1).wait_for(state="attached")
    assert folded < whole
    stepper.get_by_label("fold repeated blocks").check()
    graph(stepper).locator(".tvmlab-tile").nth(folded).wait_for(state="detached")


def test_a_graph_is_explored_from_the_first_decision_on(explorer):
    stepper = explorer(GRAPH)
    assert stepper.get_attribute("data-position") == "0"
    assert graph(stepper).locator(".tvmlab-tile").count() == 6
    assert graph(stepper).locator(".tvmlab-group").count() == 1


def test_odd_names_are_shown_and_neither_run_nor_break_it(page, explorer):
    odd = explorer(NAMES)
    for node, name in enumerate(ODD):
        graph(odd).locator(f"[data-node='{node}']").dispatch_event("click")
        assert odd.locator(".tvmlab-about").inner_text().startswith(name[:150])
    assert page.evaluate("() => window.hacked") is None
    assert odd.evaluate("each => each.scrollWidth <= each.clientWidth + 1")
    assert odd.locator("script, img").count() == 0


@pytest.mark.parametrize("width", [1280, 700])
@pytest.mark.parametrize("theme", THEMES)
def test_it_reads_on_both_themes_and_widths_and_for_screen_readers(page, explorer, command, theme, width):
    themed(page, command, theme, width, len(CELLS) - 1)
    for number, name in enumerate(("block", "network", "graph", "names")):
        each = explorer(number)
        shot(each, f"stepper-{name}", page, theme, width)
        assert each.evaluate("each => each.scrollWidth <= each.clientWidth + 1"), name
    assert serious(page, ".tvmlab") == []
    assert page.outside == []
