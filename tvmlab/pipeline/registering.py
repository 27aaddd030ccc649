"""Let live operators stand for ONNX operators: what `tvmlab.onnx` offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tvmlab import ops
from tvmlab.errors import CallError
from tvmlab.fusion.foreign import Registration, enter, registrations, remove, versions_of
from tvmlab.fusion.kinds import STANDARD
from tvmlab.ops.naming import did_you_mean
from tvmlab.pipeline.live import DOMAIN

if TYPE_CHECKING:
    from tvmlab.ops import Op

__all__ = ["register", "unregister"]


def register(
    domain: str,
    op_type: str,
    op: Op | str,
    *,
    since: int = 1,
    attributes: Mapping[str, str | None] | None = None,
    absent: Mapping[str, Any] | None = None,
) -> Registration:
    """Let a live operator stand for an ONNX operator in every model that is loaded from now on.

    It counts at once.  In a ``with`` it counts until the end of the block.

    Parameters
    ----------
    domain : str
        The nodes' domain, such as ``"my.domain"``; an operator of the same type in another one is another operator.
    op_type : str
        The nodes' type, such as ``"LeakyClamp"``.
    op : str or Op
        The live operator; the version that is live when a model is loaded.
    since : int
        From which version of the domain on: of several registrations the newest that a model's version allows counts.
    attributes : mapping of str to str or None
        The operator's names of attributes that the nodes call otherwise: ``{"alpha": "slope"}``.  None leaves one
        out.  All others are mapped by their own names.
    absent : mapping of str to number, ndarray or callable
        By the name of a tensor of the operator: what stands for it where a node leaves it out.  A function is given,
        by name, the `TensorInfo` of those tensors that it takes: ``{"bias": lambda w: np.zeros(w.shape[0])}``.  A
        number gets the dtype of the first tensor.

    Returns
    -------
    Registration

    Raises
    ------
    CallError
        A name, version or mapping is none, or names nothing of the operator.
    NameRefused
        No operator of that name is live.
    """
    domain = checked_domain(domain, op_type)
    found = ops.find(op if isinstance(op, str) else _name_of(op))
    if type(since) is not int or since < 1:
        raise CallError(f"since={since!r} is no version of a domain", mend="versions are 1, 2, 3 …")
    renamed = _mapping("attributes", attributes)
    for name in renamed.values():
        if name is not None and name not in found.spec.schema.names:
            raise CallError(
                f"attributes: {found.name} has no attribute {name!r}",
                f"a registration of {domain}::{op_type}",
                did_you_mean(str(name), found.spec.schema.names) or "it has none at all",
            )
    filled = _mapping("absent", absent)
    for name in filled:
        if name not in found.spec.tensors:
            raise CallError(
                f"absent: {found.name} has no tensor {name!r}",
                f"a registration of {domain}::{op_type}",
                did_you_mean(str(name), found.spec.tensors),
            )
    before = versions_of(domain, op_type).get(since)
    made = Registration(domain, op_type, found.name, since, renamed, filled, before)
    enter(made)
    return made


def unregister(domain: str, op_type: str, *, since: int | None = None) -> None:
    """Let no live operator stand for an ONNX operator any more.

    Parameters
    ----------
    since : int, optional
        Only the registration from that version on; all by default.

    Raises
    ------
    CallError
        There is no such registration.
    """
    domain = checked_domain(domain, op_type)
    known = versions_of(domain, op_type)
    wanted = [each for version, each in known.items() if since in (None, version)]
    if not wanted:
        there = [_shown(each) for each in registrations()]
        what = f"{domain}::{op_type}" + ("" if since is None else f" since version {since}")
        raise CallError(f"{what} is not registered", mend=did_you_mean(what, there) or "nothing is registered")
    for each in wanted:
        remove(each)


def _shown(registration: Registration) -> str:
    return f"{registration.domain}::{registration.op_type}"


def checked_domain(domain: object, op_type: object) -> str:
    """The domain as it is looked up: both names of the standard one are ``""``."""
    example = 'register("my.domain", "LeakyClamp", "lab.leaky_clamp")'
    if not isinstance(domain, str) or not isinstance(op_type, str) or not op_type:
        raise CallError(f"{domain!r}, {op_type!r} name no ONNX operator", mend=example)
    if "::" in op_type or "::" in domain:
        raise CallError(f"{domain!r}, {op_type!r}: domain and type are two arguments", mend=example)
    if domain == DOMAIN:
        raise CallError(
            f"the domain {DOMAIN!r} is tvmlab's own: its nodes name their live operators themselves", mend=example
        )
    return "" if domain in STANDARD else domain


def _name_of(op: object) -> str:
    name = getattr(op, "name", None)
    if not isinstance(op, ops.Op) or name is None:
        raise CallError(
            f"a {type(op).__name__} is no live operator",
            mend='give its name, "lab.leaky_clamp", or what @tl.op returns',
        )
    return str(name)


def _mapping(what: str, given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise CallError(f"{what}={given!r} is no mapping of names", mend=f'{what}={{"…": …}}')
    return dict(given)
