"""Safe mode: a kernel runs in a child process, so that its death, its endless loop or its memory is an answer.

One process of ours is kept warm: it has imported TVM, compiles the modules it is sent, and runs nothing.  Each call is
run by a fork of it, which has the compiled module already, under limits of time and memory; where there is no fork it
runs the call itself, and is started anew after it died.  Modules go to it as JSON and arrays as plain bytes.

This guards against accidents, and not against malice: the child has the rights of its user, and may read and write
files as any process may.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvmlab import errors
from tvmlab.diagnosis import mend_of
from tvmlab.errors import BackendError, CallError, PipelineError, TvmlabError
from tvmlab.runtime import wire
from tvmlab.runtime.children import Child, ChildLost
from tvmlab.runtime.proofs import doubts
from tvmlab.runtime.signature import signature_of
from tvmlab.runtime.silence import quiet
from tvmlab.runtime.threads import prepare_pool

__all__ = ["POLICY", "Isolated", "Policy", "end_child", "is_proved_safe", "isolate"]

_ISOLATED = 8

_SECONDS_TO_START = 120.0
_SECONDS_TO_COMPILE = 300.0
_GRACE = 5.0
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Policy:
    """What safe mode does; ``%config Tvmlab`` sets it.

    Parameters
    ----------
    safe : bool
        Whether kernels that are not proved safe run in a child.
    seconds : float
        How long one call may take.
    gigabytes : float
        How much memory one call may use beyond that of the warm process.
    """

    safe: bool = False
    seconds: float = 10.0
    gigabytes: float = 4.0


POLICY = Policy()


class Isolated:
    """A module that is compiled and run in children; it has the `run` of an `Executable`.

    Parameters
    ----------
    module : tvm.IRModule
        Its operators are all legalized.
    target : tvm.target.Target, optional
        Default: that of this machine.
    """

    def __init__(self, module: Any, target: Any = None) -> None:
        prepare_pool()
        from tvm import ir, relax

        functions = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, relax.Function)}
        self.signatures = {name: signature_of(name, function) for name, function in functions.items()}
        self._text = ir.save_json({"module": module} if target is None else {"module": module, "target": target})
        self._key = hashlib.sha256(self._text.encode()).hexdigest()

    def run(self, *arrays: Any, function: str = "main") -> Any:
        """Run on NumPy arrays, in a child.

        Returns
        -------
        ndarray or tuple of ndarray

        Raises
        ------
        CallError
            Number, dtype or shape of the arguments is wrong, or one is no tensor.
        PipelineError
            The kernel failed, died, or went over a limit.
        """
        signature = self.signatures.get(function)
        if signature is None:
            raise CallError(f"the module has no function {function!r}", mend=f"it has {', '.join(self.signatures)}")
        if not signature.tensors_only:
            raise CallError(f"{function} takes more than tensors, and cannot run in a child", mend="give tensors alone")
        given = signature.converted(arrays)
        problem = signature.problem(given)
        if problem is not None:
            raise problem
        with _LOCK:
            return _warm().run(self._key, self._text, given, function)


def isolate(module: Any) -> Isolated:
    """A module to be run in children; the last few are kept, since a large one takes time to write as JSON."""
    kept = _isolated.pop(id(module), None)
    if kept is None or kept[0] is not module:
        kept = (module, Isolated(module))
    _isolated[id(module)] = kept
    while len(_isolated) > _ISOLATED:
        del _isolated[next(iter(_isolated))]
    return kept[1]


_isolated: dict[int, tuple[Any, Isolated]] = {}


def is_proved_safe(module: Any) -> bool:
    """Whether no kernel of a module can end the process, as far as `proofs.doubts` can tell."""
    from tvm import tirx

    kernels = [function for function in module.functions.values() if isinstance(function, tirx.PrimFunc)]
    with quiet():
        return not any(doubts(kernel) for kernel in kernels)


class _Warm:
    """The warm process, and the folder through which arrays come and go."""

    def __init__(self) -> None:
        prepare_pool()  # sets how many threads a child's pool has, too
        memory = Path("/dev/shm")  # noqa: S108 - a folder of ours is made in it, for this user alone
        inside = memory if os.access(memory, os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(prefix="tvmlab-", dir=inside, ignore_cleanup_errors=True)
        self._child = Child("tvmlab.runtime.isolated", _ONE_THREAD)
        try:
            self._child.ask({}, _SECONDS_TO_START)
        except ChildLost as lost:
            self._folder.cleanup()
            raise BackendError(
                f"the child process of safe mode did not start: {lost}",
                sys.executable,
                "%tvm_doctor looks for the cause",
            ) from lost

    def run(self, key: str, text: str, arrays: tuple[Any, ...], function: str) -> Any:
        given, made = (Path(self._folder.name) / name for name in ("given", "made"))
        message = {
            "key": key,
            "function": function,
            "given": [str(given), wire.write(given, arrays)],
            "made": str(made),
            "seconds": POLICY.seconds,
            "bytes": int(POLICY.gigabytes * (1 << 30)),
        }
        answer = self._ask(message, POLICY.seconds + _GRACE)
        if "unknown" in answer:
            self._compile(key, text)
            answer = self._ask(message, POLICY.seconds + _GRACE)
        return wire.read(made, answer["result"])

    def _compile(self, key: str, text: str) -> None:
        module = Path(self._folder.name) / "module"
        module.write_text(text, encoding="utf-8")
        self._ask({"key": key, "module": str(module)}, _SECONDS_TO_COMPILE)

    def _ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            answer = self._child.ask(message, seconds)
        except ChildLost as lost:
            end_child()
            raise _death(str(lost).removeprefix("it was ended by ")) from lost
        except BaseException:  # an interrupt from the keyboard: what runs there has to end, too
            self.close()
            end_child()
            raise
        if "died" in answer:
            raise _death(answer["died"])
        if "late" in answer:
            raise _death(f"after {answer['late']:g} s", before="")
        if "error" in answer:
            kind, what, where, mend = answer["error"]
            raise _kind_of(kind)(what, where or None, mend or None)
        return answer

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()


_LOCK = threading.RLock()
_kept: list[_Warm] = []


def _warm() -> _Warm:
    if not _kept:
        _kept.append(_Warm())
    return _kept[0]


def end_child() -> None:
    """End the warm process; the next call starts another."""
    with _LOCK:
        while _kept:
            _kept.pop().close()


def _death(how: str, before: str = ": ") -> PipelineError:
    error = PipelineError(f"the kernel ended its process{before or ' '}{how}; it was a child, and this one is alive")
    return PipelineError(error.what, mend=mend_of(error))


def _kind_of(name: str) -> Callable[..., TvmlabError]:
    kind = getattr(errors, name, PipelineError) if name in errors.__all__ else PipelineError
    return kind if isinstance(kind, type) and issubclass(kind, TvmlabError) else PipelineError
