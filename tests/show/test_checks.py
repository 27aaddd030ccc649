"""The picture of a health certificate, and what a quick check says under an operator's card."""

from __future__ import annotations

from tvmlab.records import CheckReport, CheckResult, MatrixCell
from tvmlab.show import checks, palette

OK = CheckResult("C05", "the type rule promises what compute makes", "ok", "they agree", notes=("a note",))
VALUES = CheckResult("C10", "values equal the reference's", "ok", "12 values equal the reference's")
FAILED = CheckResult(
    "C10",
    "values equal the reference's",
    "failed",
    "lab.x(<1>) gives 1, the reference says 2",
    "look at <b>",
    "Cell In[3], line 4: return x",
    "import tvmlab as tl\ntl.ops.lab.x(1)",
    "04 Construction crew: TE compute",
)
WARNING = CheckResult("C01", "registered", "warning", "it has no docstring", "write one")
SKIPPED = CheckResult("C19", "its own schedule", "skipped", "there is none")
CELLS = (
    MatrixCell("float16", "llvm", "static", "right"),
    MatrixCell("float16", "metal", "static", "no code", "no float16"),
    MatrixCell("int32", "llvm", "static", "refused", "0.5 is no int32"),
)


def test_a_failure_stands_before_what_is_fine_with_line_mend_and_cell(draw):
    page, plain = draw(CheckReport("lab.x", (OK, FAILED, WARNING, SKIPPED), seconds=1.5))
    assert page.text.index("gives 1, the reference says 2") < page.text.index("they agree")
    for part in ("at Cell In[3], line 4: return x", "mend: look at <b>", "tl.ops.lab.x(1)", "lesson 04", "a note"):
        assert part in page.text
    assert page.text.startswith("lab.x ✓ 1 ok✗ 1 failed! 1 to know– 1 skipped in 1.50 s")
    assert plain.startswith("lab.x: 1 ok, 1 failed, 1 warning, 1 skipped: C10\n✗ C10 values equal the reference's: ")
    assert "\n    at Cell In[3], line 4: return x\n    mend: look at <b>\n    > import tvmlab as tl\n" in plain
    assert plain.splitlines()[-1].startswith("–  C19")


def test_the_matrix_has_a_column_for_each_target_and_shape(draw):
    page, plain = draw(CheckReport("lab.x", (OK,), CELLS))
    assert "float16✓ rightno codeint32refused" in page.text
    assert plain.splitlines()[-3:] == [
        "dtype    llvm static  metal static",
        "float16  right        no code",
        "int32    refused",
    ]


def test_colours_go_with_words(draw):
    page, _ = draw(CheckReport("lab.x", (FAILED,)))
    assert palette.BAD in [s.get("background") for s in page.styles]
    assert page.text.startswith("lab.x ✗ 1 failed")


def test_under_a_card_stands_only_what_matters(page):
    fine = CheckReport("lab.x", (OK, VALUES, SKIPPED), quick=True)
    said = "quick check: 2 checks ok: 12 values equal the reference's. %tvm_check lab.x makes all"
    assert page(checks.brief(fine)).text == said
    assert checks.brief_text(fine) == [said]
    bad = CheckReport("lab.x", (OK, FAILED, WARNING), quick=True)
    text = page(checks.brief(bad)).text
    assert "they agree" not in text
    assert "gives 1, the reference says 2" in text
    assert "it has no docstring" in text
    assert checks.brief_text(bad)[0].startswith("✗ C10")
