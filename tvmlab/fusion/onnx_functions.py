"""From a partition back to ONNX: a model in which each group is one function, and calls of them are all there is.

Any tool that reads ONNX can show such a model, and any runtime that knows functions can run it: that its values are
those of the model it was made of proves that the groups are sound.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx
from onnx import helper

from tvmlab.errors import GraphError
from tvmlab.fusion.grouping import Grouping
from tvmlab.fusion.onnx_graph import OnnxGraph, reads
from tvmlab.fusion.onnx_reader import OnnxReading, read_onnx
from tvmlab.fusion.partition import partition
from tvmlab.records import Partition

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, NodeProto, ValueInfoProto

__all__ = ["DOMAIN", "as_functions"]

DOMAIN = "tvmlab.fused"
"""The operator set of the functions; with a number behind it if the model has one of that name."""

_FUNCTIONS_SINCE_IR = 8
_LONGEST_NAME = 60


def as_functions(source: Any, groups: Grouping | Partition | Iterable[Iterable[int | str]] | None = None) -> ModelProto:
    """Write each group of nodes as a function of the model, and its graph as calls of them.

    Parameters
    ----------
    source : path, str, bytes, ModelProto or OnnxReading
        The model; it is not changed.
    groups : Grouping, Partition or lists of node numbers, optional
        Groups of the model's own nodes, that is, on the level ``"onnx"``; numbers are those of `OnnxReading.nodes`, and
        labels do as well.
        A node in none of the lists is a group of its own.  Default: what `tvmlab.fusion.partition` says.

    Returns
    -------
    ModelProto
        Its functions are in the operator set `DOMAIN`.  Leaves (``Constant`` nodes) stay in the graph.  Weights in
        files of their own stay there: save it in the folder of the model.

    Raises
    ------
    LoadError
        `source` is no model.
    GraphError
        The groups are not of this model or overlap; a group reads what is made of its own values outside of it, so
        that no order of calls exists; or an output's type is nowhere to be found.
    """
    reading = source if isinstance(source, OnnxReading) else read_onnx(source)
    lists = _lists(reading, groups)
    units = _in_order(_units(reading, lists), reading)
    domain = _fresh_domain(reading.model)
    made = onnx.ModelProto()
    made.CopyFrom(_shell(reading.model))
    made.opset_import.add(domain=domain, version=1)
    repeated = {name for name, count in Counter(node.name for node in reading.view.nodes).items() if count > 1}
    for unit in units:
        if not unit.function:
            made.graph.node.extend(unit.nodes)
            continue
        body = [_named(node, name, repeated) for node, name in zip(unit.nodes, unit.labels, strict=True)]
        made.functions.append(_function(unit, body, domain, reading.model))
        call = helper.make_node(unit.function, unit.inputs, unit.outputs, name=unit.function, domain=domain)
        made.graph.node.append(call)
    _fill_graph(made, reading, {name for unit in units for name in unit.outputs})
    return made


@dataclass(frozen=True)
class _Unit:
    """What becomes one node: a group, or a leaf (`function` is empty then)."""

    function: str
    nodes: tuple[NodeProto, ...]
    labels: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def _lists(reading: OnnxReading, given: Any) -> list[list[int]]:
    """The groups, each ascending, of all nodes."""
    if isinstance(given, Partition):
        if given.level != "onnx" or not isinstance(given.grouping, Grouping):
            raise GraphError(
                f"this partition is one of {given.level} nodes, not of the ONNX model's",
                mend='make it with tl.fuse(model, level="onnx")',
            )
        given = given.grouping
    if given is None:
        return partition(reading.graph).groups
    if isinstance(given, Grouping):
        if given.graph.labels != reading.graph.labels:
            raise GraphError("the groups are of another model", mend="read this model, and partition its graph")
        return given.groups
    groups = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if groups is None or any(isinstance(group, str) or not isinstance(group, Iterable) for group in groups):
        raise GraphError(f"{given!r} is no list of groups", mend="give a list of lists of nodes, such as [[0, 1], [2]]")
    lists = [group for group in (sorted(map(reading.graph.index, group)) for group in groups) if group]
    counted = Counter(node for group in lists for node in group)
    count = len(reading.nodes)
    for node, times in counted.items():
        if times > 1:
            raise GraphError(
                f"node {reading.graph.label(node)!r} is in {times} groups", mend="a node can be in one group alone"
            )
    return [*lists, *([node] for node in range(count) if node not in counted)]


def _units(reading: OnnxReading, lists: list[list[int]]) -> list[_Unit]:
    """The groups with what each reads and what of it is read outside, and the leaves."""
    readers = reading.view.readers()
    units = []
    for number, group in enumerate(lists):
        nodes = tuple(reading.nodes[node] for node in group)
        made = dict.fromkeys(name for node in nodes for name in node.output if name)
        inside = Counter(name for node in nodes for name in reads(node))
        inputs = tuple(name for name in inside if name not in made)
        outputs = tuple(name for name in made if readers[name] > inside[name])
        outputs = outputs or tuple(filter(None, nodes[-1].output))[:1]  # nobody reads it, but a call has a result
        title = "_".join(node.op_type for node in nodes)[:_LONGEST_NAME]
        labels = tuple(reading.graph.label(node) for node in group)
        units.append(_Unit(f"fused_{title}_{number}", nodes, labels, inputs, outputs))
    grouped = set(map(id, reading.nodes))
    leaves = [node for node in reading.view.nodes if id(node) not in grouped]
    units += [
        _Unit("", (node,), (), tuple(dict.fromkeys(reads(node))), tuple(filter(None, node.output))) for node in leaves
    ]
    return units


def _in_order(units: list[_Unit], reading: OnnxReading) -> list[_Unit]:
    """The units, each after those that it reads from."""
    makers = {name: at for at, unit in enumerate(units) for node in unit.nodes for name in node.output if name}
    place = {name: at for at, node in enumerate(reading.view.nodes) for name in node.output if name}
    needs = [{makers[name] for name in unit.inputs if name in makers} for unit in units]
    waits = [len(needed) for needed in needs]
    next_units: list[list[int]] = [[] for _ in units]
    for at, needed in enumerate(needs):
        for before in needed:
            next_units[before].append(at)
    ranks = [max((place[name] for node in unit.nodes for name in node.output if name), default=-1) for unit in units]
    ready = [(ranks[at], at) for at, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, at = heapq.heappop(ready)
        order.append(at)
        for after in next_units[at]:
            waits[after] -= 1
            if not waits[after]:
                heapq.heappush(ready, (ranks[after], after))
    if len(order) < len(units):
        raise _hole(units, needs, waits)
    return [units[at] for at in order]


def _hole(units: list[_Unit], needs: list[set[int]], waits: list[int]) -> GraphError:
    """The error about groups that wait for each other."""
    at = next(at for at, count in enumerate(waits) if count)
    seen: list[int] = []
    while at not in seen:  # every unit that waits, waits for one that waits
        seen.append(at)
        at = next(before for before in sorted(needs[at]) if waits[before])
    cycle = seen[seen.index(at) :]
    large = next(at for at in cycle if len(units[at].nodes) > 1)
    others = [label for at in cycle if at != large for label in units[at].labels]
    return GraphError(
        f"the group of {', '.join(map(repr, units[large].labels[:6]))} has a hole: "
        f"{', '.join(map(repr, others[:6]))} reads from it, and is read by it",
        where=f"node {units[large].labels[0]!r}",
        mend="put the nodes between into the group, or take it apart there",
    )


def _fresh_domain(model: ModelProto) -> str:
    taken = {opset.domain for opset in model.opset_import} | {function.domain for function in model.functions}
    domain, number = DOMAIN, 1
    while domain in taken:
        number += 1
        domain = f"{DOMAIN}.{number}"
    return domain


def _shell(model: ModelProto) -> ModelProto:
    """The model without its graph."""
    shell = onnx.ModelProto(
        ir_version=max(model.ir_version, _FUNCTIONS_SINCE_IR),
        producer_name="tvmlab",
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        opset_import=model.opset_import,
        functions=model.functions,
        metadata_props=model.metadata_props,
    )
    shell.graph.name = model.graph.name or "graph"
    return shell


def _function(unit: _Unit, body: list[NodeProto], domain: str, model: ModelProto) -> FunctionProto:
    return helper.make_function(domain, unit.function, unit.inputs, unit.outputs, body, model.opset_import)


def _named(node: NodeProto, name: str, repeated: set[str]) -> NodeProto:
    """The node, under its label if its name is not its own."""
    if node.name and node.name not in repeated:
        return node
    renamed = onnx.NodeProto()
    renamed.CopyFrom(node)
    renamed.name = name
    return renamed


def _fill_graph(made: ModelProto, reading: OnnxReading, written: set[str]) -> None:
    """Give the graph all but its nodes."""
    source, view, graph = reading.model.graph, reading.view, made.graph
    graph.doc_string = source.doc_string
    graph.initializer.extend(source.initializer)
    graph.sparse_initializer.extend(source.sparse_initializer)
    # Before IR version 4, initializers had to be inputs too, and were constants; now that would make them defaults.
    graph.input.extend(i for i in source.input if i.name not in view.constants or i.name in view.overridable)
    graph.output.extend(_with_type(output, reading) for output in view.outputs)
    outputs = view.output_names
    graph.value_info.extend(i for i in source.value_info if i.name in written and i.name not in outputs)


def _with_type(output: ValueInfoProto, reading: OnnxReading) -> ValueInfoProto:
    """An output with a declared type, as is asked for of every graph output."""
    declared = output.type
    if declared.WhichOneof("value") not in (None, "tensor_type"):
        return output
    if declared.tensor_type.elem_type and declared.tensor_type.HasField("shape"):
        return output
    shape, dtype = reading.shapes.get(output.name), declared.tensor_type.elem_type or reading.dtypes.get(output.name)
    if shape is None or not dtype:
        label = _maker(reading.view, output.name)
        raise GraphError(
            f"the output {output.name!r} has no declared {'shape' if dtype else 'type'}, and none can be inferred",
            where=label,
            mend="declare it in the model",
        )
    return helper.make_tensor_value_info(output.name, dtype, shape)


def _maker(view: OnnxGraph, name: str) -> str:
    found = next((node for node in view.nodes if name in node.output), None)
    return f"node {found.name or name!r} ({found.op_type})" if found else f"output {name!r}"
