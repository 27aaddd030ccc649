"""How heavy and how slow are the pictures of a large network's trace, and the answers of its explorer?

The trace of ResNet-50 is drawn anew in each round, and its explorer is opened and asked what it is asked on each step.

    python benchmarks/pictures.py [--rounds 5] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tvmlab as tl
from tvmlab.records import quantile


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def fresh(trace: Any) -> Any:
    """The same trace without the texts that it keeps."""
    stages = tuple(dataclasses.replace(stage) for stage in trace.stages)
    return dataclasses.replace(trace, stages=stages)


def one_round(trace: Any, other: Any) -> dict[str, tuple[float, int]]:
    """Seconds, and bytes of HTML or answer, of each part."""
    found = {}
    for name, record in (
        ("picture of the trace", fresh(trace)),
        ("picture of a difference", fresh(trace).diff()),
        ("picture of two traces", fresh(trace).beside(fresh(other))),
    ):
        seconds, bundle = timed(record._repr_mimebundle_)
        found[name] = (seconds, len(bundle["text/html"].encode()))
    seconds, widget = timed(fresh(trace).explore)
    found["explorer opened"] = (seconds, len(json.dumps(widget.facts)))
    steps = []
    for position, step in enumerate(widget.facts["steps"]):
        if not step["pending"]:
            seconds, answer = timed(lambda position=position: answers(widget, position))
            steps.append((seconds, len(json.dumps(answer))))
    found["longest answer to a step"] = max(steps)
    widget.close()
    return found


def answers(widget: Any, position: int) -> list[Any]:
    """What the page asks for when a pass is chosen."""
    functions = widget._answer({"what": "functions", "step": position})
    names = [function["name"] for function in functions]
    name = "main" if "main" in names else names[0] if names else None
    text = {"what": "text", "step": position, "function": name, "boilerplate": False}
    return [functions, widget._answer(text) if name else None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = tl.load("light_resnet50.onnx", weights="random")
    trace, other = tl.trace(model), tl.trace(model, engine="none")
    rounds = [one_round(trace, other) for _ in range(2 if options.quick else options.rounds)]
    rows = []
    for name, (_, size) in rounds[0].items():
        seconds = sorted(found[name][0] for found in rounds)
        rows.append({"case": name, "kB": round(size / 1000, 1), "seconds": seconds})
        print(f"{name:28s} {size / 1000:7.1f} kB   median {quantile(seconds, 0.5):6.3f} s   worst {seconds[-1]:6.3f} s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
