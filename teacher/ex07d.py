"""What only teachers see of 07d."""

from __future__ import annotations

from tvmlab.course.exercises.ex07d import CASES, fuses

SOLUTION = '''
import tvm
from tvm import tirx
from tvm.relax.dpl import is_op, wildcard

passes = relax.transform

def mend(case, module):
    """The module with a single call in main."""
    if case == "not legalized":
        return passes.FuseOps()(passes.AnnotateTIROpPattern()(passes.LegalizeOps()(module)))
    if case == "no kinds":
        return passes.FuseOps()(passes.AnnotateTIROpPattern()(module))
    if case == "no dataflow":
        return passes.FuseOps()(passes.ConvertToDataflow()(module))
    if case == "emitted":
        return passes.FuseOps()(passes.CanonicalizeBindings()(module))
    if case == "opaque":
        bare = tvm.IRModule({
            v: f.without_attr("op_pattern") if isinstance(f, tirx.PrimFunc) else f
            for v, f in module.functions.items()
        })
        return passes.FuseOps()(passes.AnnotateTIROpPattern()(bare))
    if case == "max_depth":
        with tvm.transform.PassContext(config={"relax.FuseOps.max_depth": 256}):
            return passes.FuseOps()(module)
    if case == "pattern":
        product = is_op("relax.matmul")(wildcard(), wildcard())
        total = is_op("relax.add")(wildcard(), product)
        return passes.FuseOpsByPattern([("lab.dense", is_op("relax.nn.relu")(total))])(module)
'''

WRONG = (
    (
        SOLUTION.replace("passes.FuseOps()(passes.AnnotateTIROpPattern()(module))", "passes.FuseOps()(module)", 1),
        "no kinds: main calls",
    ),
    (
        SOLUTION.replace("passes.FuseOps()(passes.ConvertToDataflow()(module))", "passes.FuseOps()(module)"),
        "no dataflow: main calls",
    ),
    (SOLUTION.replace("passes.CanonicalizeBindings()(module)", "module"), "emitted: main calls"),
    (SOLUTION.replace('f.without_attr("op_pattern")', "f"), "opaque: main calls"),
    (SOLUTION.replace('"relax.FuseOps.max_depth": 256', '"relax.FuseOps.max_depth": 1'), "max_depth: main calls"),
    (
        SOLUTION.replace("relax.matmul", "relax.multiply"),
        "pattern: main calls 3 kernels, and should call 1",
    ),
    (
        SOLUTION.replace("return passes.FuseOps()(passes.CanonicalizeBindings()(module))", "return None"),
        "emitted: the answer is a NoneType",
    ),
)

HIDDEN = (fuses(CASES, "other operators are fused as well", 3),)
