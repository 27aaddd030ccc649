"""The exercises that come with tvmlab, one file each."""

from __future__ import annotations

from tvmlab.course.exercises import ex04a, ex08f

SHIPPED = (ex04a.EXERCISE, ex08f.EXERCISE)

__all__ = ["SHIPPED"]
