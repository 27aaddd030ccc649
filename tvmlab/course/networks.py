"""The graphs of the nine networks that come with the onnx package, as FuseOps sees them.

Making them takes half a minute, so they are kept in a file: kinds and edges alone, since nothing else counts.  Their
groups are in no file; TVM is asked for them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import numpy as np

from tvmlab.fusion import Graph

__all__ = ["NETWORKS", "graph_from_data", "graph_of_network", "network_graphs", "to_data"]

NETWORKS = (
    "squeezenet", "bvlc_alexnet", "zfnet512", "vgg19", "inception_v1", "resnet50", "shufflenet", "inception_v2",
    "densenet121",
)  # fmt: skip
"""The small ones first."""


def network_graphs(_random: np.random.Generator) -> Iterator[Graph]:
    """All nine, from the file."""
    return (graph_from_data(name, kept) for name, kept in _kept().items())


def graph_of_network(name: str) -> Graph:
    """A network's graph, made anew: cleaned up by tvmlab, legalized, annotated."""
    from tvmlab.pipeline import load, stages
    from tvmlab.pipeline.relax_reader import read_relax

    imported = stages.import_model(load(f"light_{name}.onnx"), "tvmlab")
    return read_relax(stages.annotate(stages.legalize(imported.module)), imported.provenance).graph


def to_data(graph: Graph) -> dict[str, Any]:
    """A graph as plain data."""
    inputs: list[list[int]] = [[] for _ in graph.kinds]
    for edge in graph.edges():
        inputs[edge.consumer].append(edge.producer)
    external = [node for node, escapes in enumerate(graph.external) if escapes]
    return {"kinds": "".join(map(str, graph.kinds)), "inputs": inputs, "external": external}


def graph_from_data(name: str, kept: dict[str, Any]) -> Graph:
    """The graph of such data; its nodes are called after the network."""
    labels = [f"{name}:{node}" for node in range(len(kept["kinds"]))]
    return Graph.from_kinds(map(int, kept["kinds"]), kept["inputs"], kept["external"], labels=labels)


@functools.cache
def _kept() -> dict[str, Any]:
    text = resources.files("tvmlab.course").joinpath("networks.json").read_text(encoding="utf-8")
    kept: dict[str, Any] = json.loads(text)
    return kept
