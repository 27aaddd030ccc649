"""C01: the operator is known to TVM under its name, which nobody else uses, and says what it is."""

from __future__ import annotations

import tvm

from tvmlab import ops, tvm_api
from tvmlab.checks.outcome import Outcome, failed, ok, warning
from tvmlab.checks.subject import Subject
from tvmlab.errors import TvmlabError
from tvmlab.ops.naming import split_name
from tvmlab.ops.registry import refuse_taken


def run(subject: Subject) -> Outcome:
    """Look the name up everywhere it should be."""
    op = subject.op
    try:
        refuse_taken(op.name)
    except TvmlabError as error:
        return failed(error.what, error.mend, error.where)
    namespace, _ = split_name(op.name)
    missing = [
        where
        for where, there in (
            (f"TVM's operator {op.full_name}", tvm_api.is_registered(op.full_name)),
            (f"the global function topi.{op.name}", _has_function(op.name)),
            (f"R.{namespace} of TVMScript", all(hasattr(m, namespace) for m in tvm_api.script_modules())),
            (f"tl.ops.{op.name}", op.name in ops.live_names()),
        )
        if not there
    ]
    if missing:
        return failed(f"{missing[0]} is not there", "run the cell again; %unload_ext takes these names away")
    if not op.spec.doc:
        return warning("it has no docstring", "write one line under %%tvm_op that says what it does, in triple quotes")
    return ok(f"{op.full_name}, topi.{op.name} and R.{op.name} are its own, and it says what it is")


def _has_function(name: str) -> bool:
    return tvm.get_global_func(f"topi.{name}", allow_missing=True) is not None
