"""Child of `tvmlab.measure.advice`: evaluates an operator and candidates for it on sets of inputs, one at a time.

It runs as a process of its own, since some of TVM's operators end the process for inputs they were not made for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import runtime
from tvmlab.errors import TvmlabError
from tvmlab.measure.candidates import Candidate
from tvmlab.measure.ulp import compare
from tvmlab.pipeline import stages
from tvmlab.runtime.children import requests

Sets = list[tuple[NDArray[Any], ...]]


def main() -> None:
    """Answer requests until the parent is gone."""
    arrived, reply = requests()
    sets: Sets = []
    wanted: Sets = []
    for message in arrived:
        if "sets" in message:
            sets = _read(message["sets"], message["count"])
            wanted = _evaluate(_module_of_json(message["module"]), sets)
            reply({"elements": sum(a.size for outputs in wanted for a in outputs)})
            continue
        try:
            reply(_judge(message, sets, wanted))
        except Exception as error:  # noqa: BLE001 - most candidates refuse, each in its own way
            reply({"refused": f"{type(error).__name__}: {error}"[:300]})


def _read(path: str, count: int) -> Sets:
    with np.load(path) as stored:
        tensors = len(stored.files) // count
        return [tuple(stored[f"{i}_{j}"] for j in range(tensors)) for i in range(count)]


def _module_of_json(text: str) -> Any:
    import tvm

    return tvm.ir.load_json(text)


def _evaluate(module: Any, sets: Sets) -> Sets:
    executable = runtime.compile_module(module)
    found = []
    for arrays in sets:
        result = executable.run(*arrays)
        found.append(tuple(np.array(a) for a in (result if isinstance(result, tuple) else (result,))))
    return found


def _judge(message: dict[str, Any], sets: Sets, wanted: Sets) -> dict[str, Any]:
    """How far a candidate is from the operator, for each set; what has another type is not compiled."""
    module = _module_of_json(message["module"]) if "module" in message else _module(message, sets[0])
    types = [(tuple(a.shape), str(a.dtype)) for a in wanted[0]]
    if _result_types(module) != types:
        return {"refused": "its result has another type"}
    got = _evaluate(stages.legalize(module) if "module" not in message else module, sets)
    return {"sets": [_worst(want, given) for want, given in zip(wanted, got, strict=True)]}


def _module(message: dict[str, Any], arrays: tuple[NDArray[Any], ...]) -> Any:
    from tvm import relax

    candidate = Candidate(message["library"], message["name"], tuple(message["order"]), message["arguments"])
    inputs = [relax.Var(f"x{i}", relax.TensorType(a.shape, str(a.dtype))) for i, a in enumerate(arrays)]
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(candidate.emit(builder, inputs))
        builder.emit_func_output(result)
    return builder.get()


def _result_types(module: Any) -> list[tuple[tuple[int, ...], str]]:
    from tvm import relax

    kind = module["main"].ret_ty
    fields = kind.fields if isinstance(kind, relax.TupleType) else [kind]
    return [(tuple(int(d) for d in f.shape or ()), str(f.dtype)) for f in fields]


def _worst(want: tuple[NDArray[Any], ...], got: tuple[NDArray[Any], ...]) -> dict[str, Any]:
    errors = [compare(w, g) for w, g in zip(want, got, strict=True)]
    worst = max(errors, key=lambda e: (e.non_finite, e.relative))
    return {
        "exact": all(np.array_equal(w, g, equal_nan=w.dtype.kind == "f") for w, g in zip(want, got, strict=True)),
        "non_finite": worst.non_finite,
        "relative": worst.relative,
        "ulp": max(e.max_ulp for e in errors),
    }


if __name__ == "__main__":
    try:
        main()
    except TvmlabError as error:
        raise SystemExit(error.what) from error
