"""Is the fuser equal to TVM's FuseOps on every graph?

Random graphs, unstructured and of every family, with every kind that Relax knows, and limits of the group size from 1
to 10 and 256: each is partitioned by `tvmlab.fusion.partition`, by the literal account and by TVM.  Graphs with tuples,
which Relax never makes a kind of, are partitioned by the first two.  Ends with 1 if any differ.

    python benchmarks/fusion_differential.py [--graphs 50000] [--seed 0] [--json FILE]

For every five graphs that TVM partitions too there is one more with tuples.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

from tvmlab import fusion
from tvmlab.fusion.families import FAMILIES
from tvmlab.pipeline.abstract import groups_by_tvm

literally = importlib.import_module("tvmlab.fusion.partition").literally
RELAX_KINDS = (0, 0, 0, 1, 1, 2, 2, 3, 4, 8)
ALL_KINDS = (*RELAX_KINDS, 7, 7)


def random_graph(rng: random.Random, kinds: tuple[int, ...]) -> tuple[str, fusion.Graph]:
    """A graph, and what sort it is."""
    if rng.random() < 0.5:
        name, nodes, back = "unstructured", rng.randint(1, 24), rng.choice((2, 3, 6, 24))
        inputs = [
            [rng.randint(max(-1, node - back), node - 1) for _ in range(rng.randint(1, 3))] for node in range(nodes)
        ]
    else:
        name = rng.choice(list(FAMILIES))
        inputs = FAMILIES[name](rng.randint(2, 40), rng)[1]
    read = {operand for operands in inputs for operand in operands}
    external = [node for node in range(len(inputs)) if node not in read or rng.random() < 0.03]
    return name, fusion.Graph.from_kinds(rng.choices(kinds, k=len(inputs)), inputs, external)


def main() -> int:
    """Compare, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    sorts: Counter[str] = Counter()
    figures = {"graphs": 0, "by_tvm": 0, "with_tuples": 0, "with_merges": 0, "largest_group": 0, "differences": 0}
    started = time.perf_counter()
    for number in range(options.graphs * 6 // 5):
        with_tuples = number % 6 == 5
        name, graph = random_graph(rng, ALL_KINDS if with_tuples else RELAX_KINDS)
        max_depth = rng.choice((*range(1, 11), 256, 256, 256))
        groups = fusion.partition(graph, max_depth).groups
        equal = groups == literally(graph, max_depth)
        equal = equal and (with_tuples or groups == groups_by_tvm(graph, max_depth))
        sorts[name] += 1
        figures["graphs"] += 1
        figures["by_tvm"] += not with_tuples
        figures["with_tuples"] += with_tuples
        figures["with_merges"] += len(groups) < len(graph)
        figures["largest_group"] = max(figures["largest_group"], *map(len, groups))
        if not equal:
            figures["differences"] += 1
            print(
                f"different: {name}, kinds {list(graph.kinds)}, edges {[tuple(e) for e in graph.edges()]}, {max_depth}"
            )
    figures["seconds"] = round(time.perf_counter() - started, 1)
    print(json.dumps({**figures, "sorts": dict(sorts)}, indent=1))
    if options.json:
        options.json.write_text(json.dumps({**figures, "sorts": dict(sorts)}, indent=1), encoding="utf-8")
    return 1 if figures["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
