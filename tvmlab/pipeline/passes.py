"""Which of TVM's passes ran within a stage, how they were nested, what each took, and the module before and after."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_INNER = 400

__all__ = ["PassRun", "changed_functions", "functions_by_name", "record_passes"]


@dataclass(frozen=True, eq=False)
class PassRun:
    """One run of a pass.

    Parameters
    ----------
    name : str
        What TVM calls it.
    before, after : tvm.IRModule
        Kept as they are; text is made of them when it is asked for.
    seconds : float
        With the passes inside of it.
    passes : tuple of PassRun
        Those that it ran itself.
    unkept : int
        How many more it ran: TVM's constant folding compiles, and thus runs hundreds of passes for, each kernel.
    """

    name: str
    before: Any = field(repr=False)
    after: Any = field(repr=False)
    seconds: float
    passes: tuple[PassRun, ...] = ()
    unkept: int = 0

    @functools.cached_property
    def changed(self) -> tuple[str, ...]:
        """Functions that are different, new or gone; main first."""
        return changed_functions(functions_by_name(self.before), functions_by_name(self.after))


@contextlib.contextmanager
def record_passes() -> Iterator[list[PassRun]]:
    """The runs of passes that end within the block, in the order in which they began.

    Options and instruments of the surrounding `tvm.transform.PassContext` stay in force.  What runs in a context of its
    own inside of the block is not seen.
    """
    import tvm

    recorder, runs = _recorder()
    around = tvm.transform.PassContext.current()
    with tvm.transform.PassContext(
        opt_level=around.opt_level,
        required_pass=around.required_pass,
        disabled_pass=around.disabled_pass,
        instruments=[*around.instruments, recorder],
        config=around.config,
    ):
        yield runs


@dataclass(eq=False)
class _Open:
    """A run that has not ended."""

    before: Any
    started: float = field(default_factory=time.perf_counter)
    passes: list[PassRun] = field(default_factory=list)
    unkept: int = 0


def _recorder() -> tuple[Any, list[PassRun]]:
    from tvm.ir.instrument import PassInstrument

    outermost: list[PassRun] = []
    open_runs: list[_Open] = []
    depth = inner = 0

    class Recorder(PassInstrument):  # type: ignore[misc]
        __slots__ = ("__dict__",)

        def run_before_pass(self, module: Any, _info: Any) -> None:
            nonlocal depth, inner
            depth += 1
            if depth > len(open_runs) + 1 or (open_runs and inner >= _MOST_INNER):
                open_runs[-1].unkept += 1
                return
            inner += bool(open_runs)
            open_runs.append(_Open(module.clone()))  # a pass written in Python may change the module in place

        def run_after_pass(self, module: Any, info: Any) -> None:
            nonlocal depth
            depth -= 1
            if depth >= len(open_runs):
                return
            run = open_runs.pop()
            seconds = time.perf_counter() - run.started
            done = PassRun(str(info.name), run.before, module.clone(), seconds, tuple(run.passes), run.unkept)
            (open_runs[-1].passes if open_runs else outermost).append(done)

    return Recorder(), outermost


def functions_by_name(module: Any) -> dict[str, Any]:
    """The functions of a module, main first."""
    named = {variable.name_hint: function for variable, function in module.functions.items()}
    return dict(sorted(named.items(), key=lambda item: (item[0] != "main", item[0])))


def changed_functions(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the functions that are different, new or gone, in the order of `old` and then of `new`."""
    names = [*old, *(name for name in new if name not in old)]
    return tuple(name for name in names if not _same(old.get(name), new.get(name)))


def _same(old: Any, new: Any) -> bool:
    import tvm_ffi

    if old is None or new is None:
        return False
    return bool(old.same_as(new)) or bool(tvm_ffi.structural_equal(old, new))
