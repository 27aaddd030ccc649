"""What to do about an error of TVM's, by what it says."""

from __future__ import annotations

import re

__all__ = ["is_out_of_memory", "mend_of_compiling"]

_OUT_OF_MEMORY = re.compile(
    r"bad_alloc|out of memory|cannot allocate|failed to allocate|std::length_error", re.IGNORECASE
)
_MENDS = (
    (
        re.compile(r"PrimExpr .* is not computed"),
        'a dimension that is computed from others needs each of them alone in an input: x: "float32[n, 4]"',
    ),
    (
        re.compile(r"cannot handle this intrinsic"),
        "legalize every operator first: this one has no kernel; tl.trace(model) shows the module after each stage",
    ),
    (_OUT_OF_MEMORY, "give it smaller shapes: it asks for more memory than there is"),
)
_NEUTRAL = "tl.trace(model) shows the module after each stage; %tb shows all that TVM said"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was asked for that there is not."""
    return isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)) is not None


def mend_of_compiling(error: BaseException) -> str:
    """The mend for a module that could not be compiled; a neutral one if the cause is not known."""
    said = str(error)
    return next((mend for pattern, mend in _MENDS if pattern.search(said)), _NEUTRAL)
