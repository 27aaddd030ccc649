"""The IPython face: parse the options, call one function of `tvmlab.api`, return its record.

``%load_ext tvmlab`` calls `load`, which imports no TVM: the first magic that needs it does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tvmlab.magics import explaining, guard
from tvmlab.magics.commands import Tvmlab
from tvmlab.magics.completion import option_matcher

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load", "unload"]


def load(shell: InteractiveShell) -> None:
    """Register the magics, their completions and ``%config Tvmlab`` in a shell; a second call renews them.

    Operators that are live already get back the names that `unload` took from them.
    """
    unload(shell)
    face = Tvmlab(shell=shell)  # puts itself among the shell's configurables
    shell.register_magics(face)
    face.matcher = option_matcher(face)
    shell.Completer.custom_matchers.append(face.matcher)
    guard.install(shell)
    explaining.install(shell)
    if (ops := sys.modules.get("tvmlab.ops")) is not None:
        ops.republish()


def unload(shell: InteractiveShell) -> None:
    """Remove everything that `load` put into the shell; nothing happens if it was not loaded.

    Live operators lose their names in TVMScript (``R.lab``) and in TOPI; TVM cannot forget the operators themselves.
    """
    manager = shell.magics_manager
    face = manager.registry.pop(Tvmlab.__name__, None)
    if face is None:
        return
    face.safe = False
    guard.remove(shell)
    explaining.remove(shell)
    for kind, table in face.magics.items():
        for name, magic in table.items():
            if manager.magics[kind].get(name) == magic:
                del manager.magics[kind][name]
    shell.configurables.remove(face)
    shell.Completer.custom_matchers.remove(face.matcher)
    if (ops := sys.modules.get("tvmlab.ops")) is not None:
        ops.withdraw()
