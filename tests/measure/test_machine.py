"""On what a timing was taken."""

from __future__ import annotations

import importlib.metadata
import platform

from tvmlab.measure.machine import machine, processor


def test_facts_are_those_of_this_machine():
    facts = machine()
    assert facts["Python"] == platform.python_version()
    assert facts["apache-tvm"] == importlib.metadata.version("apache-tvm")
    assert int(facts["cores"]) >= 1
    assert facts["processor"] == processor()
    assert all(isinstance(value, str) and value for value in facts.values())


def test_what_is_not_installed_says_so(monkeypatch):
    def missing(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert machine()["onnxruntime"] == "not installed"


def test_a_system_without_proc(monkeypatch):
    monkeypatch.setattr("tvmlab.measure.machine.Path", lambda name: __import__("pathlib").Path("/nowhere"))
    assert processor()
