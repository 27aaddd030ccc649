"""How large the processor's caches are, where the system tells."""

from __future__ import annotations

import functools
from pathlib import Path

__all__ = ["second_level_bytes"]

_USUAL = 512 << 10
_UNITS = {"K": 10, "M": 20}


@functools.cache
def second_level_bytes(
    said: Path = Path("/sys/devices/system/cpu/cpu0/cache/index2/size"),
) -> int:
    """Bytes of one core's second level; 512 KiB where nobody knows."""
    try:
        text = said.read_text(encoding="ascii").strip()
        return int(text[:-1]) << _UNITS[text[-1]]
    except (OSError, ValueError, KeyError, IndexError):
        return _USUAL
