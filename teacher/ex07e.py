"""What only teachers see of 07e."""

from __future__ import annotations

from tvmlab.course.exercises.ex07e import stops

SOLUTION = '''
import tvm
from tvm import tirx

def ways(module):
    """Three pairs of a module and options of FuseOps; in none of them anything is fused."""
    first = (module, {"relax.FuseOps.max_depth": 1})
    opaque = {v: f.with_attr("op_pattern", 8) if isinstance(f, tirx.PrimFunc) else f
              for v, f in module.functions.items()}
    second = (tvm.IRModule(opaque), {})
    third = (relax.transform.ToNonDataflow()(module), {})
    return [first, second, third]
'''

WRONG = (
    (SOLUTION.replace('max_depth": 1}', 'max_depth": 2}'), "way 1: main calls 1 kernel"),
    (
        SOLUTION.replace("(relax.transform.ToNonDataflow()(module), {})", "first"),
        "way 3 is way 1 again: no group may be so large",
    ),
    (
        SOLUTION.replace('"op_pattern", 8', '"op_pattern", 1'),
        "way 2: main calls 1 kernel",
    ),
    (
        SOLUTION.replace("(relax.transform.ToNonDataflow()(module), {})", "(None, {})"),
        "way 3: the answer is a NoneType",
    ),
    (SOLUTION.replace("[first, second, third]", "[first, second]"), "the answer is no list of three pairs"),
    (SOLUTION.replace("[first, second, third]", "[module] * 3"), "the answer is no list of three pairs"),
    (SOLUTION.replace('"relax.FuseOps.max_depth": 1', '"opt_level": 0'), "way 1: there is no option 'opt_level'"),
)

HIDDEN = (stops(3, "other operators stay apart, too"),)
