"""A notebook as one file."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from tvmlab.show.html import Html
from tvmlab.show.pages import notebook_page, notebook_sections, page


class Fetched(HTMLParser):
    """Whatever a browser would fetch or run on opening a page, and its text."""

    def __init__(self, source):
        super().__init__()
        self.fetched, self.tags, self.texts = [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [value for name, value in attrs if name in {"src", "srcset", "data", "poster", "onload"}]

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def display(**data):
    return new_output("display_data", data={key.replace("_", "/"): value for key, value in data.items()})


NOTEBOOK = new_notebook(
    cells=[
        new_markdown_cell("# The tour\n\n| a | b |\n|---|---|\n| 1 | **2** |\n\n```python\nx = 1\n```"),
        new_code_cell(
            "%%tvm_op lab.x\ndef compute(x):\n    return '<b>'",
            outputs=[
                new_output("stream", name="stdout", text="printed <i>\n"),
                display(text_plain="rejected", text_html="<details>card</details>"),
                display(text_plain="<plain>"),
                display(text_plain="a plot", image_png="aGVs\nbG8="),
                new_output(
                    "error", ename="E", evalue="e", traceback=["\x1b[31mCellError\x1b[0m: <what>", "  mend: it"]
                ),
            ],
        ),
    ]
)


def test_a_page_fetches_and_runs_nothing():
    drawn = Fetched(notebook_page(NOTEBOOK))
    assert drawn.fetched == ["data:image/png;base64,aGVsbG8="]
    assert {"script", "link", "iframe", "object"}.isdisjoint(drawn.tags)
    style = re.search(r"<style>(.*?)</style>", notebook_page(NOTEBOOK), re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style


def test_all_of_the_notebook_is_there():
    drawn = Fetched(notebook_page(NOTEBOOK))
    for word in ("%%tvm_op lab.x", "return '<b>'", "printed <i>", "<plain>", "CellError: <what>\n  mend: it", "card"):
        assert word in drawn.text
    assert "rejected" not in drawn.text
    assert "\x1b" not in drawn.text
    assert drawn.tags.count("strong") == 1
    assert drawn.tags.count("td") == 2


def test_the_code_under_a_magic_is_coloured():
    _, section = notebook_sections(NOTEBOOK)
    assert re.search(r'<span style="color: #[0-9A-F]{6}">def</span>', section)


def test_the_title():
    assert "<title>The tour</title>" in notebook_page(NOTEBOOK)
    assert "<title>&lt;b&gt;</title>" in notebook_page(NOTEBOOK, title="<b>")
    assert "<title>tvmlab</title>" in notebook_page(new_notebook(cells=[new_code_cell("1")]))


def test_lists_of_lines_are_texts():
    cell = {
        "cell_type": "code",
        "metadata": {},
        "source": ["a = 1\n", "a"],
        "outputs": [{"output_type": "execute_result", "data": {"text/html": ["<p>", "x</p>"]}}],
    }
    (section,) = notebook_sections({"cells": [cell]})
    assert "<p>x</p>" in section


def test_what_is_left_out():
    hidden = new_code_cell("1", metadata={"tags": ["hide"]})
    assert notebook_sections(new_notebook(cells=[hidden, new_code_cell(""), new_raw_cell("raw")])) == []


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))"]
)
def test_markdown_cannot_run_anything(text):
    drawn = Fetched(notebook_page(new_notebook(cells=[new_markdown_cell(text)])))
    assert drawn.fetched == []
    assert {"script", "img", "a"}.isdisjoint(drawn.tags)


def test_a_code_fence_in_an_unknown_language():
    (section,) = notebook_sections(new_notebook(cells=[new_markdown_cell("```klingon\nqapla' <b>\n```")]))
    assert "qapla&#x27; &lt;b&gt;" in section


def test_pages_of_ones_own():
    assert page("t", [Html("<p>a</p>"), Html("<p>b</p>")]).endswith("<main><p>a</p><p>b</p></main></body></html>\n")
