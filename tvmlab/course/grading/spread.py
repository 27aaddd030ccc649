"""Judges on other machines, by Dask: a task is a student's code, and the secret's path, never the secret."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Iterator, Sequence
from typing import Self
from urllib.parse import urlsplit

from tvmlab.course.grading.lanes import Lane, Result, Setup
from tvmlab.course.grading.submissions import Submission
from tvmlab.errors import BackendError, TvmlabError

__all__ = ["Spread"]

_SECONDS_TO_CONNECT = 20
_LOCK = threading.Lock()
_LANES: dict[int, Lane] = {}  # of a worker, by thread


class Spread:
    """The workers of a Dask cluster.  A worker that dies loses nothing: its tasks are given to another.

    Parameters
    ----------
    setup : Setup
        Its paths are those of the workers' machines.
    address : str
        Of the scheduler.

    Raises
    ------
    BackendError
        Dask is not installed, the address is neither TLS nor of this machine, or nobody answers there.
    """

    def __init__(self, setup: Setup, address: str) -> None:
        _check(address)
        try:
            from distributed import Client
        except ImportError as error:
            raise BackendError("distributed is not installed", "--cluster", "pip install tvmlab[grade]") from error
        try:
            self._client = Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise BackendError(f"no cluster answers: {error}", address, "dask scheduler --host 127.0.0.1") from error
        self._setup = setup
        try:
            self.fingerprint = str(self._client.submit(_fingerprint, setup, pure=False).result())
        except TvmlabError:
            self._client.close()
            raise

    def judged(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Result]]:
        """Judge submissions; yields each when it is done."""
        from distributed import as_completed

        tasks = {self._client.submit(_judge, self._setup, each, pure=False, retries=2): each for each in submissions}
        for task in as_completed(tasks, loop=self._client.loop):
            try:
                result: Result = task.result()
            except TvmlabError:
                raise
            except Exception as error:  # noqa: BLE001 - a worker that died too often, and its like
                result = {"lost": f"{type(error).__name__}: {error}"}
            yield tasks[task], result
            task.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._client.run(_close)
        finally:
            self._client.close()


def _check(address: str) -> None:
    """Refuse what others in the network could read or answer."""
    parts = urlsplit(address)
    if parts.scheme == "tls" or (parts.scheme == "tcp" and _is_here(parts.hostname or "")):
        return
    raise BackendError(
        "the submissions would go through the network unencrypted",
        address,
        "use tls://…, with the certificates in Dask's configuration, or a scheduler on 127.0.0.1",
    )


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _judge(setup: Setup, submission: Submission) -> Result:
    """On a worker."""
    return _lane(setup).judge(submission)


def _fingerprint(setup: Setup) -> str:
    """On a worker."""
    return _lane(setup).fingerprint


def _lane(setup: Setup) -> Lane:
    """The lane of this thread of the worker; one of another setup is ended."""
    key = threading.get_ident()
    with _LOCK:
        lane = _LANES.get(key)
        if lane is None or lane.setup != setup:
            if lane is not None:
                lane.close()
            lane = _LANES[key] = Lane(setup)
        return lane


def _close() -> None:
    """On a worker, at the end."""
    with _LOCK:
        while _LANES:
            _LANES.popitem()[1].close()
