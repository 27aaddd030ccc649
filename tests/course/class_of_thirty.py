"""Thirty submissions to 02c and 04a: right, wrong in known ways, unwritten, and hostile."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

TEACHER = Path(__file__).resolve().parents[2] / "teacher"


def _teacher(identity):
    return runpy.run_path(str(TEACHER / f"ex{identity}.py"))


CLAMP, LEAKY = _teacher("02c"), _teacher("04a")
HEAD = LEAKY["SOLUTION"].replace("    def clamp", "    {}\n\n    def clamp", 1)
RIGHT_LIMITS, RIGHT_LEAKY = CLAMP["SOLUTION"], LEAKY["SOLUTION"]


def before_the_answer(*lines):
    """A cell that does something, and then would be right."""
    return "\n".join(lines) + "\n" + RIGHT_LEAKY


def in_the_answer(*lines):
    """An answer that does something while it is made."""
    return RIGHT_LEAKY.replace("    lo, hi", "\n".join(f"    {line}" for line in lines) + "\n    lo, hi", 1)


def notebook(*cells):
    """A notebook as JupyterLab writes it."""
    made = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None, "id": f"c{at}"}
        for at, text in enumerate(cells)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made})


def two(limits, leaky):
    """A notebook with an answer to each exercise."""
    return notebook(
        "%load_ext tvmlab\nimport numpy as np", f"%%tvm_exercise 02c\n{limits}", f"%%tvm_exercise 04a\n{leaky}"
    )


HELPER = RIGHT_LEAKY.replace("tirx.max(lo, tirx.min(hi, v))", "between(lo, v, hi)")

# name: (the file's text, points for 02c of 3, points for 04a of 5, a part of what is found)
PLAIN = {
    "right": (two(RIGHT_LIMITS, RIGHT_LEAKY), 3, 5, ""),
    "right-with-helper": (
        notebook(
            "def between(low, v, high):\n    return tirx.max(low, tirx.min(high, v))",
            "from tvm import tirx",
            f"%%tvm_exercise 02c\n{RIGHT_LIMITS}",
            f"%%tvm_exercise 04a\n{HELPER}",
        ),
        3,
        5,
        "",
    ),
    "no-leak": (two(RIGHT_LIMITS, LEAKY["WRONG"][0][0]), 3, 0, "should be"),
    "no-upper": (two(RIGHT_LIMITS, LEAKY["WRONG"][1][0]), 3, 0, "should be"),
    "slope-written-in": (two(RIGHT_LIMITS, LEAKY["WRONG"][2][0]), 3, 3, "should be"),
    "lower-is-minus-upper": (two(RIGHT_LIMITS, LEAKY["WRONG"][3][0]), 3, 2, "should be"),
    "swallows-nan": (two(RIGHT_LIMITS, LEAKY["WRONG"][4][0]), 3, 4, "should be nan"),
    "one-limit-only": (two(CLAMP["WRONG"][0][0], RIGHT_LEAKY), 0, 5, "taken, and is illegal"),
    "refuses-equal": (two(CLAMP["WRONG"][1][0], RIGHT_LEAKY), 2, 5, "refused, and is legal"),
    "refuses-nothing": (two(CLAMP["WRONG"][2][0], RIGHT_LEAKY), 1, 5, "taken, and is illegal"),
    "nothing-written": (two("class Attrs:\n    ...\n", "def compute(x):\n    return ...\n"), 0, 0, "not written"),
    "second-try-is-right": (
        notebook(
            f"%%tvm_exercise 04a\n{LEAKY['WRONG'][0][0]}",
            f"%%tvm_exercise 02c\n{RIGHT_LIMITS}",
            f"%%tvm_exercise 04a\n{RIGHT_LEAKY}",
            "%%tvm_exercise 04a\ndef compute(x):\n    ...\n",
        ),
        3,
        5,
        "",
    ),
    "no-python": (two(RIGHT_LIMITS, "def compute(x:\n"), 3, 0, "SyntaxError"),
    "raises": (two(RIGHT_LIMITS, before_the_answer("1 / 0")), 3, 0, "ZeroDivisionError"),
    "one-left-out": (notebook(f"%%tvm_exercise 02c\n{RIGHT_LIMITS}"), 3, 0, "no cell"),
}
HOSTILE = {
    "endless-loop": (two(RIGHT_LIMITS, in_the_answer("while True: pass")), 3, 0, "did not end in"),
    "sleeps": (two(RIGHT_LIMITS, before_the_answer("import time", "time.sleep(999)")), 3, 0, "did not end in"),
    "memory-hog": (two(RIGHT_LIMITS, before_the_answer("x = [bytearray(1 << 30) for _ in range(99)]")), 3, 0, "emory"),
    "exits": (two(RIGHT_LIMITS, before_the_answer("import os", "os._exit(0)")), 3, 0, "ended its process"),
    "segfault": (
        two(RIGHT_LIMITS, before_the_answer("import ctypes", "ctypes.string_at(0)")),
        3,
        0,
        "ended its process: SIGSEGV",
    ),
    "fork-bomb": (
        two(RIGHT_LIMITS, before_the_answer("import os", "while True: os.fork()")),
        3,
        0,
        "temporarily unavailable|more than 1024 MB",
    ),
    "leaves-a-process": (
        two(
            RIGHT_LIMITS,
            before_the_answer("import subprocess", "subprocess.Popen(['sleep', '987'], start_new_session=True)"),
        ),
        3,
        5,
        "",
    ),
    "writes-outside": (
        two(RIGHT_LIMITS, before_the_answer("open('/usr/lib/mine', 'w')")),
        3,
        0,
        "Read-only file system",
    ),
    "network": (
        two(
            RIGHT_LIMITS,
            before_the_answer("import socket", "socket.create_connection(('192.0.2.1', 80), timeout=2)"),
        ),
        3,
        0,
        "unreachable",
    ),
    "prints-50-MB": (two(RIGHT_LIMITS, before_the_answer("print('x' * (50 << 20))")), 3, 5, ""),
    "writes-500-MB": (
        two(RIGHT_LIMITS, before_the_answer("open('big', 'wb').write(bytes(500 << 20))")),
        3,
        0,
        "File too large",
    ),
    "kills-all": (two(RIGHT_LIMITS, before_the_answer("import os", "os.kill(-1, 9)")), 3, 0, ""),
    "speaks-out-of-turn": (
        two(
            RIGHT_LIMITS,
            before_the_answer(
                "import contextlib, os",
                "for file in range(3, 99):",
                "    with contextlib.suppress(OSError): os.write(file, b'\\xff' * 64)",
            ),
        ),
        3,
        0,
        "cannot be judged",
    ),
    "broken-json": ('{"cells": [', 0, 0, "is no notebook"),
    "no-cells": ("[1, 2]", 0, 0, "is no notebook"),
}


def spies(secret_file, secret, teacher, submissions, results):
    """Right answers that first look for what they must not see, and fail if they find it."""
    found = {
        "reads-the-secret": [f"seen = glob.glob({str(secret_file)!r})"],
        "reads-the-hidden-tests": [f"seen = glob.glob({str(teacher / '*.py')!r})"],
        "reads-the-references": [
            "import tvmlab",
            "course = os.path.join(os.path.dirname(tvmlab.__file__), 'course')",
            "seen = glob.glob(course + '/**/ex*.py', recursive=True)",
        ],
        "reads-others": [f"seen = glob.glob({str(submissions)!r} + '/*') + glob.glob({str(results)!r} + '/**')"],
        "reads-what-others-left": [
            "seen = os.listdir('.') + os.listdir('/dev/shm') + os.listdir('/tmp')",
            "seen = [each for each in seen if 'mine' in each]",
            "for place in ('.', '/dev/shm', '/tmp'):",
            "    with contextlib.suppress(OSError): open(place + '/mine', 'w').write('an answer')",
        ],
        "looks-around": [
            "seen = ['root'] * (os.getuid() == 0) + ['parent'] * (os.getppid() != 0)",
            "for file in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):",
            "    with contextlib.suppress(OSError):",
            f"        seen += [file] * ({secret.encode()!r} in open(file, 'rb').read())",
        ],
    }
    head, tail = "import contextlib, glob, os", "assert not seen, f'seen: {seen}'"
    made = {name: before_the_answer(head, *lines, tail) for name, lines in found.items()}
    return {name: (two(RIGHT_LIMITS, cell), 3, 5, "") for name, cell in made.items()}
