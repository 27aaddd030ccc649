"""What the README tells a newcomer to type works, in the order in which it is told."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import onnx
import pytest

import tvmlab

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(title, language="python"):
    """The Python blocks of a section, each without its indentation; those that go on from others say py."""
    section = README.split(f"\n## {title}", 1)[1].split("\n## ", 1)[0]
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", section, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


@pytest.mark.notebook
def test_the_steps_to_an_own_operator_work(bare):
    first, *rest = blocks("Your own operator")
    assert bare(first).error is None
    for cell in rest:
        ran = bare(cell)
        assert ran.error is None, ran.lines
        assert ran.err == ""
    assert len(rest) == 7


@pytest.mark.notebook
def test_the_slip_of_the_last_step_gives_three_lines_and_the_old_operator_lives(bare):
    load, define, call, *_ = blocks("Your own operator")
    bare(load)
    bare(define)
    ran = bare(define.replace("compute(x, limit)", "compute(x, limt)"))
    assert len(ran.lines) == 3
    assert "limt" in ran.lines[0]
    assert "line 7" in ran.lines[1]
    assert "limit" in ran.lines[2]
    assert bare(call).value.tolist() == [-2.0, 0.5, 2.0]


def test_the_python_interface_works_as_it_is_shown(capfd, tmp_path):
    (code,) = blocks("The same in Python")
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    names = runpy.run_path(str(script))
    assert names["verification"].ok
    assert names["partition"].kernels_after < names["partition"].kernels_before
    assert capfd.readouterr().err == ""


def test_nodes_of_an_own_domain_and_what_is_kept_work_as_it_is_shown(tmp_path, monkeypatch, capfd):
    _, define, *_ = blocks("Your own operator")
    name, body = re.match(r"%%tvm_op (\S+)\n(.*)", define, re.DOTALL).groups()
    (code,) = blocks("The same in Python", "py")
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]> g (float[2] x) => (float[2] y)'
    onnx.save(onnx.parser.parse_model(text + "{ y = my.domain.HardTanh <limit: float = 2.0> (x) }"), "mine.onnx")
    tvmlab.api.define(name, body)
    namespace = {"tl": tvmlab}
    try:
        exec(code, namespace)
    finally:
        tvmlab.onnx.unregister("my.domain", "HardTanh")
    for model in (namespace["model"], tvmlab.load("mine", trust=True)):
        assert tvmlab.run(model, [3.0, -0.5]).tolist() == [2.0, -0.5]
    assert {"hard_tanh.py", "test_hard_tanh.py"} < {path.name for path in tmp_path.iterdir()}
    assert capfd.readouterr().err == ""


def test_every_magic_is_in_the_table_and_no_other(notebook):
    from tvmlab.magics.commands import Tvmlab

    table = README.split("\n## Magics", 1)[1].split("\n## ", 1)[0]
    told = re.findall(r"^\| `%+(\w+)", table, re.MULTILINE)
    there = {*Tvmlab.magics["line"], *Tvmlab.magics["cell"]}
    assert sorted(told) == sorted(there)


def test_every_public_name_in_the_table_exists():
    table = README.split("\n## Magics", 1)[1].split("\n## ", 1)[0]
    for name in re.findall(r"`tl\.(\w+)`", table):
        assert name in tvmlab.__all__
        assert hasattr(tvmlab, name)


def test_every_folder_and_target_that_is_named_is_there():
    root = Path(__file__).resolve().parent.parent
    for path in re.findall(r"`((?:tvmlab|tutorials|tests|benchmarks)/[\w./]*)`", README):
        assert (root / path).exists(), path
    targets = re.findall(r"^([a-z]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z]+)", README)) <= set(targets)
