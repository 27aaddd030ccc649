"""What is shipped of the explorers: small enough, whole, and without a word about the network."""

from __future__ import annotations

import gzip
import re
from importlib import resources
from pathlib import Path

import pytest

BUNDLES = Path(str(resources.files("tvmlab.show") / "bundles"))
SOURCES = BUNDLES.parent / "js" / "src"
NAMES = sorted(file.stem for file in SOURCES.glob("*.js"))
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"}


def test_every_explorer_has_its_bundle():
    assert sorted(file.stem for file in BUNDLES.glob("*.js")) == NAMES
    assert sorted(file.stem for file in BUNDLES.glob("*.css")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_small_and_whole(name):
    files = [BUNDLES / f"{name}.js", BUNDLES / f"{name}.css"]
    assert sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) < 200_000
    script = files[0].read_text(encoding="utf-8")
    assert not re.search(r'(?:^|[;}])import\s*["{*\w]', script)
    assert not re.search(r"\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|\beval\s*\(", script)
    for file in files:
        assert set(re.findall(r"https?://[\w./-]+", file.read_text(encoding="utf-8"))) <= NAMESPACES


def test_the_licences_of_what_is_in_them_are_there():
    text = (BUNDLES / "LICENSES.txt").read_text(encoding="utf-8")
    for package in ("@codemirror/merge", "@codemirror/view", "@lezer/python", "style-mod"):
        assert re.search(rf"^{package} \d", text, re.MULTILINE)
    assert text.count("Permission is hereby granted") >= 10


@pytest.mark.parametrize("file", [*SOURCES.rglob("*.js")], ids=lambda file: file.name)
def test_text_never_becomes_html(file):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", file.read_text(encoding="utf-8"))
