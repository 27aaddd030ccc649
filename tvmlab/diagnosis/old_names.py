"""Names of older TVMs, as articles, books and answers on the web still write them, and what 0.27 has instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MODULES", "WORDS", "rows"]

MODULES: tuple[tuple[str, str, str, str], ...] = (
    ("tvm", "relay", "Relay gave way to Relax, relay.build to tvm.compile", "from tvm import relax"),
    ("tvm", "tir", "tvm.tir is tvm.tirx", "from tvm import tirx"),
    ("tvm.script", "tir", "tvm.script.tir is tvm.script.tirx", "from tvm.script import tirx as T"),
    ("tvm", "nd", "tvm.nd.array is tvm.runtime.tensor", "tvm.runtime.tensor(array)"),
    ("tvm", "register_func", "it is register_global_func", 'tvm.register_global_func("my.name", function)'),
    ("tvm", "get_global_function", "it is get_global_func", 'tvm.get_global_func("my.name")'),
    ("tvm", "lower", "make a PrimFunc and schedule it", "tvm.s_tir.Schedule(te.create_prim_func([x, y]))"),
    ("tvm", "create_schedule", "make a PrimFunc and schedule it", "tvm.s_tir.Schedule(te.create_prim_func([x, y]))"),
    ("tvm.te", "create_schedule", "use tvm.s_tir.Schedule", "tvm.s_tir.Schedule(te.create_prim_func([x, y]))"),
    ("tvm.te", "schedule", "use tvm.s_tir.Schedule", "tvm.s_tir.Schedule(te.create_prim_func([x, y]))"),
    ("tvm", "_ffi", "it is the package tvm_ffi", "from tvm_ffi.dataclasses import py_class"),
    ("tvm", "dlight", "it is tvm.s_tir.dlight", "from tvm.s_tir import dlight"),
    ("tvm", "meta_schedule", "it is tvm.s_tir.meta_schedule; tl.tune uses it", "tl.tune(model, trials=64)"),
    ("tvm", "autotvm", "it gave way to MetaSchedule; tl.tune uses it", "tl.tune(model, trials=64)"),
    ("tvm", "auto_scheduler", "it gave way to MetaSchedule; tl.tune uses it", "tl.tune(model, trials=64)"),
    ("tvm", "arith", "it is tvm.sym", "from tvm.sym import Analyzer"),
    ("tvm.contrib", "graph_executor", "Relax has a virtual machine", "relax.VirtualMachine(built, tvm.cpu())"),
    ("tvm.contrib", "graph_runtime", "Relax has a virtual machine", "relax.VirtualMachine(built, tvm.cpu())"),
    ("tvm.topi", "generic", "TOPI has no schedules now", "tvm.s_tir.Schedule(te.create_prim_func([x, y]))"),
    ("tvm.ir", "structural_equal", "it is in tvm_ffi", "from tvm_ffi import structural_equal"),
    ("tvm.tirx", "Schedule", "it is tvm.s_tir.Schedule", "tvm.s_tir.Schedule(module)"),
    ("tvm.tirx.script", "block", "T.block is T.sblock", 'with T.sblock("name"): …'),
    ("tvm.relax", "TensorStructInfo", "struct infos are types now", 'relax.TensorType((2, 3), "float32")'),
    ("tvm.relax", "StructInfo", "struct infos are types now", 'relax.TensorType((2, 3), "float32")'),
    ("tvm.relax", "TupleStructInfo", "struct infos are types now", "relax.TupleType(fields)"),
    ("tvm.relax", "ShapeStructInfo", "struct infos are types now", "relax.ShapeType(…)"),
    ("tvm.runtime.vm", "build", "relax.vm.build is relax.build", "tvm.compile(module, target)"),
    ("tvm.relax", "vm", "relax.vm.build is relax.build", "tvm.compile(module, target)"),
    ("tvm.relax.transform", "InferType", "calls have types from the start", "relax.transform.Normalize()(module)"),
)
"""Module, name, what became of it, and what to write."""

WORDS: tuple[tuple[str, str, str, str], ...] = (
    (r"object has no attribute 'struct_info_?'", "struct_info", "struct infos are types now", "x.ty"),
    (r"object has no attribute '_?checked_type_?'", "checked_type", "calls have their type in ty", "x.ty"),
    (r"'Schedule' object has no attribute 'get_block'", "get_block", "blocks are s-blocks", 'sch.get_sblock("name")'),
    (r"object has no attribute 'asnumpy'", "asnumpy", "it is numpy", "tensor.numpy()"),
    (r"'VirtualMachine' object has no attribute 'run'", "GraphModule.run", "call main", 'machine["main"](x)'),
    (
        r"'VirtualMachine' object has no attribute 'get_output'",
        "GraphModule.get_output",
        "a call returns the values",
        'machine["main"](x).numpy()',
    ),
    (r"unexpected keyword argument 'out_sinfo'", "out_sinfo", "it is out_ty", "relax.call_tir(f, args, out_ty=…)"),
    (r"unexpected keyword argument 'sinfo_args'", "sinfo_args", "it is ty_args", "relax.Call(op, args, ty_args=[…])"),
    (r"unexpected keyword argument 'struct_info'", "struct_info", "it is the type, by position", 'relax.Var("x", ty)'),
    (
        r"Cannot find attribute FInferStructInfo",
        "FInferStructInfo",
        "it is FInferType",
        'op.set_attr("FInferType", rule)',
    ),
)
"""A text that Python writes about an old word, the word, what became of it, and what to write."""


def rows() -> Iterator[tuple[str, str, str, str]]:
    """For the table of rules: a regular expression, the old name, what became of it, and what to write."""
    for module, name, became, code in MODULES:
        m, n = re.escape(module), re.escape(name)
        text = rf"module '{m}' has no attribute '{n}'|No module named '{m}\.{n}\b|cannot import name '{n}' from '{m}'"
        yield text, f"{module}.{name}", became, code
    yield from WORDS
