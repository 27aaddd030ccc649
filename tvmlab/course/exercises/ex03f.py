"""Exercise 03f: catch the lie.  Five operators, each a type rule and a compute; two of the rules are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.course.typing_rules import type_of
from tvmlab.records import Exercise, Mismatch, Property

SUSPECTS = '''\
from tvm import te, tirx
from tvm.relax import TensorType


class windows:
    """The sum of three neighbours."""

    def type_rule(x):
        return TensorType([*list(x.shape)[:-1], x.shape[-1] - 2], x.dtype)

    def compute(x):
        k = te.reduce_axis((0, 3), "k")
        shape = [*x.shape[:-1], x.shape[-1] - 2]
        return te.compute(shape, lambda *i: te.sum(x(*i[:-1], i[-1] + k), axis=k), name="windows")


class halves:
    """The larger of two neighbours; at the end one may be alone."""

    def type_rule(x):
        return TensorType([*list(x.shape)[:-1], x.shape[-1] // 2], x.dtype)

    def compute(x):
        last = x.shape[-1] - 1
        shape = [*x.shape[:-1], last // 2 + 1]
        return te.compute(
            shape, lambda *i: tirx.max(x(*i[:-1], 2 * i[-1]), x(*i[:-1], tirx.min(2 * i[-1] + 1, last))), name="halves"
        )


class rows:
    """Each row against each other row."""

    def type_rule(x):
        return TensorType([x.shape[0], x.shape[0]], x.dtype)

    def compute(x):
        k = te.reduce_axis((0, x.shape[1]), "k")
        return te.compute((x.shape[0],) * 2, lambda i, j: te.sum(x(i, k) * x(j, k), axis=k), name="rows")


class scaled:
    """Half of each element."""

    def type_rule(x):
        return x

    def compute(x):
        return te.compute(x.shape, lambda *i: x(*i) * tirx.const(0.5, "float32"), name="scaled")


class turned:
    """The last two axes change places."""

    def type_rule(x):
        return TensorType([*list(x.shape)[:-2], x.shape[-1], x.shape[-2]], x.dtype)

    def compute(x):
        shape = [*x.shape[:-2], x.shape[-1], x.shape[-2]]
        return te.compute(shape, lambda *i: x(*i[:-2], i[-1], i[-2]), name="turned")
'''
_NAMES = ("windows", "halves", "rows", "scaled", "turned")
_LIARS = ("halves", "scaled")


def suspects() -> dict[str, Any]:
    """The five by their names."""
    namespace: dict[str, Any] = {}
    exec(compile(SUSPECTS, "<suspects>", "exec"), namespace)  # noqa: S102 - the text above, which students read too
    return {name: namespace[name] for name in _NAMES}


def told_and_made(name: str, written: str) -> tuple[str, str]:
    """For one of the five and the type of an input, what its rule says and what its compute makes.

    Raises
    ------
    ValueError
        It is no type.
    """
    from tvm import relax, te

    from tvmlab.ops import rules

    suspect, kind = suspects()[name], type_of(written, {})
    made = suspect.compute(te.placeholder(list(kind.shape), str(kind.dtype), "x"))
    return rules.show(suspect.type_rule(kind)), rules.show(relax.TensorType(list(made.shape), made.dtype))


def _wrong_claim(name: Any, written: Any) -> Mismatch | None:
    if name not in _NAMES:
        return Mismatch(f"there is no suspect {name!r}", mend=f"they are {', '.join(_NAMES)}")
    mend = "write one with numbers: float32[2, 3]"
    try:
        said, made = told_and_made(name, written)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        return Mismatch(f"{written!r} is no input of {name}: {str(error)[:80]}", mend=mend)
    if said != made:
        return None
    return Mismatch(
        f"for {written} {name} does not lie: its rule says {said}, and compute makes that", mend="try others"
    )


def proven(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """Every claim is borne out."""
    claims = answer()
    if not isinstance(claims, dict) or not claims:
        return Mismatch(f"the answer is {claims!r:.60}, and no claim", mend='such as {"rows": "float32[2, 3]"}')
    return next((found for claim in claims.items() if (found := _wrong_claim(*claim)) is not None), None)


def complete(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """Both liars are named."""
    found = sum(name in _LIARS for name in answer())
    return (
        None
        if found == len(_LIARS)
        else Mismatch(f"{found} of the two liars are named", mend="odd sizes? other dtypes?")
    )


EXERCISE = Exercise(
    id="03f",
    title="catch the lie",
    grade=2,
    statement=(
        "Five operators are given, each with a type rule and a compute. The rules of two of them promise what compute "
        "does not make, for some inputs. Return a dict: the name of each liar, and the type of an input that proves "
        "it, such as float32[2, 3]. ex03f.told_and_made(name, type) shows what both say."
    ),
    starter='''\
def liars():
    """{name: type of an input}, such as {"rows": "float32[2, 3]"}."""
    return ...
''',
    asks="liars",
    properties=(
        Property("every claim is proven by its input", proven),
        Property("both liars are named", complete),
    ),
    hints=(
        "Small even shapes of float32 show nothing. What else can differ between two inputs?",
        (
            "Put in a size of 5, and a dtype of 2 bytes. Work out by hand what the rule says, and then the shape and "
            "the dtype of the te.compute."
        ),
        (
            "Outline: one rounds the other way at an odd size; of one the shape is always right, and a constant "
            "changes the dtype."
        ),
    ),
    lesson="03_type_rules",
)
