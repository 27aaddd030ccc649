"""Pages that are made of the project itself: notebooks, magics, commands, and where each article's items are taught."""

from __future__ import annotations

import argparse
import importlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "tutorials"
ITEMS = re.compile(r"<!-- articles: ([AB0-9 ]+) -->")
_FAMILIES = {"A": range(1, 105), "B": range(1, 45)}
_TOPICS = {
    6: "the error zoo",
    9: "patterns and verified fusion",
    10: "schedules and speed",
    11: "gradients",
    12: "ship it",
}
_COVERAGE = """\
tvmlab teaches what two Chinese articles describe for an older TVM: adding an operator (A) and fusing operators in pure
Python (B). Each of their items is in a section of a notebook, in a feature, or in the second half of the course. The
sections name their items themselves; this page is made of them."""


@dataclass(frozen=True)
class Section:
    """A section of a notebook, and the items that it names in a comment under its heading."""

    notebook: str
    title: str
    items: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """The heading's id on the page of the notebook, as docutils makes it."""
        from docutils.nodes import make_id

        return make_id(self.title)


@dataclass(frozen=True)
class Item:
    """What one of the articles teaches, and where it is here."""

    name: str
    says: str
    here: tuple[str, ...] = ()
    later: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def mapped(self) -> bool:
        """Is it in a notebook, in a feature, or in the second half of the course?"""
        return bool(self.sections or self.here or self.later)


def all_names() -> list[str]:
    """A01 to A104, B01 to B44."""
    return [f"{letter}{number:02d}" for letter, numbers in _FAMILIES.items() for number in numbers]


def sections() -> list[Section]:
    """Every section of a tutorial that names items."""
    found = []
    for source in sorted(TUTORIALS.glob("*.py")):
        title = ""
        for line in source.read_text(encoding="utf-8").splitlines():
            if (heading := re.match(r"# #+ (.+)", line)) is not None:
                title = heading[1].replace("`", "").replace("*", "")
            elif (comment := ITEMS.search(line)) is not None:
                found.append(Section(source.stem, title, tuple(comment[1].split())))
    return found


def items() -> list[Item]:
    """Both articles' items, each with the sections that name it."""
    known = tomllib.loads((ROOT / "docs" / "articles.toml").read_text(encoding="utf-8"))
    taught: dict[str, list[Section]] = {}
    for section in sections():
        for name in section.items:
            taught.setdefault(name, []).append(section)
    if strange := sorted((taught.keys() | known.keys()) - set(all_names())):
        raise ValueError(f"no such items: {', '.join(strange)}")
    return [
        Item(
            name,
            known[name]["says"],
            tuple(known[name].get("here", ())),
            tuple(known[name].get("later", ())),
            tuple(taught.get(name, ())),
        )
        for name in all_names()
    ]


def exists(feature: str) -> bool:
    """Is there such a name of tvmlab: a function, a magic, a command, a check, an explanation, a module?"""
    from tvmlab.magics.commands import Tvmlab

    if re.fullmatch(r"C\d\d", feature):
        from tvmlab.checks.catalogue import CHECKS

        return feature in {check.code for check in CHECKS}
    if re.fullmatch(r"E\d\d", feature):
        from tvmlab.diagnosis.rules import TABLE

        return feature in {rule.key for rule in TABLE}
    if feature.startswith("%"):
        return hasattr(Tvmlab, feature.strip("%"))
    if feature.startswith("tvmlab "):
        return feature.split()[1] in commands()
    if feature.startswith("tl."):
        return hasattr(importlib.import_module("tvmlab"), feature[3:])
    return importlib.util.find_spec(feature) is not None


def coverage() -> str:
    """The page that says of each item where it is."""
    lines = ["# What two articles teach, and where it is", "", _COVERAGE]
    for letter, title in (("A", "Article A: adding an operator"), ("B", "Article B: fusing in pure Python")):
        lines += ["", f"## {title}", "", "| | item | taught in | done by |", "|---|---|---|---|"]
        lines += [_row(item) for item in items() if item.name.startswith(letter)]
    return "\n".join([*lines, ""])


def _row(item: Item) -> str:
    taught = [f"[{s.notebook[:2]} · {s.title}](tutorials/{s.notebook}.ipynb#{s.anchor})" for s in item.sections]
    taught += [f"{number:02d} · {_TOPICS[number]} (to come)" for number in item.later]
    return f"| {item.name} | {item.says} | {'<br>'.join(taught)} | {', '.join(f'`{name}`' for name in item.here)} |"


def commands() -> dict[str, argparse.ArgumentParser]:
    """The commands of the shell, each with its options."""
    from tvmlab.cli import parser

    (choices,) = (a.choices for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(choices)


def command_line() -> str:
    """The page of the commands."""
    lines = ["# Commands", "", "What `tvmlab COMMAND --help` prints.", ""]
    for name, parser in commands().items():
        lines += [f"## tvmlab {name}", "", "```text", parser.format_help().strip(), "```", ""]
    return "\n".join(lines)


def magics() -> str:
    """The page of the magics."""
    from tvmlab.magics.commands import Tvmlab

    lines = ["# Magics", "", "What `%tvm_fuse?` prints, for each of them. `%load_ext tvmlab` brings them.", ""]
    for name in sorted(name for name in dir(Tvmlab) if name.startswith("tvm_")):
        work: Any = getattr(Tvmlab, name)
        lines += [f"## {name}", "", "```text", work.parser.format_help().replace("::\n", "\n").strip(), "```", ""]
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Put the pages into a folder, those that have changed."""
    import nbformat

    from tvmlab.workspace import to_notebook

    notebooks = {source.stem: to_notebook(source) for source in sorted(TUTORIALS.glob("[0-9]*.py"))}
    pages = {
        "articles.md": coverage(),
        "reference/commands.md": command_line(),
        "reference/magics.md": magics(),
        **{f"tutorials/{stem}.ipynb": nbformat.writes(notebook) for stem, notebook in notebooks.items()},
    }
    for name, text in pages.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
