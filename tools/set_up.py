"""Set up the virtual environment of a checkout: `python3 tools/set_up.py .venv` (the Makefile calls it).

Installs what `requirements.lock` says, and tvmlab itself in editable form.  A stamp in the environment says what
was installed, so that a second call returns at once.  Runs on any Python 3, to say in words when it is too old.
"""

import hashlib
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
OLDEST, NEWEST = (3, 11), (3, 14)
PLATFORMS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")}


def refuse(sentence: str) -> NoReturn:
    """End with one sentence that says what to do."""
    sys.exit("tvmlab: " + sentence)


def check_python() -> None:
    """Refuse a Python, platform or installation that cannot work, before anything is downloaded."""
    here = sys.version_info[:2]
    if not OLDEST <= here <= NEWEST:
        refuse(
            f"{sys.executable} is Python {here[0]}.{here[1]}, but tvmlab needs Python 3.{OLDEST[1]} to 3.{NEWEST[1]}; "
            "install one, then say for example: make demo PYTHON=python3.13"
        )
    if (sys.platform, platform.machine()) not in PLATFORMS:
        refuse(
            f"there is no TVM package for {sys.platform} on {platform.machine()}; "
            "there is for Linux (x86_64, aarch64), macOS (arm64) and Windows (x64)"
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        refuse(
            "this Python cannot make virtual environments; on Debian and Ubuntu type: "
            f"sudo apt install python{here[0]}.{here[1]}-venv"
        )


def stamp_text() -> str:
    """What the environment is made from: this Python and the files that say what to install."""
    digest = hashlib.sha256()
    for file in (LOCK, ROOT / "pyproject.toml", Path(__file__)):
        digest.update(file.read_bytes())
    return f"{sys.version_info[0]}.{sys.version_info[1]} {ROOT} {digest.hexdigest()}\n"


def venv_python(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_venv(folder: Path) -> None:
    """Make the environment anew; the one we run in may be the user's own, and only gets pip if it has none."""
    if Path(sys.prefix).resolve() == folder.resolve():
        subprocess.run([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL, check=True)
        return
    import venv

    venv.EnvBuilder(clear=True, with_pip=True, symlinks=os.name != "nt").create(str(folder))


class Progress:
    """One line that counts packages; on a pipe or in a log, a line every quarter."""

    def __init__(self, total: int) -> None:
        self.total, self.count, self.shown, self.live = total, 0, 0, sys.stdout.isatty()

    def see(self, line: str) -> None:
        """Take in one line of pip's output."""
        words = line.split()
        if not words:
            return
        if words[0] == "Collecting":
            self.count += 1
            self.say(f"{self.count:3d} of about {self.total} packages: {words[1].split('==')[0]}")
        elif words[0] == "Installing":
            self.count = self.total
            self.say("all packages are here, unpacking them", last=True)

    def say(self, text: str, *, last: bool = False) -> None:
        """Show the state."""
        if self.live:
            sys.stdout.write("\r\033[K  " + text + ("\n" if last else ""))
            sys.stdout.flush()
        elif last or self.count >= self.shown + self.total // 4:
            self.shown = self.count
            print("  " + text, flush=True)


def pip(folder: Path, *arguments: str, progress: Any = None) -> None:
    """Run pip quietly; its whole output goes to pip.log, and the end of that to the screen if it fails."""
    # A user's --user or --target would install elsewhere than into the environment.
    environment = {k: v for k, v in os.environ.items() if k not in ("PIP_USER", "PIP_TARGET", "PIP_PREFIX")}
    command = [str(venv_python(folder)), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", *arguments]
    log = folder / "pip.log"
    with log.open("a", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, cwd=str(ROOT), env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        )  # fmt: skip
        for line in process.stdout:
            out.write(line)
            if progress:
                progress.see(line)
    if process.wait():
        print("\n".join(log.read_text(encoding="utf-8").splitlines()[-15:]))
        refuse(f"pip could not install the packages; its last lines are above, all of them in {log}")


def main() -> None:
    """Bring the environment up to date."""
    check_python()
    folder = ROOT / (sys.argv[1] if len(sys.argv) > 1 else ".venv")
    stamp = folder / "tvmlab-stamp"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == stamp_text() and venv_python(folder).exists():
        return
    start = time.monotonic()
    print(
        f"Setting up {folder.name} with Python {platform.python_version()}, once: "
        "350 MB to download, 1.2 GB on disk, one to five minutes",
        flush=True,
    )
    make_venv(folder)
    names = {line.split("==")[0] for line in LOCK.read_text(encoding="utf-8").splitlines() if line[:1].isalnum()}
    pip(folder, "--require-hashes", "-r", str(LOCK), progress=Progress(len(names)))
    pip(folder, "--no-deps", "--no-build-isolation", "--editable", ".")
    stamp.write_text(stamp_text(), encoding="utf-8")
    print(f"Ready after {time.monotonic() - start:.0f} seconds", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        refuse("interrupted; the same command starts again")
