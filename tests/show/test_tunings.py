"""The picture of a tuning."""

from __future__ import annotations

import pytest

from tvmlab.measure import KernelTuning, Step, Tuning

KERNELS = (
    KernelTuning("fused_<conv>", 16, "tuned", 4e-3, 2e-3, 32, 3, "a candidate failed: SIGILL"),
    KernelTuning("softmax", 1, "rule", 1e-4, 1e-4, 8),
    KernelTuning("rows", 1, "left", 0.0, 0.0, note="its sizes are symbols"),
)
RECORD = Tuning("net", KERNELS, "/a/tuned.jsonl", "EPYC; TVM 0.27", 2, ("a note",))
STEP = Step(3, 8, "fused_<conv>", 4e-3, 2e-3)


def test_every_kernel_and_how_to_use_them(draw):
    page, plain = draw(RECORD)
    for text in (
        "fused_<conv>", "4.00 ms", "2.00 ms", "2.00 ×", "a faster one was found", "SIGILL", "the rule's stays",
        "its sizes are symbols", "/a/tuned.jsonl", "EPYC; TVM 0.27", "a note", "tl.trace(model, tuned=True)",
    ):  # fmt: skip
        assert text in page.text
        assert text in plain
    assert page.text.startswith("net: 2.00 × as fast")
    assert RECORD.headline.startswith("net: 1 of 3 kernels have a faster schedule than the rule's, 2.00 times as fast")
    assert RECORD.to_dict()["gain"] == pytest.approx(64.1 / 32.1)


def test_a_model_without_kernels(draw):
    page, _ = draw(Tuning("net", (), "f", "m", 1))
    assert "1.00 × as fast" in page.text


def test_a_step_in_words():
    assert str(STEP) == "   3 of 8  fused_<conv>: rule 4 ms, best 2 ms"
    assert str(Step(1, 8, "k", 1e-3, None)).endswith("rule 1 ms, nothing yet")
