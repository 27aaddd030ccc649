"""%load_ext, %unload_ext and %reload_ext."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from IPython.core.error import UsageError

from tvmlab.magics.commands import Tvmlab

MAGICS = {name for name in dir(Tvmlab) if name.startswith("tvm_")}
CELLS = {"tvm_op", "tvm_graph", "tvm_exercise"} & MAGICS


def traces(shell) -> dict:
    """All that the extension may leave in a shell."""
    manager = shell.magics_manager
    return {
        "line": {name for name in manager.magics["line"] if "tvm" in name},
        "cell": {name for name in manager.magics["cell"] if "tvm" in name},
        "registry": [name for name in manager.registry if "vmlab" in name],
        "configurables": [type(c).__name__ for c in shell.configurables if "tvmlab" in type(c).__module__],
        "matchers": len(shell.Completer.custom_matchers),
        "shadows": sorted(set(vars(shell)) & {"show_usage_error", "run_cell_magic", "run_line_magic"}),
    }


def test_load_registers_every_magic(notebook):
    assert traces(notebook.shell) == {
        "line": MAGICS,
        "cell": CELLS,
        "registry": ["Tvmlab"],
        "configurables": ["Tvmlab"],
        "matchers": 1,
        "shadows": ["show_usage_error"],
    }


def test_unload_leaves_the_shell_as_it_was(bare):
    before = traces(bare.shell)
    bare("%load_ext tvmlab")
    ran = bare("%unload_ext tvmlab")
    assert (ran.error, ran.err) == (None, "")
    assert traces(bare.shell) == before
    assert isinstance(bare("%tvm_doctor").error, UsageError)


def test_loading_twice_is_harmless(notebook):
    before = traces(notebook.shell)
    ran = notebook("%load_ext tvmlab")
    assert (ran.error, ran.err) == (None, "")
    assert "already loaded" in ran.out
    assert traces(notebook.shell) == before


def test_load_itself_renews(notebook):
    from tvmlab.magics import load

    before = traces(notebook.shell)
    load(notebook.shell)
    assert traces(notebook.shell) == before


def test_unload_itself_of_a_shell_without_it(bare):
    from tvmlab.magics import unload

    before = traces(bare.shell)
    unload(bare.shell)
    assert traces(bare.shell) == before


def test_reload(notebook, api):
    before = traces(notebook.shell)
    ran = notebook("%reload_ext tvmlab")
    assert (ran.error, ran.err) == (None, "")
    assert traces(notebook.shell) == before
    assert notebook("%tvm_doctor").error is None


def test_unload_leaves_a_magic_that_another_extension_took_over(notebook):
    def other(line):
        return "other"

    notebook.shell.register_magic_function(other, "line", "tvm_fuse")
    notebook("%unload_ext tvmlab")
    assert notebook("%tvm_fuse").value == "other"


def test_unload_leaves_a_later_shadow_of_the_usage_error(notebook, capsys):
    shown = []
    ours = notebook.shell.show_usage_error

    def theirs(error):
        shown.append(str(error))
        ours(error)

    notebook.shell.show_usage_error = theirs
    notebook("%unload_ext tvmlab")
    ran = notebook("%tvm_opp")
    assert shown == ["Line magic function `%tvm_opp` not found."]
    assert ran.err == "UsageError: Line magic function `%tvm_opp` not found.\n"


PROBE = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_cell("%load_ext tvmlab")
assert "Tvmlab" in shell.magics_manager.registry
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_load_imports_nothing_heavy():
    ran = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    loaded = json.loads(ran.stdout.splitlines()[-1])
    roots = {name.partition(".")[0] for name in loaded}
    assert "tvmlab" in roots
    assert roots.isdisjoint({"tvm", "tvm_ffi", "numpy", "onnx", "onnxruntime", "matplotlib", "ipywidgets", "email"})
    ours = {name for name in loaded if name.startswith("tvmlab.") and not name.startswith("tvmlab.magics")}
    assert ours == {"tvmlab.errors"}


@pytest.mark.parametrize("name", sorted(MAGICS))
def test_load_ipython_extension_is_the_public_entry(name, shell):
    import tvmlab

    tvmlab.load_ipython_extension(shell)
    assert shell.find_line_magic(name) is not None
    tvmlab.unload_ipython_extension(shell)
    assert shell.find_line_magic(name) is None
