"""The documentation: every item of the two articles is somewhere, and what a page names exists."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def pages():
    """docs/pages.py as a module."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["pages"] = module
    spec.loader.exec_module(module)
    return module


def test_every_item_of_both_articles_is_in_a_notebook_a_feature_or_the_second_half(pages):
    items = pages.items()
    assert len(items) == 104 + 44
    assert [item.name for item in items if not item.mapped] == []


def test_every_feature_that_the_table_names_exists(pages):
    named = {feature for item in pages.items() for feature in item.here}
    assert len(named) > 40
    assert sorted(feature for feature in named if not pages.exists(feature)) == []


@pytest.mark.parametrize("feature", ["tl.nothing", "%tvm_nothing", "tvmlab nothing", "C99", "E99", "tvmlab.nothing"])
def test_a_name_that_is_not_there_is_noticed(pages, feature):
    assert not pages.exists(feature)


def test_a_section_names_items_under_its_heading(pages, tmp_path, monkeypatch):
    notebook = "# %% [markdown]\n# ## 1. `te.compute` reads\n# <!-- articles: A50 B09 -->\n#\n# Text.\n"
    (tmp_path / "04_x.py").write_text(notebook, encoding="utf-8")
    monkeypatch.setattr(pages, "TUTORIALS", tmp_path)
    assert pages.sections() == [pages.Section("04_x", "1. te.compute reads", ("A50", "B09"))]
    row = next(line for line in pages.coverage().splitlines() if line.startswith("| B09"))
    assert "[04 · 1. te.compute reads](tutorials/04_x.ipynb#" in row
    (tmp_path / "05_x.py").write_text("# ## 1\n# <!-- articles: A999 -->\n", encoding="utf-8")
    with pytest.raises(ValueError, match="A999"):
        pages.items()


def test_every_command_and_magic_has_its_page(pages):
    assert "## tvmlab check" in pages.command_line()
    assert "--bisect" in pages.magics()


def test_links_between_pages_lead_somewhere(pages):
    made = {"articles.md", "reference/commands.md", "reference/magics.md"}
    made |= {f"tutorials/{source.stem}.ipynb" for source in pages.TUTORIALS.glob("[0-9]*.py")}
    for page in (ROOT / "docs").rglob("*.md"):
        if page.parent.name in ("_build", "tutorials") or page.name == "articles.md":
            continue
        for target in re.findall(r"\]\(([^)#]+?\.(?:md|ipynb))\)", page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve().relative_to(ROOT / "docs").as_posix()
            assert found in made or (ROOT / "docs" / found).is_file(), f"{page.name}: {target}"
