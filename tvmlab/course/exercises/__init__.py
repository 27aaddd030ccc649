"""The exercises that come with tvmlab, one file each."""

from __future__ import annotations

from tvmlab.course.exercises import (
    ex01a,
    ex01b,
    ex01c,
    ex01d,
    ex01e,
    ex02c,
    ex04a,
    ex08b,
    ex08f,
)

SHIPPED = (
    ex01a.EXERCISE,
    ex01b.EXERCISE,
    ex01c.EXERCISE,
    ex01d.EXERCISE,
    ex01e.EXERCISE,
    ex02c.EXERCISE,
    ex04a.EXERCISE,
    ex08b.EXERCISE,
    ex08f.EXERCISE,
)

__all__ = ["SHIPPED"]
