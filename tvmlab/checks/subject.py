"""The operator under check, and what the checks share of it: configurations, te tensors, kernels, expected values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import tvm
from numpy.typing import NDArray
from tvm import relax, te
from tvm.relax import TensorType
from tvm.tirx import IntImm

from tvmlab.checks.interpreter import Decision, Evaluation, evaluate
from tvmlab.checks.kernels import Kernel, has_died, runnable
from tvmlab.errors import CallError, ComputeError, PipelineError, TvmlabError
from tvmlab.ops import Op, OpSpec, bounds, lowering, rules
from tvmlab.ops.evaluate import NotEvaluable, children
from tvmlab.ops.guarded import guarded

__all__ = [
    "Configuration",
    "Prepared",
    "Refused",
    "Subject",
    "Unkept",
    "call_text",
    "divides_integers",
    "legalized",
    "legalized_module",
    "outputs_of",
    "within_tvm",
]

Array = NDArray[Any]
T = TypeVar("T")
_SLIPS = (AttributeError, KeyError, NameError, TypeError)


class Refused(Exception):
    """The operator does not take a configuration; the text says why."""


class Unkept(Refused):
    """The compute fails on a configuration: with an error that is no refusal in words, or though the rule takes it.

    Parameters
    ----------
    text : str
    slip : bool
        Whether it fails as no value of an attribute excuses: a name, a type or a member that is not there.
    promised : bool
        Whether the type rule takes it.
    """

    def __init__(self, text: str, *, slip: bool, promised: bool) -> None:
        super().__init__(text)
        self.slip, self.promised = slip, promised


@dataclass(frozen=True)
class Configuration:
    """Shapes, dtypes and attributes of one call.

    Parameters
    ----------
    shapes : tuple of tuple of int
    dtypes : tuple of str
    attributes : mapping
        All of them, by name.
    """

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def types(self) -> list[TensorType]:
        """The types of the inputs."""
        return [TensorType(list(s), d) for s, d in zip(self.shapes, self.dtypes, strict=True)]

    @property
    def key(self) -> Any:
        """Something hashable that is equal for equal configurations."""
        return self.shapes, self.dtypes, repr(sorted(self.attributes.items()))

    def with_dtype(self, dtype: str) -> Configuration:
        """The same with another dtype for the tensors that have the first floating-point one, else the first one."""
        old = next((d for d in self.dtypes if "float" in d), self.dtypes[0] if self.dtypes else "")
        return Configuration(self.shapes, tuple(dtype if d == old else d for d in self.dtypes), self.attributes)

    def __str__(self) -> str:
        return ", ".join(rules.show(t) for t in self.types) or "no tensors"


@dataclass(frozen=True)
class Prepared:
    """A configuration as te tensors."""

    configuration: Configuration
    placeholders: tuple[te.Tensor, ...]
    outputs: tuple[te.Tensor, ...]

    @property
    def stages(self) -> list[te.Tensor]:
        """All te.compute tensors."""
        return bounds.stages(self.outputs)

    @property
    def reduces(self) -> bool:
        """Whether it holds a reduction."""
        return any(len(t.op.reduce_axis) for t in self.stages)

    @property
    def compares(self) -> bool:
        """Whether it holds a maximum or minimum: TVM's lose a NaN that is the first of the two."""
        queue = [body for stage in self.stages for body in stage.op.body]
        while queue:
            node = queue.pop()
            if type(node).__name__ in ("Max", "Min"):
                return True
            queue.extend([*children(node), *(node.combiner.result if hasattr(node, "combiner") else ())])
        return False

    @property
    def orders(self) -> bool:
        """Whether a reduction compares: TVM's max and min lose a NaN that is not the last element."""
        return any(
            len(t.op.reduce_axis) and any(type(r).__name__ != "Add" for r in t.op.body[0].combiner.result)
            for t in self.stages
        )

    def evaluate(
        self,
        arrays: Sequence[Array],
        decisions: dict[Any, Decision] | None = None,
        precision: str | None = None,
    ) -> Evaluation:
        """Evaluate on arrays in NumPy; see `tvmlab.checks.interpreter`."""
        return evaluate(self.outputs, dict(zip(self.placeholders, arrays, strict=True)), decisions, precision)

    @functools.cached_property
    def constants(self) -> tuple[float, ...]:
        """The numbers in its bodies, and those of its attributes."""
        found: set[float] = set()
        for tensor in self.stages:
            queue = list(tensor.op.body)
            while queue:
                node = queue.pop()
                if type(node).__name__ == "FloatImm":
                    found.add(float(node.value))
                queue.extend(children(node))
        for value in self.configuration.attributes.values():
            flat = value if isinstance(value, tuple) else (value,)
            found.update(float(v) for v in flat if isinstance(v, int | float) and not isinstance(v, bool))
        return tuple(sorted(v for v in found if np.isfinite(v)))


class Subject:
    """One operator, with everything that more than one check needs of it.

    Parameters
    ----------
    op : Op
        Live, or at least registered.
    quick : bool
        Whether only what takes milliseconds is wanted.
    seed : int
        Of the random inputs.
    """

    def __init__(self, op: Op, *, quick: bool = False, seed: int = 0) -> None:
        self.op = op
        self.quick = quick
        self.seed = seed
        self._prepared: dict[Any, Prepared | Exception] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._death: PipelineError | None = None

    @property
    def spec(self) -> OpSpec:
        """What its cell says."""
        return self.op.spec

    @property
    def base(self) -> Configuration:
        """The configuration that the guards found.

        Raises
        ------
        Refused
            If they found none.
        """
        example = self.op.examination.example
        if example is None:
            reason = next(iter(self.op.examination.remarks), "no inputs were found that it takes")
            raise Refused(reason)
        shapes = tuple(tuple(int(d) for d in t.shape) for t in example.types)
        return Configuration(shapes, tuple(str(t.dtype) for t in example.types), dict(example.attributes))

    def prepare(self, configuration: Configuration) -> Prepared:
        """A configuration as te tensors.

        Raises
        ------
        Refused
            If the type rule or the compute does not take it.
        TvmlabError
            TypeRuleError if both take it and disagree.
        """
        key = configuration.key
        if key not in self._prepared:
            try:
                self._prepared[key] = self._prepare(configuration)
            except (Refused, TvmlabError) as error:
                self._prepared[key] = error
        found = self._prepared[key]
        if isinstance(found, Exception):
            raise found
        return found

    def takes(self, configuration: Configuration, *, failing: bool = False) -> bool:
        """Whether it takes a configuration; True also where rule and compute disagree, or, if wanted, compute fails."""
        try:
            self.prepare(configuration)
        except Unkept:
            return failing
        except Refused:
            return False
        except TvmlabError:
            return True
        return True

    def _prepare(self, configuration: Configuration) -> Prepared:
        spec, types = self.spec, configuration.types
        try:
            values = spec.schema.values(spec.schema.make(configuration.attributes))
            declared = lowering.run_type_rule(spec, types, values) if spec.type_rule is not None else None
        except TvmlabError as error:
            raise Refused(error.what) from error
        try:
            placeholders = tuple(
                te.placeholder(list(t.shape), str(t.dtype), name=name)
                for t, name in zip(types, self.names(len(types)), strict=True)
            )
            outputs = tuple(lowering.run_compute(spec, placeholders, values))
        except TvmlabError as error:
            if isinstance(error, CallError) and declared is None:
                raise Refused(error.what) from error
            slip = isinstance(error.__cause__, _SLIPS) and not isinstance(error, CallError)
            raise Unkept(error.what, slip=slip, promised=declared is not None) from error
        sizes = [d for o in outputs for d in o.shape]
        if any(isinstance(d, IntImm) and int(d) < 0 for d in sizes):
            raise Refused("a size of the result would be negative")
        computed = lowering.result_type([TensorType(list(o.shape), str(o.dtype)) for o in outputs])
        if declared is not None and not lowering.agree(declared, computed):
            raise lowering.disagreement(spec, types, declared, computed)
        return Prepared(Configuration(configuration.shapes, configuration.dtypes, values), placeholders, outputs)

    def names(self, count: int) -> list[str]:
        """Names of the tensors, for that many of them."""
        return [*self.spec.tensors, *(f"tensor{i}" for i in range(count - len(self.spec.tensors)))]

    def safe(self, prepared: Prepared, arrays: Sequence[Array]) -> Evaluation | None:
        """Evaluate on arrays, so that a kernel may run on them; None if that cannot be evaluated but is proved safe.

        Raises
        ------
        Refused
            If a kernel would end the process or read outside, or that cannot be excluded.
        """
        try:
            evaluation = prepared.evaluate(arrays)
        except NotEvaluable as error:
            if bounds.unproved_reads(prepared.outputs) or divides_integers(prepared):
                raise Refused(f"it cannot be told whether its kernel is safe to run: it holds {error}") from error
            return None
        if evaluation.hazards:
            raise Refused(f"its kernel is not run: {evaluation.hazards[0]}")
        return evaluation

    def kernel(self, configuration: Configuration) -> Kernel:
        """The compiled kernel of a configuration, through the operator's own lowering."""
        key = configuration.key
        if key not in self._kernels:
            self._kernels[key] = runnable(legalized(self.op, configuration.types, configuration.attributes))
        return self._kernels[key]

    def run(self, configuration: Configuration, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Run the compiled kernel; only after `safe`."""
        return self.call(self.kernel(configuration), arrays)

    def call(self, kernel: Kernel, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of a kernel of the operator, fused or not; raises as `result` does."""
        return outputs_of(self.result(kernel, arrays))

    @property
    def death(self) -> str:
        """What the first kernel died of, if one ended its process; no other is run then."""
        return "" if self._death is None else f"its kernel is not run again: {self._death.what}"

    def result(self, kernel: Kernel, arrays: Sequence[Array], function: str = "main") -> Any:
        """What a kernel of the operator gives.

        Raises
        ------
        Refused
            If one has ended its process before.
        PipelineError
            If it fails, or ends its process.
        """
        if self.death:
            raise Refused(self.death)
        try:
            return kernel.run(*arrays, function=function)
        except PipelineError as error:
            if has_died(kernel, error):
                self._death = error
            raise

    def expected(self, configuration: Configuration, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """What the reference gives for arrays.

        Raises
        ------
        Refused
            If it raises.
        """
        spec = self.spec
        assert spec.reference is not None
        try:
            with np.errstate(all="ignore"):
                return outputs_of(spec.reference([np.array(a) for a in arrays], configuration.attributes))
        except lowering.USER_FAILURES as error:
            failure = lowering.user_error(spec, spec.reference, error, TvmlabError, configuration.types)
            raise Refused(failure.what) from failure


def divides_integers(prepared: Prepared) -> bool:
    """Whether it divides integers by what is no number that is known, or by 0 or -1."""
    for tensor in prepared.stages:
        queue = list(tensor.op.body)
        while queue:
            node = queue.pop()
            kind = type(node).__name__
            divides = kind in ("Div", "FloorDiv", "FloorMod", "Mod") and "int" in str(node.ty)
            if divides and not (isinstance(node.b, IntImm) and int(node.b) not in (0, -1)):
                return True
            queue.extend(children(node))
    return False


def outputs_of(result: Any) -> tuple[Array, ...]:
    """The arrays of a result, whether it is one or several."""
    return tuple(map(np.asarray, result)) if isinstance(result, tuple | list) else (np.asarray(result),)


def legalized(op: Op, types: Sequence[TensorType], attributes: Mapping[str, Any]) -> tvm.IRModule:
    """A module whose main calls the operator once, lowered by TVM."""
    return within_tvm(op.spec, lambda: op.legalized(types, attributes), types)


def legalized_module(module: tvm.IRModule, spec: OpSpec) -> tvm.IRModule:
    """A module whose operators are all lowered."""
    return within_tvm(spec, lambda: relax.transform.LegalizeOps()(module))


def within_tvm(spec: OpSpec, action: Callable[[], T], types: Sequence[TensorType] = ()) -> T:
    """Do something that TVM may refuse, without a word on stderr; its errors are told as the operator's."""
    return guarded(action, lambda error: lowering.user_error(spec, spec.compute, error, ComputeError, types))


def array_text(array: Array) -> str:
    """An array as it is typed: ``np.array([-2.0, np.nan], "float32")``."""
    if array.size == 0:
        return f'np.zeros({array.shape}, "{array.dtype.name}")'
    return f'np.array({_elements(array)}, "{array.dtype.name}")'


def _elements(array: Array) -> str:
    """The shortest text that reads back as the same elements."""
    if array.ndim:
        return f"[{', '.join(map(_elements, array))}]"
    text = str(array[()])
    return f"{'-' * text.startswith('-')}np.{text.lstrip('-')}" if text.lstrip("-") in ("nan", "inf") else text


def call_text(op: Op, arrays: Sequence[Array], attributes: Mapping[str, Any], *, method: str = "") -> str:
    """A call as it is typed, with the attributes that are not at their defaults."""
    given = [
        f"{a.name}={attributes[a.name]!r}"
        for a in op.spec.attributes
        if a.name in attributes and repr(attributes[a.name]) != repr(a.default)
    ]
    return f"tl.ops.{op.name}{method}({', '.join([*map(array_text, arrays), *given])})"
