"""What is being done now: any room says it, and who shows progress listens.

It costs a microsecond where nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Doing", "heard", "is_heard", "say"]


@dataclass(frozen=True)
class Doing:
    """What is being done.

    Parameters
    ----------
    text : str
    done, of : int
        How many of its like are done, of how many; 0 of 0 if that is not known.
    undisturbed : bool
        Whether it is being timed, so that nothing should run beside it.
    """

    text: str
    done: int = 0
    of: int = 0
    undisturbed: bool = False


Listener = Callable[[Doing], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def say(text: str, done: int = 0, of: int = 0, *, undisturbed: bool = False) -> None:
    """Tell the listener, if there is one; see `Doing`."""
    listener = _listener.get()
    if listener is not None:
        listener(Doing(text, done, of, undisturbed))


def is_heard() -> bool:
    """Whether somebody listens."""
    return _listener.get() is not None


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """Within it, `listener` is told."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
