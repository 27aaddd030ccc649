"""What the tests that look at pages share: odd names, themes, screenshots, and axe-core."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "tvmlab" / "show" / "js" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = ROOT / "build" / "screenshots"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
ODD = [
    "<script>window.hacked = 1</script>",
    "\"'&<img src=x onerror='window.hacked=1'>",
    "n" * 10_000,
    "مرحبا",
    "卷積神經",
]


def themed(page, command, theme, width, explorers=0):
    """Show a notebook in a theme and a width, and wait until so many explorers follow."""
    command(page, "apputils:change-theme", theme=THEMES[theme])
    page.set_viewport_size({"width": width, "height": 1000})
    if explorers:
        dark = ".tvmlab-dark" if theme == "dark" else ":not(.tvmlab-dark)"
        page.locator(f".tvmlab{dark}").nth(explorers - 1).wait_for(state="attached")


def shot(part, name, page, theme, width):
    """Leave a screenshot of a part of a page."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    part.screenshot(path=SHOTS / f"{name}-{page.kind}-{theme}-{width}.png")


def serious(page, selector, without=()):
    """What axe-core finds serious or critical in our own markup: rule, place and what to do."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("(selector) => axe.run(selector).then((result) => result.violations)", selector)
    return [
        (v["id"], node["target"], node["failureSummary"])
        for v in found
        if v["impact"] in {"serious", "critical"} and v["id"] not in without
        for node in v["nodes"]
    ]
