"""What a process puts round itself before it runs an answer: namespaces, a user, a folder and limits of its own."""

from __future__ import annotations

import ctypes
import math
import os
import signal
from pathlib import Path
from typing import NamedTuple

__all__ = ["SCRATCH", "Limits", "enter", "limit", "may_switch_users", "size"]

SCRATCH = "/scratch"
"""Where bubblewrap leaves a place for the folder of each answer."""

_FIRST_USER = 70_000
_NEW_MOUNTS, _NEW_PROCESSES, _NEW_MESSAGES = 0x0002_0000, 0x2000_0000, 0x0800_0000
_NEW_NETWORK, _NEW_USERS = 0x4000_0000, 0x1000_0000
_PRIVATE, _READ_ONLY, _NOSUID, _NODEV = 0x4_0000 | 0x4000, 1, 2, 4
_NO_NEW_PRIVILEGES = 38
_REMOUNT = 32 | 4096  # of this namespace alone
_CAPABILITIES = 0x2008_0522


class Limits(NamedTuple):
    """What one answer may use.

    Parameters
    ----------
    seconds : float
        Of waiting for it, and of each processor.
    megabytes : int
        Of memory beyond that of the warm process, all its processes together.
    processes : int
        And threads, together.
    scratch : int
        Megabytes of files.
    """

    seconds: float = 20.0
    megabytes: int = 1024
    processes: int = 16
    scratch: int = 64


def may_switch_users() -> bool:
    """Whether this process is the real root, with the users of the machine to choose from."""
    text = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
    return os.geteuid() == 0 and int(text[2]) > 1


def enter(number: int, limits: Limits) -> None:
    """Shut this process into a cage of its own; what is after this runs in a fork of it, as process 1 of a namespace.

    Parameters
    ----------
    number : int
        Of the answer: decides its user.

    Raises
    ------
    OSError
        The kernel does not let it.
    """
    system = ctypes.CDLL(None, use_errno=True)
    user = _FIRST_USER + number % 100_000
    switching = may_switch_users()
    kinds = _NEW_MOUNTS | _NEW_PROCESSES | _NEW_MESSAGES | _NEW_NETWORK | (0 if switching else _NEW_USERS)
    _done(system.unshare(kinds), "unshare")
    if not switching:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        for kind in ("uid", "gid"):
            Path(f"/proc/self/{kind}_map").write_text(f"{user} 0 1", encoding="ascii")
    inner = os.fork()
    if inner:
        _wait_for(inner)
    _mount(system, limits.scratch, user if switching else os.getuid())
    if switching:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _drop_capabilities(system)
    _done(system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    os.chdir(SCRATCH)


def _wait_for(inner: int) -> None:
    """Outside of the namespaces: end as the process in them does."""
    for stream in range(3):
        os.close(stream)
    status = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
    os._exit(128 - status if status < 0 else min(status, 127))


def _mount(system: ctypes.CDLL, megabytes: int, owner: int) -> None:
    _done(system.mount(b"none", b"/", None, _PRIVATE, None), "mount /")
    for place, size in ((SCRATCH, megabytes), ("/dev/shm", 16)):  # noqa: S108 - its own
        options = f"size={size}m,nr_inodes=4096,mode=700,uid={owner},gid={owner}".encode()
        flags = _NOSUID | _NODEV
        _done(system.mount(b"tmpfs", place.encode(), b"tmpfs", flags, options), f"mount {place}")
    for place in ("/tmp", "/dev"):  # noqa: S108 - the parent's, which may be of the same user
        flags = _REMOUNT | _READ_ONLY | _NOSUID | _NODEV
        _done(system.mount(None, place.encode(), None, flags, None), f"mount {place}")
    if system.mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV, None) != 0:  # where /proc is masked, as in containers
        _done(system.mount(b"tmpfs", b"/proc", b"tmpfs", _NOSUID | _NODEV | _READ_ONLY, b"size=4k"), "mount /proc")


def _drop_capabilities(system: ctypes.CDLL) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    _done(system.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def size() -> int:
    """Bytes of address space that this process has."""
    import resource

    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def limit(limits: Limits, before: int) -> None:
    """Set the limits of this process, and let its death be quick: no backtrace, no dump of its memory.

    Parameters
    ----------
    before : int
        What `size` was.
    """
    import resource

    for number in (signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, signal.SIGBUS, signal.SIGABRT):
        signal.signal(number, signal.SIG_DFL)
    memory = before + (limits.megabytes << 20)
    seconds = math.ceil(limits.seconds) + 5
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, limits.scratch << 20),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
