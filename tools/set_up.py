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

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
OLDEST, NEWEST = (3, 11), (3, 14)
PLATFORMS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")}


def refuse(sentence):
    """End with one sentence that says what to do."""
    sys.exit("tvmlab: " + sentence)


def check_python():
    """Refuse a Python, platform or installation that cannot work, before anything is downloaded."""
    here = sys.version_info[:2]
    if not OLDEST <= here <= NEWEST:
        refuse(
            "{} is Python {}.{}, but tvmlab needs Python {}.{} to {}.{}; install one, then say for example: "
            "make demo PYTHON=python3.13".format(sys.executable, *(here + OLDEST + NEWEST))
        )
    if (sys.platform, platform.machine()) not in PLATFORMS:
        refuse(
            "there is no TVM package for {} on {}; there is for Linux (x86_64, aarch64), macOS (arm64) and "
            "Windows (x64)".format(sys.platform, platform.machine())
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        refuse(
            "this Python cannot make virtual environments; on Debian and Ubuntu type: "
            "sudo apt install python{}.{}-venv".format(*here)
        )


def stamp_text():
    """What the environment is made from: this Python and the files that say what to install."""
    digest = hashlib.sha256()
    for file in (LOCK, ROOT / "pyproject.toml", Path(__file__)):
        digest.update(file.read_bytes())
    return "{}.{} {} {}\n".format(sys.version_info[0], sys.version_info[1], ROOT, digest.hexdigest())


def venv_python(folder):
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_venv(folder):
    """Make the environment anew, unless it is the one we run in."""
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    import venv

    venv.EnvBuilder(clear=True, with_pip=True, symlinks=os.name != "nt").create(str(folder))


class Progress:
    """One line that counts packages; on a pipe or in a log, a line every quarter."""

    def __init__(self, total):
        self.total, self.count, self.shown, self.live = total, 0, 0, sys.stdout.isatty()

    def see(self, line):
        """Take in one line of pip's output."""
        words = line.split()
        if not words:
            return
        if words[0] == "Collecting":
            self.count += 1
            self.say("{:3d} of about {} packages: {}".format(self.count, self.total, words[1].split("==")[0]))
        elif words[0] == "Installing":
            self.count = self.total
            self.say("all packages are here, unpacking them", last=True)

    def say(self, text, last=False):
        """Show the state."""
        if self.live:
            sys.stdout.write("\r\033[K  " + text + ("\n" if last else ""))
            sys.stdout.flush()
        elif last or self.count >= self.shown + self.total // 4:
            self.shown = self.count
            print("  " + text, flush=True)


def pip(folder, *arguments, progress=None):
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
        refuse("pip could not install the packages; its last lines are above, all of them in {}".format(log))


def main():
    """Bring the environment up to date."""
    check_python()
    folder = ROOT / (sys.argv[1] if len(sys.argv) > 1 else ".venv")
    stamp = folder / "tvmlab-stamp"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == stamp_text() and venv_python(folder).exists():
        return
    start = time.monotonic()
    print("Setting up {} with Python {} (once; one to four minutes)".format(folder.name, platform.python_version()))
    make_venv(folder)
    names = {line.split("==")[0] for line in LOCK.read_text(encoding="utf-8").splitlines() if line[:1].isalnum()}
    pip(folder, "--require-hashes", "-r", str(LOCK), progress=Progress(len(names)))
    pip(folder, "--no-deps", "--no-build-isolation", "--editable", ".")
    stamp.write_text(stamp_text(), encoding="utf-8")
    print("Ready after {:.0f} seconds".format(time.monotonic() - start), flush=True)


if __name__ == "__main__":
    main()
