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
    ex07a,
    ex07b,
    ex07c,
    ex07d,
    ex07e,
    ex07f,
    ex08a,
    ex08b,
    ex08c,
    ex08d,
    ex08e,
    ex08f,
    ex08g,
)

SHIPPED = (
    ex01a.EXERCISE,
    ex01b.EXERCISE,
    ex01c.EXERCISE,
    ex01d.EXERCISE,
    ex01e.EXERCISE,
    ex02c.EXERCISE,
    ex04a.EXERCISE,
    ex07a.EXERCISE,
    ex07b.EXERCISE,
    ex07c.EXERCISE,
    ex07d.EXERCISE,
    ex07e.EXERCISE,
    ex07f.EXERCISE,
    ex08a.EXERCISE,
    ex08b.EXERCISE,
    ex08c.EXERCISE,
    ex08d.EXERCISE,
    ex08e.EXERCISE,
    ex08f.EXERCISE,
    ex08g.EXERCISE,
)

__all__ = ["SHIPPED"]
