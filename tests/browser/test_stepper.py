"""The fusion stepper in a real browser: its own bundle, and Python's own answers.

Run by `make browser`; needs Chromium.  That widgets reach a notebook is tested with the stage explorer.
"""

from __future__ import annotations

import base64
import json
import shutil

import pytest
from playwright.sync_api import sync_playwright

from tvmlab.fusion import Graph, partition
from tvmlab.show import explorers, stepping

pytestmark = pytest.mark.browser

PROGRAMS = ["chromium", "chromium-browser", "google-chrome"]
PAGE = """<!doctype html><meta charset="utf-8"><style>{css}</style>
<body style="margin:8px;background:{ground}"><div id="here"></div>
<script type="module">
import explorer from "data:text/javascript;base64,{script}";
const state = {{ facts: await window.facts(), position: {position} }};
const listeners = {{}};
const tell = (event, ...what) => (listeners[event] ?? []).forEach((listen) => listen(...what));
explorer.render({{ el: document.getElementById("here"), model: {{
  get: (key) => state[key],
  set: (key, value) => {{ if (state[key] !== value) {{ state[key] = value; tell("change:" + key); }} }},
  save_changes() {{}},
  on: (event, listen) => (listeners[event] ??= []).push(listen),
  off() {{}},
  send: async ({{ id, question }}) => tell("msg:custom", {{ id, ...(await window.python(question)) }}),
}} }});
</script>"""
HOSTILE = ["<script>alert(1)</script>", "relu" * 2500, "加算", "مرحبا\u202e", "out\"'&\x00"]


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, monkeypatch):
    """Explore a record on a page; what went wrong on it is in ``page.errors``."""
    pages = []

    def open_(record, width=1280, ground="#ffffff"):
        seen = {}
        monkeypatch.setattr(stepping, "widget", lambda _bundle, _record, *given: seen.update(given=given))
        record.explore()
        facts, answer, position = seen["given"]
        page = browser.new_page(viewport={"width": width, "height": 900})
        pages.append(page)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("dialog", lambda dialog: page.errors.append(dialog.message))
        page.expose_function("facts", lambda: facts)
        page.expose_function("python", lambda question: json.loads(json.dumps(explorers._reply(answer, question))))
        script = base64.b64encode(explorers._file("stepper.js").encode()).decode()
        page.set_content(
            PAGE.format(css=explorers._file("stepper.css"), ground=ground, script=script, position=position)
        )
        at(page, position)
        return page

    yield open_
    for page in pages:
        assert page.errors == []
        page.close()


def at(page, position):
    """Wait until the page is at a decision."""
    page.wait_for_function(f"document.querySelector('.tvmlab')?.dataset.position === '{position}'")


def roles(page):
    found = page.locator(".tvmlab-graph").first.locator("[data-role]")
    return {int(tile.get_attribute("data-node")): tile.get_attribute("data-role") for tile in found.all()}


def chain():
    graph = Graph.from_kinds(
        ["oef", "elem", "bcast", "reduce"], [[], [0], [0, 1], [2]], [3], labels=["conv", "relu", "scale", "sum"]
    )
    return partition(graph).record("block", "python", "relax")


def test_prev_and_next_show_node_way_post_dominator_and_verdict(opened):
    page = opened(chain())
    verdicts = {}
    for position in (3, 2, 1, 0):
        page.get_by_role("button", name="◀ Prev").click()
        at(page, position)
        verdicts[position] = page.locator(".tvmlab-verdict").inner_text()
    assert verdicts[0].startswith("Before the first decision")
    assert page.get_by_role("button", name="◀ Prev").is_disabled()
    assert page.locator(".tvmlab-graph").first.locator(".tvmlab-group").count() <= 4
    page.get_by_role("button", name="Next ▶").click()
    at(page, 1)
    assert roles(page) == {0: "node", 1: "inner", 2: "culprit"}
    assert verdicts[1] == page.locator(".tvmlab-verdict").inner_text()
    assert "scale on the path conv → scale is bcast, and conv (oef) lets only elem follow" in verdicts[1]
    page.get_by_role("slider", name="Decision").press("ArrowRight")
    at(page, 2)


def test_what_if_repartitions_and_reset_brings_back(opened):
    page = opened(chain())
    counted = page.locator(".tvmlab-bar .tvmlab-quiet").first
    before = counted.inner_text()
    page.locator(".tvmlab-graph").first.locator("[data-node='3']").click()
    page.get_by_label("Kind of the chosen node").select_option("OPAQUE")
    page.wait_for_function("JSON.parse(document.querySelector('.tvmlab').dataset.drawn).kinds[3] === 'OPAQUE'")
    assert counted.inner_text() == "4 → 3 kernels (+1 by the changes)"
    page.get_by_label("phase 0").uncheck()
    page.wait_for_function("JSON.parse(document.querySelector('.tvmlab').dataset.drawn).without.length === 1")
    page.get_by_label("max_depth").fill("1")
    page.get_by_label("max_depth").press("Enter")
    page.wait_for_function("JSON.parse(document.querySelector('.tvmlab').dataset.drawn).max_depth === 1")
    assert counted.inner_text().startswith("4 → 4 kernels")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("JSON.parse(document.querySelector('.tvmlab').dataset.drawn).max_depth === 256")
    assert counted.inner_text() == before


def test_an_edge_says_why(opened):
    record = chain()
    page = opened(record)
    page.locator("[data-edge='2-3']").first.dispatch_event("click")
    page.get_by_text(record.why("scale", "sum")).first.wait_for()


@pytest.mark.parametrize(("width", "ground"), [(1280, "#ffffff"), (700, "#111111")])
def test_names_of_all_sorts_are_text_and_nothing_is_wider_than_the_page(opened, width, ground, tmp_path):
    graph = Graph.from_kinds(["elem"] * 5, [[], [0], [0], [1, 2], [3]], [4], labels=HOSTILE)
    page = opened(partition(graph).record("<img src=x onerror=alert(2)>", "python", "relax"), width, ground)
    assert page.locator(".tvmlab script, .tvmlab img").count() == 0
    assert "<script>alert(1)</script>" in page.locator(".tvmlab-graph").first.inner_html().replace("&lt;", "<").replace(
        "&gt;", ">"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert ("tvmlab-dark" in page.locator(".tvmlab").get_attribute("class")) == (ground == "#111111")
    page.get_by_role("button", name="Decisions").click()
    page.get_by_role("listbox", name="Decisions").press("Home")
    at(page, 0)
    page.screenshot(path=str(tmp_path / "stepper.png"))


def test_search_finds_dims_and_reveals(opened):
    graph = Graph.from_kinds(["elem"] * 60, [[node - 1] if node else [] for node in range(60)], [59])
    page = opened(partition(graph, 4).record("line", "python", "relax"))
    page.get_by_label("fold repeated blocks").uncheck()
    page.locator(".tvmlab-graph").first.locator("[data-node='57']").wait_for(state="attached")
    page.get_by_label("Search nodes by name").fill("57")
    tiles = page.locator(".tvmlab-graph").first.locator(".tvmlab-tile")
    assert tiles.count() == 60
    assert page.locator(".tvmlab-graph").first.locator("[data-dim]").count() == 59
    page.get_by_label("Search nodes by name").press("Enter")
    assert page.locator(".tvmlab-graph").first.locator("[data-node='57']").get_attribute("data-role") == "chosen"
