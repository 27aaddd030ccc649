"""How each record looks: static HTML that every sanitiser keeps, and plain text that reads well on a terminal.

Importing this room registers the pictures; `tvmlab.records` imports it when a record is first displayed.
"""

from __future__ import annotations

from tvmlab.show import cards, diffs, doctors, models, partitions, timings, traces, verifications

__all__ = ["cards", "diffs", "doctors", "models", "partitions", "timings", "traces", "verifications"]
