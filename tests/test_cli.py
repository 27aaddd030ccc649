"""The command line: options go to one function of the API, its record is printed, errors are three lines on stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest

import tvmlab
from tvmlab import api
from tvmlab.cli import main
from tvmlab.errors import LoadError
from tvmlab.records import DoctorReport, Finding, Record, picture


@dataclass(frozen=True, repr=False)
class Seen(Record):
    """What a stand-in for a function of the API was called with."""

    function: str
    given: tuple
    options: dict
    ok: bool = True

    @property
    def headline(self):
        return f"{self.function} was called"

    @property
    def report(self):
        return Path("report.html")


@picture(Seen)
def _seen(record):
    return {"text/plain": f"picture of {record.headline}"}


@pytest.fixture
def calls(monkeypatch):
    """Stand-ins for the API; returns the records they made."""
    made = []

    def stand_in(name):
        def function(*given, **options):
            made.append(Seen(name, given, options))
            return made[-1]

        monkeypatch.setattr(api, name, function, raising=False)

    names = (
        "doctor",
        "demo",
        "lab",
        "load",
        "fuse",
        "compare",
        "compare_levels",
        "verify",
        "bench",
        "advise",
        "check",
        "report",
        "tune",
        "release",
        "check_notebook",
        "grade",
    )
    for name in (*names, "track", "serve"):
        stand_in(name)
    return made


@pytest.mark.parametrize("name", ["verify", "bench", "report"])
def test_a_model_is_loaded_and_the_record_printed(calls, capsys, name):
    assert main([name, "net.onnx", "--weights", "random", "--seed", "7"]) == 0
    load, then = calls
    assert (load.function, load.given, load.options) == ("load", (Path("net.onnx"),), {"weights": "random", "seed": 7})
    assert (then.function, then.given[0]) == (name, load)
    assert capsys.readouterr().out == f"picture of {name} was called\n"


def test_a_file_is_fused_as_it_is_without_tvm(calls, capsys):
    assert main(["fuse", "net.onnx", "--max-depth", "8", "--without", "phase1"]) == 0
    assert [call.function for call in calls] == ["fuse"]
    assert calls[0].given == (Path("net.onnx"),)
    assert calls[0].options == {"level": "onnx", "max_depth": 8, "without": ["phase1"]}
    assert capsys.readouterr().out == "picture of fuse was called\n"


@pytest.mark.parametrize(
    ("line", "function", "options"),
    [
        ("--engine tvm", "fuse", {"engine": "tvm", "level": "relax"}),
        ("--level relax", "fuse", {"level": "relax"}),
        ("--compare", "compare", {}),
        ("--levels", "compare_levels", {}),
    ],
)
def test_the_kernels_of_tvm_are_fused_where_that_is_asked_for(calls, line, function, options):
    assert main(["fuse", "net.onnx", *line.split()]) == 0
    load, then = calls
    assert load.function == "load"
    assert (then.function, then.given, then.options) == (function, (load,), options)


def test_reasons_and_json_of_a_real_file(capsys):
    assert main(["fuse", "light_squeezenet.onnx", "--why", "n0", "n2"]) == 0
    assert "n0 and n2 stay apart" in capsys.readouterr().out
    assert main(["fuse", "light_squeezenet.onnx", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["kernels_before"], data["kernels_after"], data["groups"][0]) == (66, 39, ["n0", "n1"])
    assert {label for group in data["groups"] for label in group} == set(data["kinds"])
    assert data["kinds"]["n0"] == "oef"


def test_defaults_are_those_of_the_api(calls):
    main(["bench", "net.onnx"])
    assert calls[0].options == {"weights": None, "seed": 0}
    assert calls[1].options == {"seed": 0}
    main(["bench", "net.onnx", "--threads", "2", "--kernels"])
    assert calls[3].options == {"seed": 0, "threads": 2, "kernels": True}
    main(["bench", "net.onnx", "--remote", "tracker://h:1/k"])
    assert calls[5].options == {"seed": 0, "remote": "tracker://h:1/k"}


def test_what_teachers_and_students_do_with_the_course(calls):
    main(["course", "release", "autumn", "--teacher", "t", "--lessons", "01_a, 02_b"])
    assert (calls[0].function, calls[0].given) == ("release", (Path("autumn"),))
    assert calls[0].options == {"teacher": Path("t"), "lessons": ["01_a", "02_b"]}
    main(["course", "check-notebook", "a.ipynb", "--dry-run"])
    assert (calls[1].given, calls[1].options) == ((Path("a.ipynb"),), {"mend": False})
    main(["course", "grade", "subs", "--teacher", "t", "--secret-file", "s"])
    defaults = {"cluster": None, "jobs": None, "seconds": 20.0, "sandbox": True, "out": Path("grades"), "exercises": []}
    given = {"submissions": Path("subs"), "teacher": Path("t"), "secret_file": Path("s")}
    assert calls[2].options == {**given, **defaults}
    more = "--no-sandbox --jobs 3 --exercises 04a,04b"
    main(["course", "grade", "subs", "--teacher", "t", "--secret-file", "s", *more.split()])
    assert calls[3].options == {**given, **defaults, "sandbox": False, "jobs": 3, "exercises": ["04a", "04b"]}


def test_tuning_and_its_options(calls):
    main(["tune", "net.onnx"])
    assert (calls[1].function, calls[1].options) == ("tune", {"seed": 0})
    main(
        ["tune", "net.onnx", "--trials", "8", "--database", "a.jsonl", "--threads", "1", "--remote", "tracker://h:1/k"]
    )
    given = {"trials": 8, "database": Path("a.jsonl"), "threads": 1, "remote": "tracker://h:1/k"}
    assert calls[3].options == {"seed": 0, **given}


def test_checks_of_an_operator_of_a_file(calls):
    main(["check", "mine.py::lab.x", "--quick", "--only", "C05,C10", "--seed", "3"])
    asked = {"quick": True, "only": ["C05", "C10"], "seed": 3}
    assert (calls[0].function, calls[0].given, calls[0].options) == ("check", ("mine.py::lab.x",), asked)


def test_advice_on_an_operator_of_a_file(calls):
    main(["advise", "mine.py::lab.x", "--threads", "1"])
    assert (calls[0].function, calls[0].given, calls[0].options) == ("advise", ("mine.py::lab.x",), {"threads": 1})


def test_trackers_and_devices_listen_on_loopback_unless_told_otherwise(calls):
    main(["remote", "track"])
    main(["remote", "serve", "--key", "arm", "--host", "10.0.0.1", "--port", "1"])
    assert calls[0].given == ("127.0.0.1", 9190)
    assert calls[1].given == ("10.0.0.1", 1)
    assert {**calls[1].options, "say": None} == {"key": "arm", "tracker": "127.0.0.1:9190", "say": None}


def test_verify_says_where_a_fault_is(calls):
    main(["verify", "net.onnx", "--bisect"])
    assert calls[1].options == {"seed": 0, "bisect": True}
    main(["verify", "net.onnx", "--groups"])
    assert calls[3].options == {"seed": 0, "groups": True}


@pytest.mark.parametrize("line", ["doctor --json", "fuse net.onnx --json", "verify net.onnx --json", "bench n --json"])
def test_json_is_the_whole_record(calls, capsys, line):
    main(line.split())
    assert json.loads(capsys.readouterr().out)["function"] == line.split()[0]


def test_demo_passes_its_options_and_a_progress(calls, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    main(["demo", "--dir", "out", "--json", "figures.json"])
    assert calls[0].given == (Path("out"),)
    progress = calls[0].options.pop("progress")
    assert calls[0].options == {"json_file": Path("figures.json")}
    assert not opened
    capsys.readouterr()
    progress("step 1")
    assert capsys.readouterr().out == "step 1\n"
    main(["demo", "--open"])
    assert calls[1].given == (Path("demo"),)
    assert calls[1].options["json_file"] is None
    assert opened == [Path("report.html").resolve().as_uri()]


def test_lab_gives_its_exit_code_on(calls, monkeypatch):
    seen = []
    monkeypatch.setattr(api, "lab", lambda folder, **options: seen.append((folder, options)) or 5)
    assert main(["lab"]) == 5
    assert main(["lab", "mine", "--no-browser", "--port", "9000"]) == 5
    (default, _), (folder, options) = seen
    assert default == Path("tvmlab-notebooks")
    assert folder == Path("mine")
    assert (options["browser"], options["port"]) == (False, 9000)


def test_a_record_that_is_not_ok_ends_with_one(monkeypatch, capsys):
    sick = DoctorReport((Finding("TVM", "problem", "is not installed", "pip install apache-tvm"),))
    monkeypatch.setattr(api, "doctor", lambda: sick)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "is not installed" in out
    assert "pip install apache-tvm" in out


def test_an_error_is_three_lines_on_stderr(monkeypatch, capsys):
    def fail(*_, **__):
        raise LoadError("no such file", where="net.onnx", mend="give the path of an ONNX file")

    monkeypatch.setattr(api, "load", fail)
    assert main(["verify", "net.onnx"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "LoadError: no such file",
        "  at net.onnx",
        "  mend: give the path of an ONNX file",
    ]


def test_a_tvm_that_cannot_be_imported_is_told(monkeypatch, capsys):
    def fail(*_, **__):
        raise ImportError("libtvm.so: cannot open shared object file")

    monkeypatch.setattr(api, "load", fail)
    assert main(["verify", "net.onnx"]) == 1
    assert "tvmlab doctor" in capsys.readouterr().err


def test_ctrl_c_ends_with_130(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "doctor", interrupt)
    assert main(["doctor"]) == 130


@pytest.mark.parametrize(
    "line", ["", "nonsense", "fuse", "fuse a b", "fuse a --weights zero", "bench a --thr 2", "doctor --dir x"]
)
def test_wrong_usage_ends_with_2(line, capsys):
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert "usage: tvmlab" in capsys.readouterr().err


def test_the_version_is_the_package_s(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tvmlab {tvmlab.__version__}\n"


def test_help_and_version_import_neither_tvm_nor_numpy():
    code = "import sys; from tvmlab.cli import parser; parser(); print({'tvm', 'numpy', 'onnx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_reader_that_leaves_early_is_no_error():
    code = (
        "from tvmlab import api, cli\n"
        "from tvmlab.records import DoctorReport\n"
        "api.doctor = lambda: DoctorReport(())\n"
        "input()\n"
        "raise SystemExit(cli.main(['doctor']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_terminal_that_knows_no_arrows_still_gets_the_text():
    """The headline of a partition has an arrow, which Latin-1 and Windows' code pages lack."""
    code = (
        "from tvmlab import api, cli\n"
        "from tvmlab.records import Partition\n"
        "api.load = lambda *a, **k: None\n"
        "api.fuse = lambda *a, **k: Partition('net', 'tvm', 'relax', (), 3, 1)\n"
        "raise SystemExit(cli.main(['fuse', 'net.onnx']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"net: 3 ? 1 kernels" in done.stdout


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "tvmlab", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tvmlab {tvmlab.__version__}\n", "")


@pytest.mark.parametrize("file", ["missing/figures.json", "folder"])
def test_the_demo_refuses_a_file_that_it_could_not_write_before_it_runs(tmp_path, capsys, file):
    (tmp_path / "folder").mkdir()
    out = tmp_path / "out"
    assert main(["demo", "--dir", str(out), "--json", str(tmp_path / file)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("CallError: ")
    assert "mend: " in captured.err
    assert not out.exists()
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("line", ["verify light_squeezenet.onnx --seed -1", "bench light_squeezenet.onnx --seed -1"])
def test_a_seed_below_zero_is_told_in_words(capsys, line):
    assert main(line.split()) == 1
    assert capsys.readouterr().err.startswith("CallError: the seed must be a whole number from 0 on, not -1")


@pytest.mark.parametrize("asked", ["--why a b --levels", "--compare --levels", "--why a b --compare"])
def test_one_question_at_a_time(asked, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fuse", "net.onnx", *asked.split()])
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


@pytest.fixture
def own_domain(tmp_path):
    """A model with an operator of a domain of its own."""
    text = '<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]> g (float[8] x) => (float[8] y)'
    onnx.save(onnx.parser.parse_model(text + "{ a = my.domain.Twice(x) y = Relu(a) }"), tmp_path / "own.onnx")
    yield str(tmp_path / "own.onnx")
    for each in tvmlab.onnx.registrations():
        tvmlab.onnx.unregister(each.domain, each.op_type)


def test_operators_of_a_file_stand_for_nodes_of_a_model(own_domain, tmp_path, capsys):
    assert main(["verify", own_domain]) == 1
    assert "does not know my.domain::Twice" in capsys.readouterr().err
    assert main(["skeleton", own_domain]) == 0
    written = capsys.readouterr().out
    assert "raise NotImplementedError" in written
    lines = written.splitlines()
    at = next(i for i, line in enumerate(lines) if "write what Twice computes" in line)
    lines[at] = "        return te.compute(x.shape, lambda *i: x(*i) + x(*i), name='twice')"
    at = next(i for i, line in enumerate(lines) if "write what Twice should be" in line)
    lines[at] = "        return x + x"
    (tmp_path / "own_ops.py").write_text("\n".join(lines))
    ops = ["--ops", str(tmp_path / "own_ops.py")]
    assert main(["fuse", own_domain, *ops]) == 0
    assert "2 → 1 kernels" in capsys.readouterr().out
    assert main(["verify", own_domain, *ops]) == 0
    assert main(["skeleton", own_domain]) == 1
    assert "all operators of the model are known" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.py", None, "there is no file"),
        ("notes.txt", "x", "is no Python file"),
        ("broken.py", "1 / 0", "failed: ZeroDivisionError"),
        ("wrong.py", "def (", "failed: SyntaxError"),
    ],
)
def test_a_file_of_operators_that_is_none(own_domain, tmp_path, capsys, name, text, said):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    assert main(["fuse", own_domain, "--ops", str(file)]) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
