"""MODEL, as a magic's line names it: a variable, else a name that a magic gave, else a file."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from tvmlab.magics import backend
from tvmlab.magics.errors import TvmlabUsageError, nearest

__all__ = ["Shelf", "variable_for"]


def variable_for(name: str) -> str:
    """The variable under which a model is bound: ``resnet50-v1`` becomes ``resnet50_v1``."""
    variable = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in name)
    if keyword.iskeyword(variable):
        return f"{variable}_"
    return variable if variable.isidentifier() else f"_{variable}"


class Shelf:
    """The models that magics made, and those in the user's variables.

    Parameters
    ----------
    variables : mutable mapping
        The user's namespace.
    """

    def __init__(self, variables: MutableMapping[str, Any]) -> None:
        self._variables = variables
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        """Names that MODEL may be, files apart."""
        bound = {name for name, value in self._variables.items() if _is_model(value) and not name.startswith("_")}
        yield from sorted(bound | set(self._made))

    def keep(self, model: Any, name: str, *, asked: bool) -> None:
        """Bind a model under its name, and as a variable.

        Parameters
        ----------
        asked : bool
            Whether the user gave the name.  If not, a variable that holds something else is left alone.

        Raises
        ------
        TvmlabUsageError
            The name was not asked for, and would hide another variable.
        """
        variable = variable_for(name)
        if not asked and variable in self._variables and not _is_model(self._variables[variable]):
            raise TvmlabUsageError(
                f"{variable!r}, the name of this model, is a variable of yours already",
                None,
                "give the model another name: --name NAME",
            )
        self._made[name] = model
        self._variables[variable] = model

    def find(self, word: str) -> Any:
        """The model that MODEL names.

        Raises
        ------
        TvmlabUsageError
            There is neither a variable, nor a name, nor a file.
        LoadError
            The variable or the file holds no model.
        """
        if word in self._variables:
            value = self._variables[word]
            return value if _is_model(value) else backend.api().load(value)
        if word in self._made:
            return self._made[word]
        path = Path(word).expanduser()
        if path.exists() or path.suffix == ".onnx":  # api.load knows more places, and what file may be meant
            return backend.api().load(path)
        raise TvmlabUsageError(f"there is no model, variable or file {word!r}", None, self._mend(word))

    def _mend(self, word: str) -> str:
        names = list(self)
        meant = nearest(word, names)
        if meant:
            return f"did you mean {meant}?"
        if names:
            return f"the models here: {', '.join(names)}"
        return "%tvm_load FILE or %%tvm_graph NAME makes a model"


def _is_model(value: Any) -> bool:
    # a model can exist only once the pipeline is imported; asking must not import it
    pipeline = sys.modules.get("tvmlab.pipeline")
    return pipeline is not None and isinstance(value, pipeline.Model | pipeline.CompiledModel)
