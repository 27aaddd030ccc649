"""A tracker and a server of TVM's RPC in this process, as TVM's own ``tvm.exec.rpc_*`` start them in further ones."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable

from tvmlab import tvm_api
from tvmlab.errors import BackendError, CallError

__all__ = ["serve", "track"]

LOOPBACK = "127.0.0.1"
_WARNING = "anyone who reaches this address can run code here: TVM's RPC has no authentication"


def track(host: str = LOOPBACK, port: int = 9190, *, say: Callable[[str], None] = print) -> int:
    """Run a tracker until it is interrupted.

    Parameters
    ----------
    host : str
        To listen on.  Only the loopback interface is safe: see the warning that is printed for others.
    port : int
        The first to try; the next hundred follow.
    say : callable
        Is told the address.

    Raises
    ------
    BackendError
        Nothing can listen there, or tornado, which TVM's tracker needs, is not installed.
    """
    _warn(host, say)
    found = _started(lambda: tvm_api.serve_tracker(host, port), host)
    say(f"tracker at {host}:{found}")
    return _wait()


def serve(
    host: str = LOOPBACK,
    port: int = 9090,
    *,
    key: str = "cpu",
    tracker: str = f"{LOOPBACK}:9190",
    say: Callable[[str], None] = print,
) -> int:
    """Run a server, lent by a tracker, until it is interrupted; parameters are those of `track`.

    Parameters
    ----------
    key : str
        What the device is asked for by.
    tracker : str
        ``host:port``.

    Raises
    ------
    BackendError
        Nothing can listen there, or no tracker answers.
    CallError
        `tracker` is of another form.
    """
    where, _, number = tracker.rpartition(":")
    if not where or not number.isdigit():
        raise CallError(f"tracker={tracker!r} is no address", mend="--tracker 127.0.0.1:9190")
    try:
        socket.create_connection((where, int(number)), timeout=5).close()
    except OSError as error:
        raise BackendError(
            f"no tracker answers at {tracker}: {error.strerror or error}", mend="start one first: tvmlab remote track"
        ) from error
    _warn(host, say)
    found = _started(lambda: tvm_api.serve_rpc(host, port, key, (where, int(number))), host)
    say(f"server at {host}:{found}; use it as remote=tracker://{tracker}/{key}")
    return _wait()


def _started(start: Callable[[], int], host: str) -> int:
    try:
        return start()
    except (OSError, ValueError) as error:
        raise BackendError(f"nothing can listen on {host}: {error}", mend="take another --host or --port") from error


def _warn(host: str, say: Callable[[str], None]) -> None:
    try:
        safe = ipaddress.ip_address(host).is_loopback
    except ValueError:
        safe = host == "localhost"
    if not safe:
        say(_WARNING)


def _wait() -> int:
    threading.Event().wait()
    return 0
