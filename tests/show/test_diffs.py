"""The picture of a difference of two stages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tvmlab.matching import match_lines, rename
from tvmlab.records import FunctionDiff, StageDiff
from tvmlab.show import code, diffs


def function(name, before, after):
    return FunctionDiff.of(name, before, after)


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
    assert backgrounds[:4] == [None, None, code.REMOVED, code.ADDED]
    assert plain.splitlines()[1] == "main  +1  −1"


def test_new_and_gone_functions_share_a_fold_each(draw):
    page, _ = draw(
        stages(function("main", "a", "b"), function("x", "", "n"), function("y", "", "n"), function("z", "g", ""))
    )
    assert "2 functions new" in page.text
    assert "1 function gone" in page.text
    assert page.tags.count("details") == 2 + (1 + 2) + (1 + 1)  # the first one also side by side


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
    assert all(f"k{i} +40 −40" in page.text for i in range(100))  # each is named, with its counts
    assert "93 more functions" in page.text
    assert "this record has them all in .functions" in page.text
    assert "… 80 more" in plain


def test_code_is_escaped_and_coloured(draw):
    page, _ = draw(stages(function("<b>", "x = '<script>'", "def f(): return '</pre>'")))
    assert "-x = '<script>'" in page.text
    assert "+def f(): return '</pre>'" in page.text
    assert {code.VERMILION, code.PURPLE} <= {s.get("color") for s in page.styles}


def test_nothing_changed(draw):
    page, plain = draw(stages(unchanged=3))
    assert "0 functions changed, 3 unchanged" in page.text
    assert plain.endswith("nothing changed")


def test_renamed_variables_are_no_change_but_are_told(draw):
    before = "def main(x):\n    lv1 = f(x)\n    lv2 = g(lv1)\n    return lv2"
    page, _ = draw(stages(function("main", before, "def main(x):\n    lv = g(x)\n    return lv")))
    assert "main +1 −2" in page.text
    assert "1 variable renamed: lv2 → lv" in page.text
    assert "-    return lv2" not in page.text


def test_boilerplate_is_neither_shown_nor_counted(draw):
    page, _ = draw(stages(function("f", "# from tvm.script import x\na = 1\nT.reads(A[0])", "a = 2\nT.reads(B[0])")))
    assert "f +1 −1" in page.text
    assert "T.reads" not in page.text


def test_side_by_side_has_both_columns_in_step(page):
    drawn = page(code.side_by_side(["@@ -1,2 +1,3 @@", " a", "-b", "+c", "+d"]))
    left, right = drawn.text[: len(drawn.text) // 2], drawn.text[len(drawn.text) // 2 :]
    assert "-b" in left
    assert "+c" in right
    assert "+d" in right
    blocks = [s for s in drawn.styles if s.get("display") == "block"]
    assert len(blocks) == 2 * 4


LINES = st.lists(st.sampled_from(["a = f(b)", "b = f(a)", "c = g(a, b)", "a = g(b, c)", "return a"]), max_size=30)


def patched(before, shown, renamed):
    """What a unified difference makes of the lines before, as patch(1) does, under a renaming of what it leaves."""
    made, at = [], 0
    for line in shown:
        if line.startswith("@@"):
            start, length = map(int, line.split()[1].lstrip("-").split(","))
            first = start - 1 if length else start
            made += [rename(each, renamed) for each in before[at:first]]
            at = first
        elif line[0] == "+":
            made.append(line[1:])
        elif line[0] == "-":
            assert before[at] == line[1:]
            at += 1
        else:
            made.append(rename(before[at], renamed))
            assert made[-1] == line[1:]
            at += 1
    return made + [rename(each, renamed) for each in before[at:]]


@given(LINES, LINES, st.integers(0, 3))
def test_the_shown_difference_turns_the_one_into_the_other(before, after, context):
    matching = match_lines("\n".join(before), "\n".join(after))
    assert patched(before, code.unified(matching, context), matching.renamed) == after
