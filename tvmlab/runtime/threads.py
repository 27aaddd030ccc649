"""How many threads TVM's kernels run on.

TVM makes a pool of workers when a thread of the process first asks for it, and by default for only half of the
machine's processors.  The pool is sized here before that, for all processors this process may use, and its
workers are not pinned to cores, which costs whole scheduler slices on a shared machine.  Variables that the
user has set are respected.
"""

from __future__ import annotations

import numbers
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tvmlab.errors import CallError
from tvmlab.runtime.silence import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["available_processors", "prepare_pool", "set_threads", "thread_count", "threads"]

_CORES_AS_THEY_COME = 1


def available_processors() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_pool() -> Any:
    """Import TVM with its pool sized for this machine; returns the `tvm` module."""
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("TVM_NUM_THREADS", str(available_processors()))
    os.environ.setdefault("TVM_BIND_THREADS", "0")
    import tvm

    return tvm


def thread_count() -> int:
    """Threads that a parallel kernel called from this thread runs on."""
    tvm = prepare_pool()
    with quiet():
        return int(tvm.get_global_func("runtime.NumThreads")())


def set_threads(count: int) -> None:
    """Run the kernels that this thread calls on `count` threads from now on.

    Raises
    ------
    CallError
        `count` is below 1 or no whole number, or more than the pool that TVM made has.
    """
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
        raise CallError(
            f"the number of threads must be a whole number from 1 on, not {count!r}",
            mend="write threads=2, or --threads 2",
        )
    before = thread_count()
    _configure(count)
    if thread_count() != count:
        most = thread_count()
        _configure(before)
        raise CallError(
            f"{count} threads were asked for, but TVM's pool has only {most}",
            mend=f"write threads={most} or --threads {most}, or set the environment variable TVM_NUM_THREADS={count} "
            "and restart Python",
        )


def _configure(count: int) -> None:
    with quiet():
        prepare_pool().get_global_func("runtime.config_threadpool")(_CORES_AS_THEY_COME, count)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run kernels on `count` threads inside a ``with`` block, then on as many as before."""
    before = thread_count()
    set_threads(count)
    try:
        yield
    finally:
        _configure(before)
