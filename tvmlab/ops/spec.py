"""What one version of an operator is: everything that its cell says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlab.errors import CallError
from tvmlab.ops.attributes import Attribute, Schema
from tvmlab.ops.binding import Binding
from tvmlab.ops.source import Source, caller
from tvmlab.records import Record


@dataclass(frozen=True, repr=False, eq=False)
class OpSpec(Record):
    """One version of an operator, frozen when its cell ran.

    Parameters
    ----------
    name : str
        ``namespace.name``.
    doc : str
        The cell's docstring.
    schema : Schema
        Its attributes.
    compute : Binding
        From te tensors to te tensors.
    type_rule : Binding or None
        None: the type is derived from `compute`.
    reference : Binding or None
        From NumPy arrays to NumPy arrays: what the operator should be.
    gradient : Binding or None
        From the gradient of the output, then the tensors, to one Relax expression a tensor.
    schedule : callable or None
        As declared.
    lowerings : mapping of str to Binding
        ``lower_for_<target>`` by kind of target.
    pattern : int or None
        A pattern kind that is forced instead of inferred.
    examples : tuple of mapping
        Inputs for the checks: shapes or arrays by tensor name, values by attribute name.
    source : Source
        Where it is written.
    fingerprint : str
        Hash of the text.
    """

    name: str
    doc: str
    schema: Schema = field(repr=False)
    compute: Binding = field(repr=False)
    type_rule: Binding | None = field(repr=False)
    reference: Binding | None = field(repr=False)
    gradient: Binding | None = field(repr=False)
    schedule: Callable[..., Any] | None = field(repr=False)
    lowerings: Mapping[str, Binding] = field(repr=False)
    pattern: int | None
    examples: tuple[Mapping[str, Any], ...] = field(repr=False)
    source: Source = field(repr=False)
    fingerprint: str

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensor inputs; a variadic one is not among them."""
        return self.compute.tensors

    @property
    def variadic(self) -> bool:
        """Whether it takes any number of further tensors."""
        return self.compute.variadic

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Its attributes in declared order."""
        return self.schema.attributes

    @property
    def kernel_name(self) -> str:
        """Name of the kernel that it lowers to."""
        return self.name.replace(".", "_")

    @property
    def signature(self) -> str:
        """``lab.leaky_clamp(x, *, lower: float = -1.0)``."""
        tensors = [*self.tensors, *(["*tensors"] if self.variadic else [])]
        attributes = [str(a) for a in self.attributes]
        star = ["*"] if attributes and not self.variadic else []
        return f"{self.name}({', '.join([*tensors, *star, *attributes])})"

    @property
    def headline(self) -> str:
        return self.signature

    def to_dict(self) -> dict[str, Any]:
        return {
            **super().to_dict(),
            "tensors": list(self.tensors),
            "attributes": [{"name": a.name, "type": a.type_name, "default": str(a.default)} for a in self.attributes],
        }

    def check_count(self, count: int) -> None:
        """Refuse a wrong number of tensors with a CallError."""
        if not self.compute.accepts(count):
            need = f"at least {len(self.tensors)}" if self.variadic else str(len(self.tensors))
            raise CallError(
                f"{self.name} takes {need} tensor{'s' if need != '1' else ''}, got {count}",
                where=caller() or self.signature,
                mend=f"the signature is {self.signature}; attributes go by name",
            )

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split ``tensors…, attributes…`` (in declared order) into the two."""
        count = len(values) - len(self.attributes)
        return tuple(values[:count]), dict(zip(self.schema.names, values[count:], strict=True))
