"""The rules by which a node is merged into its post-dominator, or is not."""

from __future__ import annotations

import enum

__all__ = ["Rule"]


class Rule(enum.IntEnum):
    """What happened when it was a node's turn, in one phase; from `PATH_KIND` on they are refusals."""

    NOT_ITS_TURN = 0
    """Nodes of its group's kind start no merge in this phase, or it has no post-dominator."""
    MERGED = 1
    ALREADY = 2
    """It was in one group with its post-dominator already."""
    PATH_KIND = 3
    """Its path kind is too large."""
    ON_THE_WAY = 4
    """The group of an inner node has too large a kind."""
    INTO = 5
    """The group of the post-dominator has too large a kind."""
    TOO_LARGE = 6
    """The group would be too large."""
    TUPLE_WAITS = 7
    """Nothing is put into a tuple before its reader has taken the tuple in."""
    OWN_KIND = 8
    """In no phase may a node of its kind start a merge: it is opaque, or a reduction."""
    EXTERNAL = 9
    """Its value is needed outside of the graph."""
    UNREAD = 10
    """Nobody reads its value."""
    NO_MEETING = 11
    """What is made from its value meets in no single node."""
