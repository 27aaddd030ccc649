"""The page of all benchmarks, and the rows that they write."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from pathlib import Path

import pytest

from tvmlab.measure.rounds import Rounds

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Import a benchmark as Python does when it is run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]


def test_a_row_has_case_sides_paired_ratio_quartiles_and_repeats(script):
    rounds = Rounds({"slow": (4.0, 2.0, 6.0), "fast": (1.0, 1.0, 2.0)}, {})
    row = script("_timing").row_of_rounds("case", rounds, "slow", "fast", 2, group="g")
    assert row["sides"] == ["slow", "fast"]
    assert row["ratio"] == [2.5, 3.0, 3.5]  # of 4, 2 and 3: round by round
    assert row["median_ms"] == {"slow": 4000, "fast": 1000}
    assert row["quartiles_ms"]["slow"] == [3000, 5000]
    assert (row["case"], row["threads"], row["repeats"], row["group"]) == ("case", 2, 3, "g")


def test_rows_become_a_table(script, tmp_path):
    results, timing = script("_results"), script("_timing")
    rows = [timing.row_of_rounds("a|b", Rounds({"slow": (2e-3,), "fast": (1e-3,)}, {}), "slow", "fast", 1)]
    path = tmp_path / "good.py"
    path.write_text('"""How fast?\n\nDetails."""\n', encoding="utf-8")
    text = results.section(path, rows, "printed", 0)
    assert text.startswith("## good.py\n\nHow fast?\n\n| case | threads | slow, ms | fast, ms | ratio slow / fast")
    assert "| a\\|b | 1 | 2 | 1 | 2.00 | 2.00 – 2.00 | 1 |" in text
    assert "printed" not in text


def test_what_has_no_such_rows_is_shown_as_it_was_printed(script, tmp_path):
    path = tmp_path / "other.py"
    path.write_text('"""How many?"""\n', encoding="utf-8")
    text = script("_results").section(path, {"graphs": 3}, "3 graphs\n", 1)
    assert text == "## other.py\n\nHow many?\n\n**It failed, with code 1.**\n\n```text\n3 graphs\n```"


def test_every_script_is_run_with_the_options_it_has(script, tmp_path, monkeypatch, capsys):
    results = script("_results")
    plain = "import sys, json, pathlib\npathlib.Path(sys.argv[2]).write_text(json.dumps(sys.argv[3:]))\nprint('ran')\n"
    (tmp_path / "one.py").write_text(f'"""One?"""\n{plain}', encoding="utf-8")
    (tmp_path / "two.py").write_text(f'"""Two?"""\n# has "--quick"\n{plain}', encoding="utf-8")
    (tmp_path / "bad.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    (tmp_path / "_helper.py").write_text("raise SystemExit(4)\n", encoding="utf-8")
    assert [path.name for path in results.scripts(tmp_path)] == ["bad.py", "one.py", "two.py"]
    assert results.run(tmp_path / "one.py", quick=True)[0] == []
    assert results.run(tmp_path / "two.py", quick=True)[0] == ["--quick"]
    assert results.run(tmp_path / "two.py", quick=False)[0] == []
    monkeypatch.setattr(results, "HERE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["_results.py", "--quick", "--out", str(tmp_path / "R.md")])
    assert results.main() == 1
    written = (tmp_path / "R.md").read_text(encoding="utf-8")
    assert "apache-tvm" in written
    assert "Few rounds only" in written
    assert [line for line in written.splitlines() if line.startswith("## ")] == ["## bad.py", "## one.py", "## two.py"]
    assert capsys.readouterr().out.endswith("3 benchmarks; failed: bad.py\n")


def test_every_benchmark_writes_json():
    for path in FOLDER.glob("[a-z]*.py"):
        source = path.read_text(encoding="utf-8")
        assert '"--json"' in source or "options(" in source, path.name


def test_reuse_is_what_was_touched_since(script):
    traffic = script("traffic")

    def call(*buffers):
        return traffic.Call(None, buffers)

    chain = [call((1, 10.0), (2, 10.0)), call((2, 10.0), (3, 10.0)), call((3, 10.0), (4, 10.0))]
    found = traffic.reuses(chain)
    assert found == [(10, 40), (10, 40), (10, 10), (10, 40), (10, 10), (10, 40)]
    sizes = traffic.merged([100.0, 110.0, 300.0])
    assert sizes == {100.0: 110, 110.0: 110, 300.0: 300}


def test_latency_times_every_step(script, tmp_path, shell, monkeypatch, capsys):
    latency = script("latency")
    monkeypatch.setattr(
        sys, "argv", ["latency.py", "--rounds", "1", "--only", "sum", "--json", str(tmp_path / "l.json")]
    )
    latency.main()
    assert gc.isenabled()
    (row,) = json.loads((tmp_path / "l.json").read_text(encoding="utf-8"))
    assert (row["case"], row["repeats"]) == ("lab.sum", 1)
    assert set(row["sides"]) == {"cell to card", "first call", "second call", "numpy"}
    assert row["median_ms"]["second call"] < row["median_ms"]["first call"]
