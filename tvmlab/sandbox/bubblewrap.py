"""How the warm parent is shut in: no network, a read-only disk of what Python and TVM need, no way to the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tvmlab.errors import BackendError
from tvmlab.sandbox.cage import SCRATCH

__all__ = ["command", "packages", "require"]

_PACKAGE = Path(__file__).resolve().parent.parent
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_LESSONS = ("naive_fuser.py", "naive_groups.py")  # what an answer may use of the course
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf")
_RIGHTS = (
    "SYS_ADMIN",
    "SETUID",
    "SETGID",
    "SETPCAP",
    "SETFCAP",
    "KILL",
    "CHOWN",
    "SYS_PTRACE",
    "DAC_OVERRIDE",
    "NET_ADMIN",
)
_HINT = "install bubblewrap (apt-get install bubblewrap), or grade answers that you trust with --no-sandbox"


def require() -> str:
    """The program; tries it, since kernels and containers may forbid what it does.

    Raises
    ------
    BackendError
        It is not installed, or may not do its work.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise BackendError("bubblewrap is not installed, and answers are strangers' code", "PATH", _HINT)
    tried = subprocess.run(  # noqa: S603 - our own program
        [*_outside(program), sys.executable, "-c", "import sys; print(sys.version_info[0])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise BackendError(
            f"bubblewrap may not make namespaces here: {said}",
            program,
            "run as root, or let the kernel allow user namespaces; answers that you trust can be graded with "
            "--no-sandbox",
        )
    return program


def command(program: str, hidden: Sequence[Path] = ()) -> list[str]:
    """The command line before that of Python.

    Parameters
    ----------
    program : str
        From `require`.
    hidden : sequence of path
        Folders and files that must not be seen, wherever they are.

    Raises
    ------
    BackendError
        One of them is in a folder that has to be seen.
    """
    masks: list[str] = []
    seen = [Path(each) for each in _seen()]
    for path in hidden:
        real = path.resolve()
        if any(real.is_relative_to(each) for each in seen):
            if not real.is_dir():
                raise BackendError(f"{path.name} lies where answers can read", str(real.parent), "move it elsewhere")
            masks += ["--tmpfs", str(real), "--remount-ro", str(real)]
    return [*_outside(program), *masks, "--remount-ro", "/"]


def _outside(program: str) -> list[str]:
    binds: list[str] = []
    for each in _SYSTEM:
        if Path(each).is_symlink():
            binds += ["--symlink", str(Path(each).readlink()), each]
        elif Path(each).is_dir():
            binds += ["--ro-bind", each, each]
    for each in _SETTINGS:
        binds += ["--ro-bind-try", f"/etc/{each}", f"/etc/{each}"]
    binds += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", SCRATCH]  # noqa: S108 - its own
    for each in _seen():
        for parent in reversed(Path(each).parents[:-1]):
            binds += ["--perms", "0755", "--dir", str(parent)]  # else only root may pass, and answers are no root
        binds += ["--ro-bind", each, each]
    binds += ["--tmpfs", str(_PACKAGE / "course")]
    for each in _LESSONS:
        binds += ["--ro-bind", str(_PACKAGE / "course" / each), str(_PACKAGE / "course" / each)]
    binds += ["--remount-ro", str(_PACKAGE / "course")]
    rights = ["--cap-drop", "ALL"] + [word for right in _RIGHTS for word in ("--cap-add", f"CAP_{right}")]
    users = [] if os.geteuid() == 0 else ["--unshare-user", "--uid", "0", "--gid", "0"]
    apart = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    return [program, *users, *apart, "--die-with-parent", "--new-session", *rights, *binds, "--chdir", "/"]


def _seen() -> Iterator[str]:
    """Folders of Python, of its packages, and of tvmlab itself: without what may lie beside it in a checkout."""
    found: list[Path] = []
    roots = [sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent)]
    for each in (*roots, *packages(), str(_PACKAGE)):
        path = Path(each).resolve()
        if not any(path.is_relative_to(one) for one in found):
            found.append(path)
    return (str(each) for each in found if not each.is_relative_to("/usr"))


def packages() -> list[str]:
    """Folders of installed packages; a script's own folder is on the path too, and may hold anything."""
    return [each for each in sys.path if Path(each).name in ("site-packages", "dist-packages") and Path(each).is_dir()]
