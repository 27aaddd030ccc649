"""A compiled model comes back from its folder bit for bit, or says what is wrong with it."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from onnx import numpy_helper, parser
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812

import tvmlab as tl
from tvmlab import runtime
from tvmlab.errors import BackendError, CallError, LoadError
from tvmlab.pipeline import saving
from tvmlab.prelude import const_like, te, tirx

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((2, 3, 8, 8)).astype("f4")
WEIGHT = RANDOM.standard_normal((8, 3, 3, 3)).astype("f4")


class Clamp:
    class Attrs:
        lower: float = -1.0
        slope: float = 0.1

    def compute(x, lower, slope):
        low, leak, zero = (const_like(v, x) for v in (lower, slope, 0))
        return te.compute(x.shape, lambda *i: tirx.max(low, x(*i)) + leak * tirx.min(zero, x(*i) - low), name="clamp")


class Other:
    def compute(x):
        return te.compute(x.shape, x, name="other")


tl.op("savelab.clamp")(Clamp)

FRESH = """
import sys, numpy as np, tvmlab as tl
model = tl.load(sys.argv[1], trust=True)
x = np.load(sys.argv[2])
live = tl.ops.savelab.clamp(np.array([-3.0], "f4"), lower=-1.0, slope=0.5)
np.savez(sys.argv[3], y=tl.run(model, x), live=live)
assert model.notes == (), model.notes
"""


@pytest.fixture(scope="module")
def model():
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        small (float[2, 3, 8, 8] x) => (float[2, 8] y)
        { c = Conv <pads: ints = [1, 1, 1, 1]> (x, w) r = Relu(c) g = GlobalAveragePool(r) y = Flatten(g) }
    """)
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    return tl.load(proto).replace("Relu", "savelab.clamp", slope=0.25)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """A folder that must not be changed."""
    folder = tmp_path_factory.mktemp("saved") / "small"
    record = tl.save(model, folder)
    assert set(record.files) == {path.name for path in folder.iterdir()}
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "copy")
    return tmp_path / "copy"


def rewritten(folder, change, *, signed=True):
    """Change the manifest, with its checksum made good or not."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    if signed:
        manifest["checksum"] = saving._checksum(manifest)
    file.write_text(json.dumps(manifest))


def test_bit_for_bit_here_and_in_a_fresh_process(model, saved, tmp_path):
    want = tl.run(model, X)
    loaded = tl.load(saved, trust=True)
    assert loaded.run(X).tobytes() == want.tobytes()
    assert tl.run(loaded, X).tobytes() == want.tobytes()
    assert (loaded.inputs, loaded.outputs, loaded.ops) == (model.inputs, model.outputs, ("savelab.clamp",))
    np.save(tmp_path / "x.npy", X)
    command = [sys.executable, "-c", FRESH, str(saved), str(tmp_path / "x.npy"), str(tmp_path / "y.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with np.load(tmp_path / "y.npz") as got:
        assert got["y"].tobytes() == want.tobytes()
        assert got["live"].tolist() == [-2.0]


def test_parameters_are_plain_arrays_outside_of_the_library(saved):
    with np.load(saved / "parameters.npz", allow_pickle=False) as arrays:
        held = list(arrays.values())
    assert sum(array.nbytes for array in held) == tl.load(saved, trust=True).parameters
    assert any(np.array_equal(np.sort(array, None), np.sort(WEIGHT, None)) for array in held)
    library = next(path for path in saved.iterdir() if path.stem == "library").read_bytes()
    assert WEIGHT[0, 0, 0].tobytes() not in library


def test_loading_asks_for_trust(saved):
    for options in ({}, {"trust": False}, {"trust": 1}):
        with pytest.raises(LoadError, match="loading it runs code with your rights") as caught:
            tl.load(saved, **options)
        assert "trust=True" in caught.value.mend


def test_what_it_takes_is_checked(saved):
    loaded = tl.load(saved, trust=True)
    for wrong, what in (
        ((X, X), "takes 1 arguments, got 2"),
        ((X[:, :2],), "expected"),
        ((X.astype("f8"),), "expected"),
    ):
        with pytest.raises(CallError, match=what):
            loaded.run(*wrong)


def set_in(*path_and_value):
    *path, value = path_and_value

    def change(manifest):
        at = manifest
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (set_in("made_with", "apache-tvm", "0.26.0"), r"made with apache-tvm 0\.26\.0, and this is"),
        (set_in("system", "machine", "sparc"), "made for .* on sparc, and this is"),
        (
            set_in("processor", {"name": "wonder", "instructions": ["simd"]}),
            "a wonder, and this processor lacks",
        ),
        (set_in("calls", ["my.own.function"]), "call my.own.function, which this process does not have"),
        (set_in("version", 99), "version 99 of the format"),
        (set_in("format", "something"), "no compiled model of tvmlab"),
    ],
)
def test_another_tvm_system_or_processor_is_refused(copy, change, what):
    rewritten(copy, change)
    with pytest.raises(LoadError, match=what):
        tl.load(copy, trust=True)


def test_changed_cut_off_and_missing_files(copy, saved):
    rewritten(copy, set_in("name", "other"), signed=False)
    with pytest.raises(LoadError, match=r"manifest\.json is not what was saved"):
        tl.load(copy, trust=True)
    for text in ("", "[1]", "[" * 100_000, '{"format"', "\x00"):
        (copy / "manifest.json").write_text(text)
        with pytest.raises(LoadError, match=r"manifest\.json is not what was saved"):
            tl.load(copy, trust=True)
    shutil.copy(saved / "manifest.json", copy)
    for file in sorted(saved.iterdir()):
        if file.name == "manifest.json":
            continue
        data = file.read_bytes()
        for broken in (data[:-1], data[: len(data) // 2], data[:100] + bytes([data[100] ^ 1]) + data[101:]):
            (copy / file.name).write_bytes(broken)
            with pytest.raises(LoadError, match=f"{file.name} is not what was saved"):
                tl.load(copy, trust=True)
        (copy / file.name).unlink()
        with pytest.raises(LoadError, match=f"{file.name} is missing"):
            tl.load(copy, trust=True)
        shutil.copy(file, copy)
    assert tl.load(copy, trust=True).name == "small"


@pytest.mark.parametrize(
    "key", ["files", "ops", "made_with", "arguments", "inputs", "processor", "parameters", "calls"]
)
def test_a_manifest_that_somebody_else_signed(copy, key):
    for value in (None, 7, {"a": 1}, [{}]):
        rewritten(copy, set_in(key, value))
        with pytest.raises(LoadError):
            tl.load(copy, trust=True)
    rewritten(copy, lambda manifest: manifest.pop(key))
    with pytest.raises(LoadError, match="is not what was saved"):
        tl.load(copy, trust=True)


def test_a_part_of_the_folder_is_no_model(saved):
    for name in ("manifest.json", "parameters.npz"):
        with pytest.raises(LoadError, match="a part of a compiled model") as caught:
            tl.load(saved / name, trust=True)
        assert str(saved) in caught.value.mend


def test_nothing_is_overwritten_or_left_behind(model, copy, tmp_path, monkeypatch):
    with pytest.raises(CallError, match="a model was saved there"):
        tl.save(model, copy)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    for path, what in (("mine", "holds other things"), ("file", "a file of that name"), ("no/where", "no folder")):
        with pytest.raises(CallError, match=what):
            tl.save(model, tmp_path / path, overwrite=True)
    for path in (None, "", "."):
        with pytest.raises(CallError, match="is no "):
            tl.save(model, path)
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr("tvmlab.runtime.library._LINKERS", ("no-such-compiler",))
    with pytest.raises(BackendError, match="takes a C\\+\\+ compiler"):
        tl.save(model, tmp_path / "new")
    with pytest.raises(BackendError):
        tl.save(model, copy, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert tl.load(copy, trust=True).name == "small"


@I.ir_module
class Odd:
    """A dtype that NumPy does not know, a symbolic size, two outputs of which one is the input, and a scalar."""

    @R.function
    def main(x: R.Tensor(("n", 4), "bfloat16")):
        with R.dataflow():
            y = R.add(x, R.const(np.array([0.5, 1, 2, 3], ml_dtypes.bfloat16)))
            z = R.multiply(y, R.const(2, "bfloat16"))
            out = (z, x)
            R.output(out)
        return out


def test_odd_types_and_shapes(tmp_path):
    traced = tl.trace(tl.load(Odd, name="odd"))
    tl.save(traced, tmp_path / "odd")
    loaded = tl.load(tmp_path / "odd", trust=True)
    assert [str(t) for t in loaded.inputs] == ["x: bfloat16[n, 4]"]
    for rows in (1, 5, 0):
        x = np.arange(rows * 4).reshape(rows, 4).astype(ml_dtypes.bfloat16)
        for got, want in zip(loaded.run(x), traced.executable.run(x), strict=True):
            assert (got.dtype, got.tobytes()) == (want.dtype, want.tobytes())


def test_a_loaded_model_is_not_taken_for_one_that_can_be_compiled(saved):
    loaded = tl.load(saved, trust=True)
    for call in (tl.fuse, tl.verify, tl.trace, tl.compare):
        with pytest.raises(CallError, match="is machine code"):
            call(loaded)
    for call in (tl.verify, tl.fuse, lambda folder: tl.fuse(folder, level="onnx")):
        with pytest.raises(CallError, match="is machine code"):
            call(saved)
    with pytest.raises(CallError, match="saved already"):
        tl.save(loaded, saved.parent / "again")
    with pytest.raises(CallError, match="cannot run in a child"):
        tl.run(loaded, X, isolate=True)


def test_safe_mode_runs_only_what_was_proved_safe(model, saved, monkeypatch):
    monkeypatch.setattr(runtime.POLICY, "safe", True)
    loaded = tl.load(saved, trust=True)
    assert loaded.proved_safe is runtime.is_proved_safe(tl.trace(model)["schedule"].module)
    with pytest.raises(CallError, match="not proved safe"):
        dataclasses.replace(loaded, proved_safe=False).run(X)
    assert dataclasses.replace(loaded, proved_safe=True).run(X).shape == (2, 8)


def test_an_operator_that_changed_since_is_left_alone_and_told(saved):
    other = tl.op("savelab.clamp")(Other)
    try:
        loaded = tl.load(saved, trust=True)
        assert loaded.notes == (
            "savelab.clamp is live here in another version; the model keeps the one it was built with",
        )
        assert tl.ops.savelab.clamp.spec is other.spec
    finally:
        tl.op("savelab.clamp")(Clamp)
