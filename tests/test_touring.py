"""The demo's end in the terminal says how sure its figures are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvmlab.errors import CallError
from tvmlab.touring import Demo, run_tour


def demo(**changes):
    figures = {
        "op": "lab.leaky_clamp",
        "kernels_before": 122,
        "kernels_after": 58,
        "max_rel_error": 1e-6,
        "verified": True,
        "oracle": "onnxruntime",
        "ratio_vs_unfused": 37.84,
        "quartiles_vs_unfused": [30.0, 40.0],
        "ratio_vs_onnxruntime": 1.02,
        "quartiles_vs_onnxruntime": [0.95, 1.1],
        "rounds": 3,
        "rival": "onnxruntime",
        "threads": 2,
        "seconds": {"total": 60.0},
        "notebook": Path("a.ipynb"),
        "report": Path("a.html"),
    }
    return Demo(**{**figures, **changes})


def test_a_ratio_comes_with_its_quartiles_and_rounds():
    line = "timed      37.8x as fast as unfused; 1.02x as fast as onnxruntime (0.95 … 1.10 over 3 rounds)"
    assert line in demo().headline
    slower = demo(ratio_vs_onnxruntime=0.8, quartiles_vs_onnxruntime=[0.7, 0.9], rounds=1)
    assert "0.80x as fast as onnxruntime (0.70 … 0.90 over 1 round)" in slower.headline
    figures = demo().to_dict()
    assert figures["ratio_vs_onnxruntime"] == 1.02
    assert figures["quartiles_vs_onnxruntime"] == [0.95, 1.1]
    assert figures["rounds"] == 3


def test_a_folder_that_cannot_be_made_is_refused_before_the_run(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    said = []
    with pytest.raises(CallError, match="cannot write there"):
        run_tour(tmp_path / "file" / "out", progress=said.append)
    assert said == []
