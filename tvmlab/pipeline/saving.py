"""Compiled models on disk: a folder with a library, its parameters, the operators' sources and a manifest.

Parameters are plain arrays, never pickles.  The library is machine code: loading it runs it, so that is asked for in
words.  What would crash or give other numbers is refused first: files that changed, another TVM, another processor.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import runpy
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import ops, runtime
from tvmlab.errors import CallError, LoadError, TvmlabError
from tvmlab.ops.exporting import NotWritable, module_text
from tvmlab.pipeline.model import Model, interface
from tvmlab.pipeline.tracing import Trace, trace
from tvmlab.records import Record, TensorInfo, Written
from tvmlab.runtime.signature import Parameter, Signature, dtype_of, signature_of

if TYPE_CHECKING:
    from tvmlab.ops import OpSpec

__all__ = ["CompiledModel", "is_part_of_saved", "is_saved", "open_saved", "save"]

Array = NDArray[Any]

MANIFEST = "manifest.json"
FORMAT, VERSION = "tvmlab compiled model", 1
_LIBRARY = f"library{runtime.SUFFIX}"
_PARAMETERS = "parameters.npz"
_PACKAGES = ("apache-tvm", "apache-tvm-ffi")
_LARGEST_MANIFEST = 64 << 20  # bytes


@dataclass(frozen=True, repr=False, eq=False)
class CompiledModel(Record):
    """A model as machine code, read from a folder that `save` wrote.

    Parameters
    ----------
    name : str
    inputs, outputs : tuple of TensorInfo
    ops : tuple of str
        Names of the live operators that it was built with.
    notes : tuple of str
        What became of them in this process.
    proved_safe : bool
        Whether all its kernels were proved safe when it was saved.
    parameters : int
        How many bytes its parameters have.
    """

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    ops: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    proved_safe: bool = False
    parameters: int = 0
    executable: runtime.Executable | None = field(default=None, repr=False)

    @property
    def headline(self) -> str:
        taken = ", ".join(map(str, self.inputs))
        given = ", ".join(map(str, self.outputs))
        return f"{self.name}, compiled: {taken} → {given}" + (f"; live: {', '.join(self.ops)}" if self.ops else "")

    def run(self, *inputs: Any) -> Any:
        """Run it on NumPy arrays.

        Returns
        -------
        ndarray or tuple of ndarray

        Raises
        ------
        CallError
            Number, dtype or shape of the inputs is wrong; or safe mode is on, and it is not proved safe.
        PipelineError
            It fails.
        """
        assert self.executable is not None
        if runtime.POLICY.safe and not self.proved_safe:
            raise CallError(
                f"{self.name} is not proved safe, and machine code from a file cannot run in a child",
                "safe mode",
                "load the model that it was made of, or switch safe mode off: %config Tvmlab.safe = False",
            )
        return self.executable.run(*inputs)


def save(model: Model | Trace, path: str | os.PathLike[str], *, overwrite: bool = False) -> Written:
    """Compile a model for this machine, and write it into a folder.

    Parameters
    ----------
    model : Model or Trace
        A trace is saved as it is: ``tl.trace(model, tuned=True)``.
    path : path
        The folder; it is written whole or not at all.
    overwrite : bool
        Put it in the place of a model that was saved there.

    Returns
    -------
    Written

    Raises
    ------
    CallError
        It is no model, or the path is taken.
    BackendError
        There is no compiler to link a library with.
    PipelineError
        A stage fails.
    """
    if isinstance(model, CompiledModel):
        raise CallError(f"{model.name} comes from a folder, where it is saved already", mend="copy the folder")
    if not isinstance(path, str | os.PathLike):
        raise CallError(f"{path!r} is no path of a folder", mend='tl.save(model, "my_model")')
    folder = Path(path)
    _refuse_taken(folder, overwrite)
    traced = model if isinstance(model, Trace) else trace(model)
    inputs, outputs = (model.inputs, model.outputs) if isinstance(model, Model) else interface(_first(traced))
    started = time.perf_counter()
    with _new_folder(folder) as made:
        manifest = _write(traced, made, inputs, outputs)
        files = {file.relative_to(made).as_posix(): file for file in sorted(made.rglob("*")) if file.is_file()}
        manifest["files"] = {name: {"bytes": f.stat().st_size, "sha256": _hash(f)} for name, f in files.items()}
        manifest["checksum"] = _checksum(manifest)
        (made / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        sizes = {file.name: file.stat().st_size for file in [*files.values(), made / MANIFEST]}
    notes = [f"the source of {each['name']} is not in it: {each['why']}" for each in manifest["ops"] if each["why"]]
    return Written(f"{traced.model}, compiled", str(folder), sizes, tuple(notes), time.perf_counter() - started)


def _first(traced: Trace) -> Any:
    return traced["import"].module


def _write(traced: Trace, folder: Path, inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> dict[str, Any]:
    module = traced["schedule"].module
    lifted, constants = runtime.lift_constants(module)
    runtime.export_library(lifted, folder / _LIBRARY)
    arrays = {f"constant_{at}": _storable(array) for at, array in enumerate(constants)}
    np.savez(folder / _PARAMETERS, **arrays)  # type: ignore[arg-type]
    signature = signature_of("main", module["main"])
    specs = _live_specs(_first(traced))
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": traced.model,
        "inputs": [_described(t) for t in inputs],
        "outputs": [_described(t) for t in outputs],
        "arguments": [_argument(p) for p in signature.parameters],
        "fresh": signature.fresh,
        "parameters": [
            _described(TensorInfo(n, c.shape, c.dtype.name)) for n, c in zip(arrays, constants, strict=True)
        ],
        "made_with": {"tvmlab": _tvmlab(), **{name: metadata.version(name) for name in _PACKAGES}},
        "system": _system(),
        "processor": runtime.processor(),
        "calls": runtime.called_functions(module),
        "ops": [_write_op(spec, folder) for spec in specs],
        "proved_safe": runtime.is_proved_safe(module),
    }


def _tvmlab() -> str:
    import tvmlab

    return tvmlab.__version__


def _system() -> dict[str, str]:
    return {"system": sys.platform, "machine": platform.machine().lower()}


def _described(tensor: TensorInfo) -> dict[str, Any]:
    return {"name": tensor.name, "dtype": tensor.dtype, "shape": tensor.shape}


def _argument(parameter: Parameter) -> dict[str, Any]:
    dtype = None if parameter.dtype is None else parameter.dtype.name
    return {"name": parameter.name, "dtype": dtype, "shape": parameter.shape, "tensor": parameter.tensor}


def _storable(array: Array) -> Array:
    """The array, or its bits where NumPy's format does not know the dtype, such as bfloat16."""
    return array if array.dtype.kind in "biufc" else array.view(f"u{array.dtype.itemsize}")


def _live_specs(module: Any) -> list[OpSpec]:
    """The versions of live operators that a module calls, one of each name."""
    from tvm import relax

    found: dict[str, OpSpec] = {}

    def visit(expression: Any) -> None:
        spec = ops.spec_of(expression) if isinstance(expression, relax.Call) else None
        if spec is not None:
            found[spec.name] = spec

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return [found[name] for name in sorted(found)]


def _write_op(spec: OpSpec, folder: Path) -> dict[str, Any]:
    try:
        text = module_text(spec)
    except NotWritable as error:
        return {"name": spec.name, "source": None, "sha256": None, "why": error.what}
    file = folder / f"{spec.kernel_name}.py"
    file.write_text(text, encoding="utf-8")
    return {"name": spec.name, "source": file.name, "sha256": _hash(file), "why": ""}


def _refuse_taken(folder: Path, overwrite: bool) -> None:
    if not folder.name or folder.parent.resolve() == folder.resolve():
        raise CallError(f"{str(folder)!r} is no name of a folder", mend='tl.save(model, "my_model")')
    if not folder.parent.is_dir():
        raise CallError(f"there is no folder {folder.parent}", str(folder), "make it first, or name another")
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise CallError("there is a file of that name", str(folder), "name a folder that is not there yet")
    if any(folder.iterdir()):
        if not is_saved(folder):
            raise CallError("the folder holds other things", str(folder), "name a folder that is not there yet")
        if not overwrite:
            raise CallError("a model was saved there", str(folder), "name another folder, or say overwrite=True")


@contextlib.contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside it, which takes its place in the end; nothing is left of it after a failure."""
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            yield made
            if folder.exists():
                shutil.rmtree(folder)
            made.chmod(0o755)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise CallError(
            f"it cannot be written: {error.strerror or error}",
            str(folder),
            "name a folder with room where you may write",
        ) from error


def is_saved(source: Any) -> bool:
    """Whether a path is a folder that `save` wrote."""
    try:
        return isinstance(source, str | os.PathLike) and (Path(source) / MANIFEST).is_file()
    except (OSError, ValueError):
        return False


def is_part_of_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file in a folder that `save` wrote."""
    return Path(path).name in (MANIFEST, _LIBRARY, _PARAMETERS) and is_saved(Path(path).parent)


def open_saved(path: str | os.PathLike[str], *, name: str | None = None, trust: bool = False) -> CompiledModel:
    """Read a compiled model from its folder.

    Parameters
    ----------
    name : str, optional
        What to call it; the name that it was saved under by default.
    trust : bool
        Whether its code may run: loading a library runs it, with your rights.

    Raises
    ------
    LoadError
        It is not trusted, was changed or cut off, was made by another TVM or for another processor, or needs a
        function that this process does not have.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    name = name or str(manifest.get("name"))
    if trust is not True:
        raise LoadError(
            f"{name} is machine code, and loading it runs code with your rights",
            str(folder),
            "if you trust who made it, say so: tl.load(path, trust=True)",
        )
    try:
        return _opened(manifest, folder, name)
    except (KeyError, TypeError, AttributeError) as error:  # a manifest that somebody else signed
        raise _changed(MANIFEST, folder) from error


def _opened(manifest: Mapping[str, Any], folder: Path, name: str) -> CompiledModel:
    _refuse_another_machine(manifest, folder)
    _refuse_changed(manifest, folder)
    _refuse_missing(manifest, folder)
    constants = _constants(manifest, folder)
    signature = _signature(manifest)
    notes = [note for each in manifest["ops"] if (note := _revive(each, folder))]
    return CompiledModel(
        name=name,
        inputs=tuple(map(_tensor_info, manifest["inputs"])),
        outputs=tuple(map(_tensor_info, manifest["outputs"])),
        ops=tuple(each["name"] for each in manifest["ops"]),
        notes=tuple(notes),
        proved_safe=manifest["proved_safe"] is True,
        parameters=sum(array.nbytes for array in constants),
        executable=runtime.open_library(folder / _LIBRARY, signature, constants),
    )


def _manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    try:
        if file.stat().st_size > _LARGEST_MANIFEST:
            raise LoadError("the manifest is far too large", str(file), "copy or save the model again")
        manifest = json.loads(file.read_text(encoding="utf-8"))
        broken = not isinstance(manifest, dict)
    except OSError as error:
        raise LoadError(f"the manifest cannot be read: {error.strerror}", str(file), "check its permissions") from error
    except (ValueError, RecursionError):
        manifest, broken = {}, True
    if not broken and manifest.get("format") != FORMAT:
        raise LoadError("this is no compiled model of tvmlab", str(file), "name a folder that tl.save wrote")
    if not broken and manifest.get("version") != VERSION:
        raise LoadError(
            f"it was saved in version {manifest.get('version')!r} of the format, this tvmlab reads {VERSION}",
            str(file),
            f"it was made by tvmlab {manifest.get('made_with', {}).get('tvmlab', '?')}: install that, or save it again",
        )
    if broken or manifest.get("checksum") != _checksum(manifest):
        raise _changed(MANIFEST, folder)
    found: dict[str, Any] = manifest
    return found


def _checksum(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _changed(name: str, folder: Path) -> LoadError:
    return LoadError(
        f"{name} is not what was saved: it was changed, or cut off", str(folder), "copy or save the model again"
    )


def _refuse_changed(manifest: Mapping[str, Any], folder: Path) -> None:
    needed = {_LIBRARY, _PARAMETERS, *(each["source"] for each in manifest["ops"] if each["source"] is not None)}
    if not needed <= manifest["files"].keys():
        raise _changed(MANIFEST, folder)
    for name, expected in manifest["files"].items():
        file = folder / name
        if not file.is_file():
            raise LoadError(f"{name} is missing", str(folder), "copy the folder whole, or save the model again")
        if file.stat().st_size != expected["bytes"] or _hash(file) != expected["sha256"]:
            raise _changed(name, folder)


def _refuse_another_machine(manifest: Mapping[str, Any], folder: Path) -> None:
    made_with, system = manifest["made_with"], manifest["system"]
    for package in _PACKAGES:
        here = metadata.version(package)
        if made_with[package] != here:
            raise LoadError(
                f"it was made with {package} {made_with[package]}, and this is {here}",
                str(folder),
                f"save the model again with this one, or pip install {package}=={made_with[package]}",
            )
    if system != _system():
        raise LoadError(
            f"it was made for {system['system']} on {system['machine']}, and this is "
            f"{_system()['system']} on {_system()['machine']}",
            str(folder),
            "save the model again on this machine",
        )
    if missing := runtime.lacking(manifest["processor"]):
        raise LoadError(
            f"it was made for a {manifest['processor']['name']}, and this processor lacks {', '.join(missing)}: "
            "running it would end the process",
            str(folder),
            "save the model again on this machine",
        )


def _refuse_missing(manifest: Mapping[str, Any], folder: Path) -> None:
    import tvm

    missing = [name for name in manifest["calls"] if tvm.get_global_func(name, allow_missing=True) is None]
    if missing:
        raise LoadError(
            f"its kernels call {', '.join(missing)}, which this process does not have",
            str(folder),
            f'register it first: @tvm.register_global_func("{missing[0]}")',
        )


def _revive(saved: Mapping[str, Any], folder: Path) -> str:
    """Make an operator live that the model was built with, unless it is; what there is to say of it."""
    name = saved["name"]
    if name in ops.live_names():
        try:
            same = hashlib.sha256(module_text(ops.find(name).spec).encode()).hexdigest() == saved["sha256"]
        except NotWritable:
            same = False
        return "" if same else f"{name} is live here in another version; the model keeps the one it was built with"
    if saved["source"] is None:
        return f"{name} is not live here, and its source was not saved: {saved['why']}.  The model runs without it"
    try:
        runpy.run_path(str(folder / saved["source"]))
    except Exception as error:  # noqa: BLE001 - the model itself does not need it
        said = error.what if isinstance(error, TvmlabError) else f"{type(error).__name__}: {error}"
        return f"{name} could not be made live: {said}.  The model runs without it"
    return ""


def _constants(manifest: Mapping[str, Any], folder: Path) -> list[Array]:
    try:
        with np.load(folder / _PARAMETERS, allow_pickle=False) as stored:
            return [_restored(stored[each["name"]], each) for each in manifest["parameters"]]
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise _changed(_PARAMETERS, folder) from error


def _restored(array: Array, said: Mapping[str, Any]) -> Array:
    dtype = dtype_of(said["dtype"])
    if dtype is None or list(array.shape) != list(said["shape"]):
        raise ValueError(said["name"])
    return array if array.dtype == dtype else array.view(dtype)


def _signature(manifest: Mapping[str, Any]) -> Signature:
    parameters = tuple(
        Parameter(a["name"], _shape(a["shape"]), None if a["dtype"] is None else dtype_of(a["dtype"]), a["tensor"])
        for a in manifest["arguments"]
    )
    return Signature("main", parameters, manifest["fresh"])


def _shape(shape: Any) -> tuple[int | str, ...] | None:
    return None if shape is None else tuple(shape)


def _tensor_info(said: Mapping[str, Any]) -> TensorInfo:
    return TensorInfo(said["name"], _shape(said["shape"]), said["dtype"])
