"""How many slips in ``compute`` do the checks find?

Each operator of the gallery is mutated automatically: other constants, operators, comparisons, indices, axes, dtypes,
max for min, one attribute for another, an element read beside its place, negated, scaled, shifted, rounded or kept in
another dtype; then two slips at once, until there are enough.  A mutant that TVM or the guards
refuse when it is defined is not counted.  One that the checks C05, C10, C12 and C16 find is caught.  The others are
compared with the original on 100,000 numbers: what never differs is no slip, and not counted either.

    python benchmarks/check_mutants.py [--mutants 200] [--seconds 600] [--ops leaky_clamp,sum] [--json FILE]
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tvmlab import ops
from tvmlab.checks import check_op
from tvmlab.checks.interpreter import NotEvaluable
from tvmlab.checks.subject import Configuration, Refused, Subject
from tvmlab.checks.variants import attribute_variants, shape_variants
from tvmlab.errors import TvmlabError
from tvmlab.ops import gallery

CODES = ("C05", "C10", "C12", "C16")
BRUTE_FORCE = 100_000
LARGEST = 4_000
NAMESPACE = "mutant"

Change = tuple[ast.AST, str, int | None, object]

SWAPS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Add),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotIn: (ast.In,),
    ast.In: (ast.NotIn,),
}
CALLS = {
    "max": ("min",),
    "min": ("max",),
    "sum": ("max", "min"),
    "exp": ("tanh", "sigmoid"),
    "sigmoid": ("tanh", "exp", "erf", "floor"),
    "sqrt": ("exp", "tanh", "abs"),
    "all": ("any",),
}


def changes(function: ast.FunctionDef) -> Iterator[Change]:
    """Every single change of a function: the node, its field, the place in a list, and what comes there."""
    names = [a.arg for a in function.args.args]
    tensors = {*names, *(n.targets[0].id for n in ast.walk(function) if _makes_a_tensor(n))}
    for node in ast.walk(function):
        for field, value in ast.iter_fields(node):
            for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST):
                    yield from ((node, field, place, new) for new in others(child, names))
                    if _tensor_read(child) in tensors:
                        yield from ((node, field, place, new) for new in _other_elements(child, names[0]))


def _makes_a_tensor(node: ast.AST) -> bool:
    """Whether it is the assignment of a te.compute to a name."""
    made = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call)
    return made and ast.unparse(node.value.func) == "te.compute"


def _tensor_read(node: ast.AST) -> str:
    """The name of which an element is read; empty if none is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return node.func.id
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""


def _other_elements(read: ast.AST, like: str) -> Iterator[ast.AST]:
    """What might be used instead of an element of a tensor."""
    element = ast.unparse(read)
    forms = (
        "-{0}",
        "{0} * const_like(2, {1})",
        "{0} * {0}",
        "{0} + const_like(1, {1})",
        "{0} - const_like(0.001, {1})",
    )
    forms += tuple(f"te.{name}({{0}})" for name in ("abs", "floor", "round"))
    forms += tuple(f"tirx.{name}(const_like(0, {{1}}), {{0}})" for name in ("max", "min"))
    forms += tuple(f"{{0}}.astype({dtype!r}).astype({{1}}.dtype)" for dtype in ("float16", "int32"))
    for form in forms:
        yield ast.parse(form.format(element, like), mode="eval").body
    yield from _beside(read)


def _beside(read: ast.AST) -> Iterator[ast.AST]:
    """The element before, which at the edge is the same one."""
    index = list(read.args if isinstance(read, ast.Call) else getattr(read.slice, "elts", [read.slice]))
    for place, at in enumerate(index):
        if isinstance(at, ast.Starred):
            moved = [f"*(tirx.max(v - 1, 0) for v in {ast.unparse(at.value)})"]
        else:
            moved = [f"tirx.max({ast.unparse(at)} - 1, 0)"]
        texts = [*map(ast.unparse, index[:place]), *moved, *map(ast.unparse, index[place + 1 :])]
        name = ast.unparse(read.func if isinstance(read, ast.Call) else read.value)
        form = f"{name}({', '.join(texts)})" if isinstance(read, ast.Call) else f"{name}[{', '.join(texts)}]"
        yield ast.parse(form, mode="eval").body


def others(node: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """What might stand in a node's place by a slip."""
    yield from (made() for kind in SWAPS.get(type(node), ()) for made in [kind])
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield from (ast.Constant(v) for v in (node.value + 1, node.value - 1) if v != node.value)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        yield from (ast.Name(n, ast.Load()) for n in names if n != node.id)
    if isinstance(node, ast.BinOp):
        yield node.left
        yield node.right
        yield ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.UnaryOp):
        yield node.operand
    if isinstance(node, ast.Call):
        yield from _other_calls(node)
    if isinstance(node, ast.Subscript):
        yield from _other_indices(node)
    if isinstance(node, ast.Starred):
        yield ast.Starred(ast.Call(ast.Name("reversed", ast.Load()), [node.value], []), ast.Load())


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for other in CALLS.get(name, ()):
        if isinstance(node.func, ast.Attribute):
            yield ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)
    if name == "if_then_else" and len(node.args) == 3:
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], [])
        yield node.args[1]
    if name in ("exp", "sigmoid", "sqrt", "max", "min"):
        cast = ast.Call(ast.Attribute(node, "astype", ast.Load()), [ast.Constant("float16")], [])
        back = ast.Attribute(ast.Name("x", ast.Load()), "dtype", ast.Load())
        yield ast.Call(ast.Attribute(cast, "astype", ast.Load()), [back], [])
        if name not in ("max", "min"):
            yield node.args[0]
    if name == "const_like" and len(node.args) == 2:
        for by in (1, -1, 0.5):
            yield ast.Call(node.func, [ast.BinOp(node.args[0], ast.Add(), ast.Constant(by)), node.args[1]], [])
        yield ast.Call(node.func, [ast.UnaryOp(ast.USub(), node.args[0]), node.args[1]], [])
    if name == "reduce_axis" and isinstance(node.args[0], ast.Tuple):
        low, high = node.args[0].elts
        for pair in ((ast.Constant(1), high), (low, ast.BinOp(high, ast.Sub(), ast.Constant(1)))):
            yield ast.Call(node.func, [ast.Tuple(list(pair), ast.Load())], node.keywords)
    if len(node.args) >= 2 and name not in ("compute", "const_like", "zip", "all", "any"):
        yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and name in ("x", "power", "padded"):
        whole = ast.Call(ast.Name("tuple", ast.Load()), [node.args[0].value], [])
        yield ast.Call(node.func, [ast.Starred(ast.Subscript(whole, _slice(-1), ast.Load()), ast.Load())], [])


def _slice(step: int) -> ast.Slice:
    return ast.Slice(None, None, ast.Constant(step))


def _other_indices(node: ast.Subscript) -> Iterator[ast.AST]:
    index = node.slice
    if isinstance(index, ast.Tuple) and len(index.elts) > 1:
        for k in range(len(index.elts) - 1):
            swapped = list(index.elts)
            swapped[k], swapped[k + 1] = swapped[k + 1], swapped[k]
            yield ast.Subscript(node.value, ast.Tuple(swapped, ast.Load()), ast.Load())
    elif not isinstance(index, ast.Slice):
        yield ast.Subscript(node.value, ast.Constant(0), ast.Load())
        yield ast.Subscript(node.value, ast.Constant(-1), ast.Load())


def mutants(text: str, wanted: int, seed: int = 0) -> Iterator[str]:
    """Texts of cells whose compute has one slip, in random order, then two; each text once."""
    draw = random.Random(seed)
    tree = ast.parse(text)
    compute = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "compute")
    single = list(changes(compute))
    draw.shuffle(single)
    seen = {ast.unparse(tree)}
    given = 0
    for change in single:
        made = applied(tree, [change])
        if made is not None and made not in seen:
            seen.add(made)
            given += 1
            yield made
    for _ in range(wanted * 40):
        if given >= wanted * 6:
            return
        made = applied(tree, draw.sample(single, 2))
        if made is not None and made not in seen:
            seen.add(made)
            given += 1
            yield made


def applied(tree: ast.Module, chosen: list[Change]) -> str | None:
    """The text with some changes; None if they do not go together."""
    undo: list[Callable[[], None]] = []
    try:
        for node, field, place, new in chosen:
            fresh = copy.deepcopy(new)
            if place is None:
                old = getattr(node, field)
                setattr(node, field, fresh)
                undo.append(lambda n=node, f=field, o=old: setattr(n, f, o))
            else:
                values = getattr(node, field)
                old = values[place]
                values[place] = fresh
                undo.append(lambda v=values, p=place, o=old: v.__setitem__(p, o))
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, TypeError, RecursionError):
        return None
    finally:
        for each in reversed(undo):
            each()


def differs(original: ops.Op, mutant: ops.Op) -> bool:
    """Whether the two give other values, or take other inputs, on that many random numbers."""
    left, right = Subject(original), Subject(mutant)
    rng = np.random.default_rng(1)
    base, tried = left.base, 0
    shapes = shape_variants(left)
    large = [tuple(tuple(d * 8 if d > 3 else d for d in s) for s in several) for several in shapes[:3]]
    shapes = [s for s in [*large * 8, *shapes] if all(np.prod(each) <= LARGEST for each in s)]
    places = [Configuration(s, base.dtypes, a) for a in attribute_variants(left) for s in shapes]
    places = [p for p in places if left.takes(p)]
    while tried < BRUTE_FORCE:
        place = places[int(rng.integers(len(places)))]
        arrays = [
            (rng.standard_normal(s) * rng.choice([1, 5, 50])).astype(d)
            if rng.random() < 0.8
            else rng.integers(-3, 4, s).astype(d)
            for s, d in zip(place.shapes, place.dtypes, strict=True)
        ]
        tried += 1 + sum(a.size for a in arrays)
        try:
            one = left.prepare(place).evaluate(arrays)
            two = right.prepare(place).evaluate(arrays)
        except (Refused, TvmlabError):
            return True
        except NotEvaluable:
            continue
        for a, b, e, f in zip(one.outputs, two.outputs, one.errors, two.errors, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                return True
            with np.errstate(all="ignore"):
                apart = np.abs(a.astype("float64") - b.astype("float64")) > 2 * (e + f)
            if np.any(apart | (np.isnan(a) != np.isnan(b))):
                return True
    return False


def caught(mutant: ops.Op, *, quick: bool) -> str:
    """The check that finds it, in its quick or its full form; empty if none does."""
    report = check_op(mutant, quick=quick, only=CODES[:3] if quick else CODES)
    unkept = [r for r in report.results if (r.code, r.status) == ("C05", "warning")]
    return next((r.code for r in (*report.failed, *unkept)), "")


def score(name: str, wanted: int, seconds: float, seed: int = 0) -> dict[str, object]:
    """Mutate one operator of the gallery: how many mutants differ, and how many of these are caught."""
    started, worked = time.perf_counter(), time.process_time()
    text = gallery.text(name)
    original = ops.define(f"{NAMESPACE}.original", ops.read_cell(text))
    found: dict[str, int] = {}
    survivors: list[str] = []
    refused = equal = 0
    for body in mutants(text, wanted, seed):
        try:
            mutant = ops.define(f"{NAMESPACE}.{name}", ops.read_cell(body))
        except TvmlabError:
            refused += 1
            continue
        code = caught(mutant, quick=True)
        if not code and not differs(original, mutant):
            equal += 1
            continue
        code = code or caught(mutant, quick=False)
        if code:
            found[code] = found.get(code, 0) + 1
        else:
            survivors.append(body)
        if sum(found.values()) + len(survivors) >= wanted or time.process_time() - worked > seconds:
            break
    counted = sum(found.values()) + len(survivors)
    return {
        "op": name,
        "mutants": counted,
        "caught": sum(found.values()),
        "by": found,
        "equal": equal,
        "refused": refused,
        "seconds": time.perf_counter() - started,
        "survivors": survivors,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600.0, help="processor time for one operator")
    parser.add_argument("--ops", default=",".join(gallery.names()))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.ops.split(","):
        row = score(name, options.mutants, options.seconds)
        rows.append(row)
        by = ", ".join(f"{code} {count}" for code, count in sorted(row["by"].items()))
        share = row["caught"] / max(row["mutants"], 1)
        print(
            f"{name:15} {row['caught']:4} of {row['mutants']:4} caught ({share:.1%}; {by}); "
            f"{row['equal']} equal, {row['refused']} refused when defined, {row['seconds']:.0f} s",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
