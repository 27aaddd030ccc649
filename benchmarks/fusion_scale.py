"""How does the fuser grow, and how does it compare with networkx and with TVM's FuseOps?

For each family of graphs:

* growth: seconds of the whole partition (post-dominators, three phases, groups, reasons) at 10,000 and at 1,000,000
  nodes, in turns, and the exponent of its growth; memory a node, the lists that the graph is made of left out, the
  reasons included;
* reasons: the same fuser with every line taken out that records by which rule a node was merged or refused, in turns
  with the fuser as it is.  What is recorded is the rule of each node and phase, and the node that refused; sentences
  and ways are made of that when somebody asks (all ways at once would be as long as the square of the comb);
* networkx: `networkx.immediate_dominators` alone on the same graph, at a million nodes or, where it takes longer than
  the bound that is printed, at a tenth of that, and so on;
* FuseOps: TVM's pass on a Relax module of that graph, at 20,000 nodes; it also rewrites the module.

Ratios are of pairs from one process; every cell of the table is a process of its own, so that a crash is only a cell.

    python benchmarks/fusion_scale.py [--families chain fan] [--parts growth reasons networkx FuseOps] [--quick]
                                      [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import inspect
import itertools
import json
import math
import platform
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from tvmlab.fusion import Graph, partition, quick
from tvmlab.fusion.families import FAMILIES, family
from tvmlab.fusion.grouping import MAX_DEPTH

PARTS = ("growth", "reasons", "networkx", "FuseOps")
BOUND = 60  # seconds that a cell of networkx may take before a smaller graph is tried
SCALED = [name for name in FAMILIES if name != "series-parallel"]  # building a large one takes minutes


def seconds(action: Callable[[], Any]) -> float:
    """Time one call, nothing kept from the one before."""
    gc.collect()
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Time every side in every round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, action in sides.items():
            times[name].append(seconds(action))
    return times


def ours(graph: Graph) -> int:
    """The whole partition."""
    return len(partition(graph).groups)


def afresh(graph: Graph) -> Graph:
    """The same graph, which knows nothing about itself yet."""
    return graph.with_kinds(graph.kinds)


def growth(name: str, nodes: int) -> dict[str, Any]:
    """Seconds and memory of the fuser alone."""
    kinds, inputs = FAMILIES[name](nodes, random.Random(0))
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    graph = Graph.from_kinds(kinds, inputs, [len(kinds) - 1])
    found = partition(graph)
    groups = len(found.groups)
    after = process.memory_info().rss
    del found, inputs  # a million lists elsewhere in memory would slow whoever comes after them
    times = interleaved({"tvmlab": lambda: ours(afresh(graph))}, 15 if nodes <= 10_000 else 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "groups": groups,
        "seconds": times["tvmlab"],
        "bytes_per_node": (after - before) / len(kinds),
        "peak_bytes_per_node": (peak - before) / len(kinds),
    }


def without_recording() -> types.ModuleType:
    """The quick fuser without the lines that record reasons."""
    recording = r"^ +(rule\[node\] = |culprits\[phase\]\[node\] = |np\.frombuffer\(rules\[phase\]).*\n"
    source, lines = re.subn(recording, "", inspect.getsource(quick), flags=re.MULTILINE)
    source, places = re.subn(r"    rules = \(.*\n", "    rules = (bytearray(),) * 3\n", source)
    if (lines, places) != (12, 1):
        raise RuntimeError(f"{lines} lines record, {places} make place for it: look at the source")
    made = types.ModuleType("without_recording")
    exec(compile(source, made.__name__, "exec"), made.__dict__)
    return made


def with_and_without_reasons(name: str, nodes: int) -> dict[str, Any]:
    """Seconds of the fuser as it is, and without the lines that record."""
    graph, bare = family(name, nodes), without_recording()
    groups = partition(graph).groups
    if bare.group_quickly(graph, MAX_DEPTH).groups != groups:
        raise RuntimeError("the groups differ")
    del groups
    sides = {
        "tvmlab": lambda: len(bare.group_quickly(afresh(graph), MAX_DEPTH).groups),
        "reasons": lambda: ours(afresh(graph)),
    }
    return interleaved(sides, 5)


def against_networkx(name: str, nodes: int) -> dict[str, Any]:
    """Seconds of both sides on one graph."""
    import networkx as nx

    graph = family(name, nodes)
    reverse = nx.DiGraph()
    end = len(graph)
    reverse.add_nodes_from(range(end + 1))
    reverse.add_edges_from(zip(graph.consumers.tolist(), graph.producers.tolist(), strict=True))
    leaving = [node for node, (a, b) in enumerate(pairs(graph)) if a == b or graph.external[node]]
    reverse.add_edges_from((end, node) for node in leaving)
    sides = {"tvmlab": lambda: ours(afresh(graph)), "networkx": lambda: nx.immediate_dominators(reverse, end)}
    return interleaved(sides, 3 if nodes <= 100_000 and name != "comb" else 1)


def pairs(graph: Graph) -> list[tuple[int, int]]:
    """Where the readers of each node start and end."""
    return list(itertools.pairwise(graph.reader_starts.tolist()))


def against_fuse_ops(name: str, nodes: int) -> dict[str, Any]:
    """Seconds of both sides on one graph, and whether they make as many kernels."""
    from tvm import relax

    from tvmlab import runtime
    from tvmlab.pipeline.abstract import fuse_ops, module_of_graph

    whole = family(name, nodes)
    unread = [node for node, (a, b) in enumerate(pairs(whole)) if a == b]
    kinds, inputs = FAMILIES[name](nodes, random.Random(0))
    graph = Graph.from_kinds(kinds, inputs, unread)
    with runtime.quiet():
        module = module_of_graph(graph, share_kernels=True)
        made: list[Any] = []
        fuse_ours: list[int] = []
        sides = {
            "tvmlab": lambda: fuse_ours.append(ours(afresh(graph))),
            "FuseOps": lambda: made.append(fuse_ops(module)),
        }
        times: dict[str, Any] = interleaved(sides, 1 if name in ("fan", "comb") else 3)
    bindings = [b for block in made[0]["main"].body.blocks for b in block.bindings]
    times["kernels"] = [fuse_ours[0], sum(isinstance(b.value, relax.Call) for b in bindings)]
    return times


CELLS = {
    "growth": growth,
    "reasons": with_and_without_reasons,
    "networkx": against_networkx,
    "FuseOps": against_fuse_ops,
}


def cell(what: str, name: str, nodes: int, timeout: float = 200) -> dict[str, Any]:
    """Run a cell in a process of its own."""
    command = [sys.executable, __file__, "--cell", what, name, str(nodes)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {timeout:.0f} s"}
    if done.returncode:
        died = done.returncode < 0
        return {"failed": signal.Signals(-done.returncode).name if died else done.stderr.strip().splitlines()[-1]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Fill the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", nargs=3, metavar=("WHAT", "FAMILY", "NODES"), help=argparse.SUPPRESS)
    parser.add_argument("--families", nargs="+", choices=SCALED, default=SCALED)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=2, help="how often growth is measured; default 2")
    parser.add_argument("--quick", action="store_true", help="a tenth of all sizes, to see that all works")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.cell:
        what, name, nodes = options.cell
        print(json.dumps(CELLS[what](name, int(nodes))))
        return
    about = machine()
    print(*about.values(), sep=", ", flush=True)
    scale = 10 if options.quick else 1
    table: dict[str, dict[str, Any]] = {name: {} for name in options.families}
    for part in options.parts:
        for name in options.families:
            if part == "growth":
                table[name][part] = grown(name, (10_000 // scale, 1_000_000 // scale), options.rounds)
            elif part == "FuseOps":
                table[name][part] = against_tvm(name, 20_000 // scale)
            elif part == "networkx":
                table[name][part] = as_large_as_possible(name, 1_000_000 // scale)
            else:
                table[name][part] = versus(part, name, 1_000_000 // scale)
            if options.json:
                options.json.write_text(json.dumps({"machine": about, "families": table}, indent=1), encoding="utf-8")


def machine() -> dict[str, str]:
    """Where this was measured."""
    cpu = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    packages = {name: metadata.version(name) for name in ("numpy", "networkx", "apache-tvm")}
    return {
        "cpu": f"{cpu} ({psutil.cpu_count()} processors)",
        "system": platform.system(),
        "python": f"Python {platform.python_version()}",
        **{name: f"{name} {number}" for name, number in packages.items()},
    }


def _lines(file: str) -> list[str]:
    path = Path(file)
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def grown(name: str, sizes: tuple[int, int], rounds: int) -> dict[str, Any]:
    """The growth of one family, both sizes in every round; printed as it is made."""
    cells = [[cell("growth", name, nodes) for nodes in sizes] for _ in range(rounds)]
    exponents = [
        math.log(statistics.median(large["seconds"]) / statistics.median(small["seconds"]))
        / math.log(sizes[1] / sizes[0])
        for small, large in cells
    ]
    medians = [statistics.median([s for pair in cells for s in pair[at]["seconds"]]) for at in (0, 1)]
    exponent = math.log(medians[1] / medians[0]) / math.log(sizes[1] / sizes[0])
    memory = cells[0][1]
    print(
        f"{name:12} growth    {sizes[0]:,}: {1e3 * medians[0]:.2f} ms, {sizes[1]:,}: {medians[1]:.3f} s, "
        f"exponent {exponent:.3f} ({min(exponents):.3f} to {max(exponents):.3f}), "
        f"bytes a node {memory['bytes_per_node']:.0f} (peak {memory['peak_bytes_per_node']:.0f})",
        flush=True,
    )
    return {"sizes": sizes, "medians": medians, "exponent": exponent, "exponents": exponents, "cells": cells}


def as_large_as_possible(name: str, nodes: int) -> dict[str, Any]:
    """Against networkx, at a tenth of the size where it is not done within the bound."""
    found = versus("networkx", name, nodes, BOUND)
    while "failed" in found and nodes > 1000:
        nodes //= 10
        found = versus("networkx", name, nodes, BOUND)
    return found


def against_tvm(name: str, nodes: int) -> dict[str, Any]:
    """Against FuseOps; where that dies, at half the size too."""
    found = versus("FuseOps", name, nodes)
    return {**found, "half": versus("FuseOps", name, nodes // 2)} if "failed" in found else found


def versus(what: str, name: str, nodes: int, timeout: float = 200) -> dict[str, Any]:
    """One comparison; printed as it is made."""
    times = cell(what, name, nodes, timeout)
    start = f"{name:12} {what:9} {nodes:,}: "
    if "failed" in times:
        print(f"{start}{times['failed']}", flush=True)
        return {"nodes": nodes, **times}
    ratios = sorted(b / a for a, b in zip(times["tvmlab"], times[what], strict=True))
    middle = statistics.median(ratios)
    kernels = times.get("kernels")
    same = "" if kernels is None else f", kernels {kernels[0]} and {kernels[1]}"
    print(
        f"{start}{statistics.median(times[what]):.4f} s against {statistics.median(times['tvmlab']):.4f} s, "
        f"ratio {middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}){same}",
        flush=True,
    )
    return {"nodes": nodes, **times, "ratio": middle}


if __name__ == "__main__":
    main()
