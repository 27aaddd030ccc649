"""The helpers: whatever the text, nothing of it becomes a tag, a style or an attribute."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvmlab.show import html

# Characters that HTML normalises (carriage returns, nulls) are no question of escaping.
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
NASTY = st.sampled_from(["<b>x</b>", "<script>alert(1)</script>", "\" onclick='x'", "&lt;", "</td>", "'>", "]]>"])
shared_page = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@shared_page
@given(TEXT | NASTY)
def test_text_comes_out_as_it_went_in(page, text):
    whole = html.card(
        text,
        html.chip(text, "#009E73", title=text),
        html.table((text, text), [(text, text)], "rl"),
        html.details(text, text),
        html.notes([text]),
        html.mono(text),
        html.muted(text),
        html.image(b"png", f"a plot of {text}", 10),
    )
    drawn = page(whole)
    assert drawn.text == text * 11
    assert drawn.tags.count("span") == 3
    assert drawn.images[0]["alt"] == f"a plot of {text}"


@given(TEXT | NASTY, TEXT | NASTY)
def test_escaping_twice_is_escaping_once(a, b):
    once = html.escape(a)
    assert html.escape(once) is once
    assert html.join([a, html.escape(b)]) == html.escape(a) + html.escape(b)


def test_attributes():
    assert html.tag("details", "x", open=True) == "<details open>x</details>"
    assert html.tag("span", "x", title=None) == "<span>x</span>"
    assert html.tag("td", style="color:#000000") == '<td style="color:#000000"></td>'


def test_a_table_without_a_head_has_none(page):
    assert "th" not in page(html.table(("", ""), [("a", "b")])).tags
    assert page(html.table(("a", "b"), [])).tags.count("th") == 2
