"""How does the fuser grow, and how does it compare with networkx and with TVM's FuseOps?

For each family of graphs: seconds of the whole partition (post-dominators, three phases, groups, reasons) at 10,000,
100,000 and 1,000,000 nodes and the exponent of its growth; memory a node; against `networkx.immediate_dominators` alone
on the same graph, and against TVM's FuseOps on a Relax module of that graph (which also rewrites the module), each pair
interleaved in one process.  Every cell of the table is a process of its own, so that a crash is only a cell.

    python benchmarks/fusion_scale.py [--families chain fan] [--networkx-at-a-million] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tvmlab.fusion import Graph, partition
from tvmlab.fusion.families import FAMILIES, family

SIZES = (10_000, 100_000, 1_000_000)
FUSE_OPS_NODES = 20_000
# networkx and TVM climb the comb step by step, which takes minutes and more on larger ones.
NETWORKX_NODES = {"comb": 10_000}
SCALED = [name for name in FAMILIES if name != "series-parallel"]  # building a large one takes minutes


def seconds(action: Callable[[], Any]) -> float:
    """Time one call."""
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
    del found
    times = interleaved({"tvmlab": lambda: ours(graph)}, 9 if nodes <= 10_000 else 5 if nodes <= 100_000 else 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "groups": groups,
        "seconds": times["tvmlab"],
        "bytes_per_node": (after - before) / len(kinds),
        "peak_bytes_per_node": (peak - before) / len(kinds),
    }


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
    sides = {"tvmlab": lambda: ours(graph), "networkx": lambda: nx.immediate_dominators(reverse, end)}
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
            "tvmlab": lambda: fuse_ours.append(ours(graph)),
            "FuseOps": lambda: made.append(fuse_ops(module)),
        }
        times: dict[str, Any] = interleaved(sides, 1 if name in ("fan", "comb") else 3)
    bindings = [b for block in made[0]["main"].body.blocks for b in block.bindings]
    times["kernels"] = [fuse_ours[0], sum(isinstance(b.value, relax.Call) for b in bindings)]
    return times


CELLS = {"growth": growth, "networkx": against_networkx, "FuseOps": against_fuse_ops}


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
    parser.add_argument("--networkx-at-a-million", action="store_true", help="minutes, and gigabytes")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.cell:
        what, name, nodes = options.cell
        print(json.dumps(CELLS[what](name, int(nodes))))
        return
    table = {name: row(name, options.networkx_at_a_million) for name in options.families}
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), encoding="utf-8")


def row(name: str, at_a_million: bool) -> dict[str, Any]:
    """One family; printed as it is made."""
    sizes = {nodes: cell("growth", name, nodes) for nodes in SIZES}
    best = [min(sizes[nodes]["seconds"]) for nodes in SIZES]
    exponent = math.log(best[-1] / best[0]) / math.log(SIZES[-1] / SIZES[0])
    memory = sizes[SIZES[-1]]
    bytes_a_node = f"{memory['bytes_per_node']:.0f}, peak {memory['peak_bytes_per_node']:.0f}"
    print(
        f"{name:12} {'  '.join(f'{nodes:>9,}: {s:7.4f} s' for nodes, s in zip(SIZES, best, strict=True))}"
        f"  exponent {exponent:.2f}  bytes a node {bytes_a_node}",
        flush=True,
    )
    peers = {}
    nodes = NETWORKX_NODES.get(name, SIZES[-1] if at_a_million else 100_000)
    for what, size in (("networkx", nodes), ("FuseOps", FUSE_OPS_NODES)):
        peers[what] = versus(what, name, size)
    if "failed" in peers["FuseOps"]:
        peers["FuseOps, half the nodes"] = versus("FuseOps", name, FUSE_OPS_NODES // 2)
    return {"growth": sizes, "exponent": exponent, "peers": peers}


def versus(what: str, name: str, nodes: int) -> dict[str, Any]:
    """One comparison; printed as it is made."""
    times = cell(what, name, nodes)
    if "failed" in times:
        print(f"{'':12} {what} at {nodes:,}: {times['failed']}", flush=True)
        return {"nodes": nodes, **times}
    ratios = sorted(b / a for a, b in zip(times["tvmlab"], times[what], strict=True))
    middle = ratios[len(ratios) // 2]
    spread = f" ({ratios[0]:.1f} to {ratios[-1]:.1f})" if len(ratios) > 1 else ""
    kernels = times.get("kernels")
    same = "" if kernels is None else f", kernels {kernels[0]} and {kernels[1]}"
    print(
        f"{'':12} {what} at {nodes:,}: {min(times[what]):.4f} s against {min(times['tvmlab']):.4f} s, "
        f"{middle:.1f} times as long{spread}{same}",
        flush=True,
    )
    return {"nodes": nodes, **times, "ratio": middle}


if __name__ == "__main__":
    main()
