"""The README's first operator, typed into a notebook in JupyterLab, in a real browser and without a network.

Run by `make browser`; needs Chromium.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.browser


def cells():
    """The cells of the README's step-by-step section up to the call of the operator."""
    section = README.split("\n## Your own operator", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^( *)```python\n(.*?)^\1```", section, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE).strip() for indent, code in found][:3]


@pytest.fixture
def page(opened, tmp_path):
    """JupyterLab, as `tvmlab lab` starts it, with the README's cells."""
    with opened("lab", cells(), tmp_path, 1200, 1600) as page:
        yield page


def test_the_first_operator_is_defined_shown_and_called_in_jupyterlab(page, command, tmp_path):
    command(page, "notebook:run-all-cells")
    page.get_by_text("array([-2. ,  0.5,  2. ]", exact=False).wait_for(timeout=90_000)
    card = page.locator(".jp-OutputArea-output", has_text="lab.hard_tanh").first
    assert card.is_visible()
    assert "identity card" in card.inner_text()
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    page.screenshot(path=str(tmp_path / "lab.png"))
    assert page.outside == []
    assert sorted(file.name for file in (tmp_path / "mine").glob("*.ipynb"))[:2] == ["00_mine.ipynb", "00_tour.ipynb"]
