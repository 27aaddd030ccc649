"""The picture of a difference of two stages."""

from __future__ import annotations

from tvmlab.records import FunctionDiff, StageDiff
from tvmlab.show import code, diffs, palette


def function(name, before, after):
    lines = list(code.unified(before, after))
    return FunctionDiff(name, before, after, sum(x[0] == "+" for x in lines), sum(x[0] == "-" for x in lines))


def stages(*functions, unchanged=0):
    return StageDiff("block", "legalize", "fuse", functions, unchanged)


def numbers(start, stop):
    return "\n".join(f"line_{i} = {i}" for i in range(start, stop))


def test_a_changed_function(draw):
    page, plain = draw(stages(function("main", "a = 1\nb = 2\n", "a = 1\nb = 3\n"), unchanged=7))
    assert "block: legalize → fuse +1 −1" in page.text
    assert "1 function changed, 7 unchanged" in page.text
    assert "-b = 2" in page.text
    assert "+b = 3" in page.text
    backgrounds = [s.get("background") for s in page.styles if s.get("display") == "block"]
    assert backgrounds == [None, None, palette.REMOVED, palette.ADDED]
    assert plain.splitlines()[1] == "main  +1  −1"


def test_new_and_gone_functions_share_a_fold_each(draw):
    page, _ = draw(
        stages(function("main", "a", "b"), function("x", "", "n"), function("y", "", "n"), function("z", "g", ""))
    )
    assert "2 functions new" in page.text
    assert "1 function gone" in page.text
    assert page.tags.count("details") == 1 + (1 + 2) + (1 + 1)


def test_long_functions_are_cut_and_say_how_to_get_the_rest(draw):
    page, _ = draw(stages(function("main", numbers(0, 500), numbers(1000, 1500))))
    left_out = 500 - diffs.LINES_A_RUN
    assert f"… {left_out} more lines removed: functions[0] of this record" in page.text
    assert f"… {left_out} more lines added: functions[0] of this record" in page.text
    assert "+line_1019" in page.text, "what came is shown, not only what went"
    assert len(page.text) < 10_000


def test_many_functions_stay_light(draw):
    record = stages(*(function(f"k{i}", numbers(0, 40), numbers(100, 140)) for i in range(100)))
    assert len(record._repr_mimebundle_()["text/html"]) < 200_000
    page, plain = draw(record)
    assert all(f"k{i}+40 −40" in page.text.replace(" +", "+") for i in range(100))  # each is named, with its counts
    assert "43 more lines: functions[99] of this record" in page.text
    assert "… 80 more" in plain


def test_code_is_escaped_and_coloured(draw):
    page, _ = draw(stages(function("<b>", "x = '<script>'", "def f(): return '</pre>'")))
    assert "-x = '<script>'" in page.text
    assert "+def f(): return '</pre>'" in page.text
    assert {"#C65B00", "#B8609A"} <= {s.get("color") for s in page.styles}


def test_nothing_changed(draw):
    page, plain = draw(stages(unchanged=3))
    assert "0 functions changed, 3 unchanged" in page.text
    assert plain.endswith("nothing changed")
