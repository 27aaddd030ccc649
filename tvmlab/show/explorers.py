"""Explorers: widgets that carry their JavaScript with them and need no network.

How to make one
---------------
1. ``js/src/NAME.js`` exports ``default { render({ model, el }) }``.  `js/src/lib/base.js` has what all explorers share:
   `frame` (a named region in the theme's colours that keeps its keys to itself), `element` (text is never HTML),
   `listbox` (chosen from with arrow keys), `button`, `spoken`, `counts`, and `asker`.  ``make js`` bundles it, with the
   style sheets that it imports, into ``bundles/NAME.js`` and ``bundles/NAME.css``, which are committed.
2. A function of this room makes the widget of a record::

       @explorer("Partition")
       def partition(record: Partition) -> Any:
           return widget("graphs", record, {"nodes": [...]}, answer=lambda question: {...})

   ``facts`` reach the page once, as ``model.get("facts")``: keep them small.  Whatever is long is asked for, by
   ``await ask({...})`` with ``ask = asker(model)``, and answered by ``answer``: from JSON data to JSON data, the same
   for the same question, since answers are kept.  ``model.get("position")`` is a number that Python and other widgets
   may read, set and link: what is looked at.
3. The record's class derives from `tvmlab.records.Explorable`, which gives it ``.explore()``, and the magics ``-i``.

Where no widget is drawn (an untrusted notebook, an export) the record's static picture is shown in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from tvmlab.errors import CallError
from tvmlab.records import Explorable

__all__ = ["widget"]

Answer = Callable[[Mapping[str, Any]], Any]


def widget(
    bundle: str, record: Explorable, facts: Mapping[str, Any], answer: Answer | None = None, position: int = 0
) -> Any:
    """A widget that explores a record.

    Parameters
    ----------
    bundle : str
        ``NAME`` of the files in ``bundles/``.
    record : Explorable
        Gives the plain text and the static picture.
    facts : mapping
        JSON data that the page gets at once.
    answer : callable, optional
        From a question of the page to JSON data.
    position : int
        What is looked at first.

    Returns
    -------
    anywidget.AnyWidget

    Raises
    ------
    CallError
        anywidget is not installed.
    """
    return _widget_class(bundle)(record, answer, facts=dict(facts), position=position)


@functools.cache
def _widget_class(bundle: str) -> Any:
    try:
        import anywidget
    except ImportError as error:
        raise CallError(
            "explorers need the package anywidget, which is not installed",
            mend='pip install "tvmlab[explore]", then restart the kernel and reload the page; without -i or .explore() '
            "the static picture is shown",
        ) from error
    from traitlets import Dict, Int

    class Explorer(anywidget.AnyWidget):
        facts = Dict().tag(sync=True)
        position = Int().tag(sync=True)
        _esm = _file(f"{bundle}.js")
        _css = _file(f"{bundle}.css")

        def __init__(self, record: Explorable, answer: Answer | None, **state: Any) -> None:
            super().__init__(**state)
            self._record = record
            self._answer = answer
            self.on_msg(self._asked)

        def _asked(self, _widget: Any, message: Mapping[str, Any], _buffers: Any) -> None:
            self.send({"id": message["id"], **_reply(self._answer, message["question"])})

        def _repr_mimebundle_(self, **options: Any) -> Any:
            view, metadata = super()._repr_mimebundle_(**options) or ({}, {})
            return {**view, **self._record._repr_mimebundle_()}, metadata

    Explorer.__name__ = f"{bundle.capitalize()}Explorer"  # anywidget knows style sheets by it
    return Explorer


def _reply(answer: Answer | None, question: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": answer(question) if answer else None}
    except Exception as error:  # noqa: BLE001 - the page shows it; raised here it would end in the kernel's log
        return {"error": str(error)}


def _file(name: str) -> str:
    return (resources.files("tvmlab.show") / "bundles" / name).read_text(encoding="utf-8")
