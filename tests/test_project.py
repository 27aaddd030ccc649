"""What a fresh clone relies on: the lock, the wheel, the set-up and its sentences, the rules for imports."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PLATFORMS = [
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "aarch64"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
]


def script(name):
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked(environment):
    """Package -> version that the lock installs in an environment."""
    pins = {}
    for line in LOCK.splitlines():
        found = re.match(r"([a-z0-9-]+)==(\S+)(?: ; (.*?))? \\$", line)
        if found and (found[3] is None or Marker(found[3]).evaluate(environment)):
            assert found[1] not in pins, f"{found[1]} is locked twice for {environment}"
            pins[found[1]] = found[2]
    return pins


def wanted(*extras):
    """Requirements of the package and its extras, extras of itself followed."""
    found = [Requirement(line) for line in PROJECT["dependencies"]]
    for extra in extras:
        for line in PROJECT["optional-dependencies"][extra]:
            need = Requirement(line)
            found += wanted(*need.extras) if need.name == "tvmlab" else [need]
    return found


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda p: f"{p['sys_platform']}-{p['platform_machine']}")
def test_the_lock_has_all_that_is_asked_for_on_every_platform(platform, python):
    environment = {**platform, "python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    pins = locked(environment)
    for need in wanted("lab", "test", "docs"):
        assert need.specifier.contains(pins[need.name.lower()]), need


def test_the_lock_names_no_host_and_no_folder():
    assert not re.search(r"://|file:|--index|--extra|--find-links|^-|/", re.sub(r"# .*", "", LOCK), re.MULTILINE)
    assert "://" not in LOCK
    assert str(ROOT) not in LOCK


def test_every_pin_has_a_hash():
    blocks = re.split(r"\n(?=[a-z])", LOCK.split("\n", 2)[2])
    assert len(blocks) > 100
    assert all("--hash=sha256:" in block for block in blocks)


def test_the_set_up_knows_the_platforms_and_pythons_of_the_lock():
    set_up = script("set_up")
    assert {(p["sys_platform"], p["platform_machine"]) for p in PLATFORMS} == set_up.PLATFORMS
    assert PROJECT["requires-python"] == ">={}.{}".format(*set_up.OLDEST)
    beyond = ".".join(map(str, (set_up.NEWEST[0], set_up.NEWEST[1] + 1)))
    assert LOCK.count(f"python_full_version < '{beyond}'") > 100


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("version_info", (3, 10, 4), r"is Python 3\.10, but tvmlab needs Python 3\.11 to 3\.14; install one.*PYTHON="),
        ("version_info", (3, 15, 0), r"is Python 3\.15, but tvmlab needs"),
        ("platform", "sunos5", r"no TVM package for sunos5 on .*; there is for Linux"),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(monkeypatch, name, value, sentence):
    set_up = script("set_up")
    monkeypatch.setattr(sys, name, value)
    with pytest.raises(SystemExit, match=sentence):
        set_up.check_python()


def test_a_python_without_venv_is_refused_with_the_command_that_helps(monkeypatch):
    set_up = script("set_up")
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match=r"sudo apt install python3\.\d+-venv"):
        set_up.check_python()


def test_the_wheel_carries_the_tutorials_the_licence_and_the_types(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("tvmlab-*-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"tvmlab/tutorials/{source.name}" for source in (ROOT / "tutorials").glob("*.py")} <= names
    assert {"tvmlab/py.typed", "tvmlab/cli.py"} <= names
    assert {f"tvmlab/show/bundles/{file.name}" for file in (ROOT / "tvmlab/show/bundles").iterdir()} <= names
    assert not [name for name in names if name.startswith("tvmlab/show/js/")]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.split("/")[0] in ("tests", "teacher", "benchmarks", "tools")]
    assert not [name for name in names if name.endswith(".ipynb")]


@pytest.mark.parametrize(
    ("code", "offences"),
    [
        ("import tvm\ntvm.ir._ffi_api.RegisterOp('x', '')", [2]),
        ("from tvm.ir import _ffi_api", [1]),
        ("def f():\n    from tvm import relax as r\n    return r._ffi_api.Call", [3]),
        ("import tvm_ffi\ntvm_ffi._private()", [2]),
        ("import tvm\nprint(tvm.__version__)", []),
        ("import tvm\nclass A:\n    def f(self): return self._mine", []),
        ("import os\nos._exit(0)", []),
    ],
)
def test_private_tvm_names_are_found(tmp_path, code, offences):
    room = tmp_path / "tvmlab" / "ops"
    room.mkdir(parents=True)
    (room / "module.py").write_text(code, encoding="utf-8")
    (tmp_path / "tvmlab" / "tvm_api.py").write_text(code, encoding="utf-8")
    found = list(script("check_imports").offences(tmp_path / "tvmlab"))
    assert [int(line.split(":")[1]) for line in found] == offences
    assert all(line.startswith("tvmlab/ops/module.py") for line in found)


@pytest.mark.parametrize(
    ("code", "offences"),
    [
        ("import numpy as np, onnx.helper\nimport heapq\nfrom tvmlab.records import Group", 0),
        ("import networkx", 1),
        ("def f():\n    import tvm", 1),
        ("from tvm import relax", 1),
    ],
)
def test_the_fuser_knows_numpy_and_onnx_alone(tmp_path, code, offences):
    room = tmp_path / "tvmlab" / "fusion"
    room.mkdir(parents=True)
    (room / "module.py").write_text(code, encoding="utf-8")
    assert len(list(script("check_imports").offences(tmp_path / "tvmlab"))) == offences


def test_modules_that_windows_lacks_may_be_imported_in_functions_alone(tmp_path):
    package = tmp_path / "tvmlab"
    package.mkdir()
    code = "import os\nif os.name:\n    import fcntl\nfrom pwd import getpwuid\ndef f():\n    import resource\n"
    (package / "module.py").write_text(code, encoding="utf-8")
    found = list(script("check_imports").offences(package))
    assert sorted(line.split(":")[1:3] for line in found) == [
        ["3", " fcntl is missing on Windows; import it in a function"],
        ["4", " pwd.getpwuid is missing on Windows; import it in a function"],
    ]


def test_the_rules_hold_in_this_checkout():
    assert script("check_imports").main() == 0
