"""Run every benchmark, and write what each found to RESULTS.md, with machine, versions and date.

python benchmarks/_results.py [--quick] [--only traffic] [--out FILE]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tvmlab.measure.machine import machine

HERE = Path(__file__).resolve().parent


def scripts(folder: Path) -> list[Path]:
    """The benchmarks: modules whose names start with a letter."""
    return sorted(path for path in folder.glob("[a-z]*.py"))


def run(script: Path, *, quick: bool) -> tuple[Any, str, int]:
    """What it wrote as JSON (None if nothing), what it printed, and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "rows.json"
        more = ["--quick"] if quick and '"--quick"' in script.read_text(encoding="utf-8") + _helper(script) else []
        command = [sys.executable, str(script), "--json", str(written), *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            lines = []
            for line in process.stdout or ():
                print(line, end="", flush=True)
                lines.append(line)
        data = json.loads(written.read_text(encoding="utf-8")) if written.exists() else None
        return data, "".join(lines), process.returncode


def _helper(script: Path) -> str:
    """Options that a script takes from the shared helper."""
    return '"--quick"' if "quick(parser)" in script.read_text(encoding="utf-8") else ""


def section(script: Path, data: Any, printed: str, code: int) -> str:
    """A script's part of the page: its question, its rows as a table, else what it printed."""
    source = script.read_text(encoding="utf-8")
    question = source.split('"""')[1].strip().split("\n\n")[0] if '"""' in source else ""
    failed = f"**It failed, with code {code}.**" if code else ""
    rows = data if isinstance(data, list) else []
    whole = bool(rows) and all("ratio" in row and "median_ms" in row for row in rows)
    body = table(rows) if whole else f"```text\n{printed.strip()}\n```"
    return "\n\n".join(part for part in (f"## {script.name}", question, failed, body) if part)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a case: medians of the sides, the median of the paired ratio, its quartiles, the repeats."""
    sides = list(dict.fromkeys(side for row in rows for side in row["sides"]))
    ratio = " / ".join(rows[0].get("ratio_of", ("slow", "fast")))
    head = ["case", "threads", *(f"{side}, ms" for side in sides), f"ratio {ratio}", "quartiles", "repeats"]
    lines = []
    for row in rows:
        low, middle, high = row["ratio"]
        times = [f"{row['median_ms'][side]:.4g}" if side in row["median_ms"] else "" for side in sides]
        lines.append(
            [row["case"], str(row["threads"]), *times, f"{middle:.2f}", f"{low:.2f} – {high:.2f}", str(row["repeats"])]
        )
    return "\n".join(_line(cells) for cells in (head, ["---"] * len(head), *lines))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(sections: Iterable[str], facts: Mapping[str, str], when: str, *, quick: bool) -> str:
    """The whole page."""
    about = ", ".join(f"{name} {value}" for name, value in facts.items())
    hurried = "\n\nFew rounds only (`--quick`): figures to see that all works, not to quote." if quick else ""
    top = (
        "# What the benchmarks found\n\n"
        f"Written by `make bench` on {when}. {about}.{hurried}\n\n"
        "Milliseconds are medians. Ratios are taken round by round, in one run in which the sides take turns; their "
        "quartiles are beside them. Every script says how it measures, and `--json FILE` gives its rows."
    )
    return "\n\n".join([top, *sections]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, where a script offers that")
    parser.add_argument("--only", default="", help="scripts whose name holds this text")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md", metavar="FILE")
    given = parser.parse_args()
    sections, failed = [], []
    for script in scripts(HERE):
        if given.only not in script.name:
            continue
        print(f"== {script.name}", flush=True)
        data, printed, code = run(script, quick=given.quick)
        failed += [script.name] if code else []
        sections.append(section(script, data, printed, code))
        today = dt.datetime.now(dt.UTC).date().isoformat()
        given.out.write_text(page(sections, machine(), today, quick=given.quick), encoding="utf-8")
    print(f"{given.out}: {len(sections)} benchmarks" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
