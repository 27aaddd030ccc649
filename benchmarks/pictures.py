"""How heavy and how slow are the pictures of a large network, its report, and its explorers in a browser?

The pictures of ResNet-50 are drawn anew in each round, and its explorer is opened and asked what it is asked on each
step.  Then, where Chromium and playwright are, both explorers are opened in a page of their own, and taken through
their steps: the times are from the call of their JavaScript to a page that shows the answer of Python, which comes
without a kernel.

    python benchmarks/pictures.py [--rounds 5] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tvmlab as tl
from tvmlab.records import quantile
from tvmlab.show import explorers

STEPS, PAUSE = 40, 300  # pause in ms
PAGE = """<!doctype html><meta charset="utf-8"><style>{css}</style><body><div id="here"></div><script type="module">
import explorer from "data:text/javascript;base64,{script}";
const state = {{ facts: await window.facts(), position: {position} }};
const listeners = {{}};
const tell = (event, ...what) => (listeners[event] ?? []).forEach((listen) => listen(...what));
window.model = {{
  get: (key) => state[key],
  set: (key, value) => {{ if (state[key] !== value) {{ state[key] = value; tell("change:" + key); }} }},
  save_changes() {{}},
  on: (event, listen) => (listeners[event] ??= []).push(listen),
  off() {{}},
  send: async ({{ id, question }}) => tell("msg:custom", {{ id, ...(await window.python(question)) }}),
}};
window.shown = () => new Promise((done) => {{
  const look = () => {{
    const there = document.querySelector(`{mark}`.replace("POSITION", state.position));
    if (there) requestAnimationFrame(() => setTimeout(done)); else setTimeout(look, 1);
  }};
  look();
}});
window.began = performance.now();
explorer.render({{ el: document.getElementById("here"), model: window.model }});
await window.shown();
window.painted = performance.now() - window.began;
</script>"""
MARKS = {  # what is on the page when a step is shown
    "stages": '.tvmlab-difference[data-shown^="POSITION/"]',
    "stepper": '.tvmlab[data-position="POSITION"]',
}


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def fresh(trace: Any) -> Any:
    """The same trace without the texts that it keeps."""
    stages = tuple(dataclasses.replace(stage) for stage in trace.stages)
    return dataclasses.replace(trace, stages=stages)


def in_browser(name: str, widget: Any) -> dict[str, list[float]]:
    """Seconds to the first paint of an explorer, and of each step."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.expose_function("facts", lambda: widget.facts)
        page.expose_function("python", lambda question: explorers._reply(widget._answer, question))
        script = base64.b64encode(explorers._file(f"{name}.js").encode()).decode()
        page.set_content(
            PAGE.format(css=explorers._file(f"{name}.css"), script=script, mark=MARKS[name], position=widget.position)
        )
        page.wait_for_function("window.painted !== undefined", timeout=60_000)
        step = """async (position) => {
            const began = performance.now();
            window.model.set("position", position);
            await window.shown();
            return performance.now() - began;
        }"""
        steps = []
        for position in places(name, widget):
            page.wait_for_timeout(PAUSE)  # as a reader does; what lies beside is fetched meanwhile
            steps.append(page.evaluate(step, position) / 1e3)
        painted = page.evaluate("window.painted") / 1e3
        browser.close()
    return {"first paint": [painted], "step": steps}


def places(name: str, widget: Any) -> list[int]:
    """Where an explorer is taken: to the decisions from the last one back, or to the passes that changed something."""
    if name == "stepper":
        return list(range(widget.position - 1, widget.position - 1 - STEPS, -1))
    changed = [at for at, step in enumerate(widget.facts["steps"]) if step["changed"] and not step["pending"]]
    return [at for at in changed if at != widget.position][:STEPS]


def one_round(trace: Any, other: Any) -> dict[str, tuple[float, int]]:
    """Seconds, and bytes of HTML or answer, of each part."""
    found = {}
    for name, record in (
        ("picture of the trace", fresh(trace)),
        ("picture of a difference", fresh(trace).diff()),
        ("picture of two traces", fresh(trace).beside(fresh(other))),
        ("picture of the partition", dataclasses.replace(trace.partition)),
    ):
        seconds, bundle = timed(record._repr_mimebundle_)
        found[name] = (seconds, len(bundle["text/html"].encode()))
    seconds, widget = timed(fresh(trace).explore)
    found["explorer opened"] = (seconds, len(json.dumps(widget.facts)))
    steps = []
    for position, step in enumerate(widget.facts["steps"]):
        if not step["pending"]:
            seconds, answer = timed(lambda position=position: answers(widget, position))
            steps.append((seconds, len(json.dumps(answer))))
    found["longest answer to a step"] = max(steps)
    widget.close()
    return found


def answers(widget: Any, position: int) -> list[Any]:
    """What the page asks for when a pass is chosen."""
    functions = widget._answer({"what": "functions", "step": position})
    names = [function["name"] for function in functions]
    name = "main" if "main" in names else names[0] if names else None
    text = {"what": "text", "step": position, "function": name, "boilerplate": False}
    return [functions, widget._answer(text) if name else None]


def further(model: Any, trace: Any) -> Iterator[tuple[str, list[float], float]]:
    """What is made once: the report without times, and the explorers in a browser."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, record = timed(lambda: tl.report(model, Path(folder) / "out.html", timing=False))
        yield "report without times", [seconds], round(record.bytes / 1000, 1)
    for name, record in (("stages", fresh(trace)), ("stepper", trace.partition)):
        widget = record.explore()
        size = round(len(json.dumps(widget.facts)) / 1000, 1)
        try:
            found = in_browser(name, widget)
        except (ImportError, StopIteration):
            print("no Chromium, or no playwright: the explorers were not opened")
            return
        finally:
            widget.close()
        for what, seconds in found.items():
            yield f"{name}: {what}", seconds, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = tl.load("light_resnet50.onnx", weights="random")
    trace, other = tl.trace(model), tl.trace(model, engine="none")
    rounds = [one_round(trace, other) for _ in range(2 if options.quick else options.rounds)]
    rows = []
    for name, (_, size) in rounds[0].items():
        seconds = sorted(found[name][0] for found in rounds)
        rows.append({"case": name, "kB": round(size / 1000, 1), "seconds": seconds})
        print(f"{name:28s} {size / 1000:7.1f} kB   median {quantile(seconds, 0.5):6.3f} s   worst {seconds[-1]:6.3f} s")
    for name, seconds, size in further(model, trace):
        rows.append({"case": name, "kB": size, "seconds": sorted(seconds)})
        middle = quantile(sorted(seconds), 0.5)
        print(f"{name:28s} {size:7.1f} kB   median {middle:6.3f} s   worst {max(seconds):6.3f} s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
