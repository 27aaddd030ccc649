"""Names: what may be taken, and what somebody who mistyped one meant."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from typing import Any

from tvmlab.errors import NameRefused, nearest


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"did you mean 'slope'?"``, or the names there are, or an empty string if there are none."""
    names = sorted(set(known))
    if close := nearest(name, names):
        return f"did you mean {close!r}?"
    return f"there are: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}" if names else ""


def split_name(name: Any) -> tuple[str, str]:
    """Split ``namespace.name``.

    Raises
    ------
    NameRefused
        If the name is not two Python identifiers with a dot between.
    """
    parts = name.split(".") if isinstance(name, str) else []
    if len(parts) != 2:
        shown = name.strip(".").replace(".", "_") if isinstance(name, str) and name.strip(".") else "my_op"
        raise NameRefused(
            f"operator name {name!r} is not of the form namespace.name",
            mend=f"write one namespace and one name, such as lab.{shown}",
        )
    for part in parts:
        if not (part.isidentifier() and part.isascii()) or keyword.iskeyword(part) or part.startswith("_"):
            raise NameRefused(
                f"operator name {name!r}: {part!r} cannot be a part of a name",
                mend="use letters, digits and underscores, not starting with one, and no Python keyword",
            )
    return parts[0], parts[1]
