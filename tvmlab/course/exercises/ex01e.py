"""Exercise 01e: five cases, and for each the way to go, with a reason that can be checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlab.course.compositions import calls, model_of, run
from tvmlab.course.values import Case, compare
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside

REASONS = {
    "order": "each element needs the one before it",
    "memory": "whatever is composed keeps a value between its kernels that is far larger than inputs and output",
    "name": "a file carries it, and has to carry it again after the compiler was there",
}
TOO_LARGE = 4
"""A value between kernels may be this many times as large as the largest input or output."""


@dataclass(frozen=True)
class Situation:
    """What is asked for, in NumPy, and what is right: "one", "compose" or a reason to add an operator."""

    reference: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    right: str


def running_total(x: Any) -> Any:
    """The sum of all that comes before, in each row."""
    return np.cumsum(x, axis=1) - x


def squareplus(x: Any) -> Any:
    """A smooth ReLU."""
    return (x + np.sqrt(x * x + np.float32(4))) * np.float32(0.5)


def attention(q: Any, k: Any, v: Any) -> Any:
    """A few numbers for each of many positions."""
    logits = q @ k.T
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return (weights / weights.sum(1, keepdims=True)) @ v


def echo(x: Any) -> Any:
    """Each number, and half of the result before it."""
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += np.float32(0.5) * y[i - 1]
    return y


def clamp(x: Any) -> Any:
    """The node my.domain::Clamp of a model file."""
    return np.clip(x, np.float32(-1), np.float32(1))


CASES = {
    "running_total": Situation(running_total, ((4, 50),), "one"),
    "squareplus": Situation(squareplus, ((4, 50),), "compose"),
    "attention": Situation(attention, ((256, 8),) * 3, "memory"),
    "echo": Situation(echo, ((512,),), "order"),
    "clamp_of_a_file": Situation(clamp, ((4, 50),), "name"),
}


def decides(name: str) -> Property:
    """A property: the way that is chosen for a case is right, and what is given as the reason proves it."""
    situation = CASES[name]

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        composed, given = beside(answer, chosen, name)
        if composed:
            return _composed(name, situation, answer, random)
        if given not in REASONS:
            mend = f"give a function that composes it, or one of {', '.join(map(repr, REASONS))}"
            return Mismatch(f"{name}: {given!r:.60} is no answer", mend=mend)
        return _added(name, situation, given)

    return Property(f"{name} is decided with a reason that holds", check)


def chosen(answer: Any, name: str) -> tuple[bool, Any]:
    """Whether a case is answered by a function, and else by what."""
    given = answer().get(name)
    return callable(given), None if callable(given) else given


def looked_into(answer: Any, name: str, types: list[str], arrays: list[Any]) -> tuple[Any, int, list[str]]:
    """What the composition for a case gives, the most bytes that it keeps, and the operators that it calls."""
    function = answer()[name]
    return run(function, types, arrays), largest_between(model_of(function, types)), calls(function, types)[0]


def _composed(name: str, situation: Situation, answer: Any, random: np.random.Generator) -> Mismatch | None:
    """What speaks against a composition: its values, or what it keeps."""
    arrays = tuple(random.normal(0, 1, shape).astype("float32") for shape in situation.shapes)
    types = [f"float32{list(shape)}" for shape in situation.shapes]
    got, kept, called = beside(answer, looked_into, name, types, list(arrays))
    right = situation.reference(*arrays)
    found = compare(got, right, Case(arrays, {}), tuple(inspect.signature(situation.reference).parameters))
    if found is not None:
        return Mismatch(
            f"{name}: your composition is wrong: {found.what}",
            mend="mend it; if you think that none can be composed, give a reason in its place",
        )
    if situation.right == "name":
        mend = "what has to be found by its name needs one"
        return Mismatch(f"{name}: the values are right, but after import no node is called Clamp any more", mend=mend)
    limit = TOO_LARGE * max(each.nbytes for each in (*arrays, right))
    if kept > limit:
        what = f"{name}: the values are right, but {kept // 1024} KiB stand between the kernels, and the largest input"
        return Mismatch(f"{what} or output has {limit // TOO_LARGE // 1024}", mend="and that grows with the square")
    if situation.right == "one" and len(called) > 1:
        return Mismatch(f"{name}: {len(called)} calls, and the library has it in one", mend="read the docstrings")
    return None


def _added(name: str, situation: Situation, reason: str) -> Mismatch | None:
    if reason == situation.right:
        return None
    if situation.right == "one":
        return Mismatch(f"{name}: the library has it, with an option", mend="no operator has to be added")
    if situation.right == "compose":
        return Mismatch(f"{name}: a few operators of TVM's give it, and fuse into one kernel", mend="compose it")
    return Mismatch(
        f"{name}: an operator it is, but {REASONS[reason]!r} is not why", mend="what would a composition do?"
    )


def largest_between(model: Any) -> int:
    """Bytes of the largest value that a kernel writes and another reads, or that stands in the program, once fused."""
    from tvm import ir, relax

    from tvmlab import pipeline

    main = pipeline.trace(model)["fuse"].module["main"]
    sizes = [0]

    def visit(node: Any) -> None:
        inside = isinstance(node, ir.GenericConst) or (isinstance(node, relax.Var) and node not in main.params)
        if inside and isinstance(node.ty, relax.TensorType) and node.ty.shape is not None:
            sizes.append(int(np.prod([int(d) for d in node.ty.shape], dtype=np.int64)) * 4)

    relax.analysis.post_order_visit(main, visit)
    return max(sizes)


EXERCISE = Exercise(
    id="01e",
    title="five cases, five reasons",
    grade=3,
    statement=(
        "Decide five cases. running_total(x): in each row the sum of all numbers before. squareplus(x): "
        "(x + √(x² + 4)) / 2. attention(q, k, v): softmax of q kᵀ by rows, times v, for thousands of positions of a "
        "few numbers. echo(x): y[0] = x[0], then y[i] = x[i] + y[i - 1] / 2. clamp_of_a_file(x): a node "
        "my.domain::Clamp to [-1, 1] of a model, which is to be found by its name after the compiler was there, and "
        "written to a file again. Where TVM's operators do, give the function that composes them: it is run, and what "
        "it keeps in memory is counted. Where an operator has to be added, give the reason: 'order' (each element "
        "needs the one before it), 'memory' (a composition keeps a value far larger than its inputs) or 'name' (a "
        "file carries it)."
    ),
    starter='''\
def decide():
    """For each case a function of Relax expressions, or one of "order", "memory", "name"."""
    running_total = ...
    squareplus = ...
    attention = ...
    echo = ...
    clamp_of_a_file = ...
    return {
        "running_total": running_total,
        "squareplus": squareplus,
        "attention": attention,
        "echo": echo,
        "clamp_of_a_file": clamp_of_a_file,
    }
''',
    asks="decide",
    properties=tuple(map(decides, CASES)),
    hints=(
        "Try to compose each first. Where you cannot, or do not like what it costs, you have found the reason.",
        (
            "help(relax.op.cumsum) has an option that is easily missed. For attention, %tvm_fuse says how many kernels "
            "are left of your composition. Work out how large the values between them are for 4096 positions."
        ),
        (
            "Outline: two of the five are functions, one of them a single call. One of the other three is a loop that "
            "nothing can run at once, one keeps a square matrix, and of one nobody doubts that it can be composed."
        ),
    ),
    lesson="01_first_contact",
)
