"""A device that TVM's RPC tracker lends: what it is, and how modules get there.

TVM's RPC has no authentication, and what is sent to a server is machine code that it runs.  Trackers and servers of
ours therefore listen on the loopback interface alone, unless another address is asked for.
"""

from __future__ import annotations

import gc
import re
import tempfile
from pathlib import Path
from typing import Any

from tvmlab.errors import BackendError, CallError, RemoteLost
from tvmlab.runtime.executable import first_line
from tvmlab.runtime.silence import quiet
from tvmlab.runtime.threads import prepare_pool

__all__ = ["Remote", "split_address"]

_FORM = re.compile(r"tracker://(\[[0-9A-Fa-f:.]+\]|[^/:\s]+):(\d{1,5})/([^/\s]+)")
_CORES_AS_THEY_COME = 1


def split_address(address: str) -> tuple[str, int, str]:
    """Host, port and key of ``tracker://host:port/key``.

    Raises
    ------
    CallError
        It is of another form.
    """
    match = _FORM.fullmatch(address)
    if match is None or not 0 < int(match[2]) < 1 << 16:
        raise CallError(f"remote={address!r} names no device", mend='remote="tracker://127.0.0.1:9190/key"')
    return match[1].strip("[]"), int(match[2]), match[3]


class Remote:
    """A device, borrowed until `close`.

    Parameters
    ----------
    address : str
        ``tracker://host:port/key``.
    threads : int, optional
        That its kernels run on.  Default: all that TVM uses there.
    seconds : float
        After which the server ends the session.

    Raises
    ------
    CallError
        The address is of another form.
    RemoteLost
        No tracker answers, or it has no free device of that key.
    """

    def __init__(self, address: str, threads: int | None = None, seconds: float = 3600.0) -> None:
        tvm = prepare_pool()
        self.address = address
        self._count = 0
        host, port, key = split_address(address)
        self._session = self._borrow(host, port, key, seconds)
        self.device = self._session.cpu(0)
        with self.guard():
            processor = str(self._session.get_function("target.llvm_get_system_cpu")())
            self.target = tvm.target.Target({"kind": "llvm", "mcpu": processor})
            if threads is not None:
                self._session.get_function("runtime.config_threadpool")(_CORES_AS_THEY_COME, threads)
            self.threads = int(self._session.get_function("runtime.NumThreads")())
        self.name = processor

    def _borrow(self, host: str, port: int, key: str, seconds: float) -> Any:
        import socket

        from tvm import rpc

        try:
            socket.create_connection((host, port), timeout=5).close()
        except OSError as error:
            raise self._lost(f"no tracker answers at {host}:{port}: {error.strerror or error}") from error
        try:
            with quiet():
                tracker = rpc.connect_tracker(host, port)
                known = tracker.summary()["queue_info"].get(key, {})
                free = int(known.get("free", 0))
                if free:
                    return tracker.request(key, priority=1, session_timeout=seconds, max_retry=1)
        except Exception as error:
            raise self._lost(f"the device {key!r} cannot be borrowed: {first_line(error)}") from error
        held = "all are lent" if known else "no server of that key has reported to it"
        raise self._lost(f"the tracker at {host}:{port} has no free device {key!r}: {held}")

    def _lost(self, what: str) -> RemoteLost:
        return RemoteLost(
            what,
            where=self.address,
            mend="tvmlab remote track starts a tracker, tvmlab remote serve --tracker HOST:PORT --key KEY a device",
        )

    def guard(self) -> _Guard:
        """A ``with`` block in which what TVM raises means that the device is gone."""
        return _Guard(self.address)

    def send(self, built: Any) -> Any:
        """Send machine code, built for `target`; returns the module there.

        Raises
        ------
        BackendError
            There is no C compiler here, which links it.
        RemoteLost
        """
        self._count += 1
        name = f"tvmlab{self._count}.so"
        with tempfile.TemporaryDirectory(prefix="tvmlab-") as folder:
            path = str(Path(folder) / name)
            try:
                with quiet():
                    built.export_library(path)
            except Exception as error:
                raise BackendError(
                    f"machine code for {self.name} cannot be linked: {first_line(error)}",
                    where=self.address,
                    mend="install a C++ compiler (g++ or clang++), for the processor of the device",
                ) from error
            with self.guard():
                self._session.upload(path)
                return self._session.load_module(name)

    def close(self) -> None:
        """Give it back."""
        self._session = self.device = None
        gc.collect()  # a session ends with the last module that came through it, and closures are in circles


class _Guard:
    """Turns what TVM raises on a broken connection into a `RemoteLost`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, RemoteLost | BackendError | CallError):
            raise RemoteLost(
                f"the remote device went away: {first_line(error)}",
                where=self._address,
                mend="see whether its server still runs, and start it again: tvmlab remote serve",
            ) from error
