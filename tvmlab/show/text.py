"""Numbers as people read them, and tables for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

__all__ = ["count", "duration", "operation", "plain_table", "power", "rate", "short", "size"]


def duration(seconds: float) -> str:
    """Three significant digits and the unit that fits: ``4.75 s``, ``12.3 ms``, ``45.1 µs``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size or unit == "µs":
            value = seconds / size
            return f"{value:.{max(0, 3 - len(str(int(abs(value)))))}f} {unit}"
    raise AssertionError(seconds)


def size(number: int) -> str:
    """Bytes in the unit that fits: ``512 B``, ``1.5 KiB``, ``20.7 MiB``."""
    value = float(number)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} GiB"


def rate(bytes_a_second: float) -> str:
    """Three significant digits: ``19.6 GB/s``, ``0.512 GB/s``."""
    return f"{bytes_a_second / 1e9:.3g} GB/s"


def power(value: float) -> str:
    """A measured error: ``0``, ``7.5e-6``, ``1.2e9``; small whole numbers as they are."""
    if not math.isfinite(value) or (value == int(value) and abs(value) < 1000):
        return f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}".replace("e+", "e")


def count(number: int, what: str, many: str = "") -> str:
    """``1 kernel``, ``1,210 kernels``."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def plain_table(head: Sequence[object], rows: Iterable[Sequence[object]], align: str = "") -> str:
    """Columns padded with spaces, two between them.  ``align`` has one letter a column, ``l`` or ``r``."""
    lines = [[" ".join(str(cell).split()) for cell in row] for row in ([head] if any(head) else []) + list(rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    sides = align.ljust(len(widths), "l")
    return "\n".join(
        "  ".join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(line, widths, sides, strict=True)
        ).rstrip()
        for line in lines
    )


def operation(label: str) -> str:
    """A node's operation without what tells it from its namesakes: ``n4: conv2d12 #2`` → ``conv2d``."""
    return re.sub(r"^.*: | #\d+$|(?<=[A-Za-z])_?\d+(?= #\d+$|$)", "", label)


def short(text: str, most: int = 60) -> str:
    """At most so many characters, those that are none as a sign."""
    return "".join(
        c if c.isprintable() or c == "\n" else "\ufffd" for c in (text if len(text) <= most else f"{text[: most - 1]}…")
    )
