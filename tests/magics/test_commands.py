"""Every magic: how it calls the api, what it shows, what it keeps."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tvmlab.magics.commands import Tvmlab
from tvmlab.magics.errors import TvmlabUsageError

OP = "def compute(x):\n    return x\n"

CALLS = [  # a cell, and the call of the api that it makes
    ("%tvm_load net.onnx", "load", (Path("net.onnx"),), {}),
    (
        "%tvm_load 'my net.onnx' --name m --weights random --seed 3",
        "load",
        (Path("my net.onnx"),),
        {"name": "m", "weights": "random", "seed": 3},
    ),
    ("%tvm_fuse net", "fuse", ("net",), {}),
    (
        "%tvm_fuse net --kind a=opaque --kind b=c=elem --max-depth 8 --without phase1",
        "fuse",
        ("net",),
        {"kinds": {"a": "opaque", "b=c": "elem"}, "max_depth": 8, "without": ["phase1"]},
    ),
    ("%tvm_fuse net --engine none --level relax", "fuse", ("net",), {"engine": "none", "level": "relax"}),
    ("%tvm_fuse --cleanup=none net;", "fuse", ("net",), {"cleanup": "none"}),
    ("%tvm_fuse net --levels --cleanup none", "compare_levels", ("net",), {"cleanup": "none"}),
    ("%tvm_diff net", "diff", ("net",), {}),
    ("%tvm_diff net legalize fuse", "diff", ("net",), {"before": "legalize", "after": "fuse"}),
    ("%tvm_verify net", "verify", ("net",), {}),
    (
        "%tvm_verify net --stage fuse --seed 1 --tolerance 1e-3",
        "verify",
        ("net",),
        {"stage": "fuse", "seed": 1, "tolerance": 1e-3},
    ),
    ("%tvm_verify net --seed -1", "verify", ("net",), {"seed": -1}),
    ("%tvm_verify net --bisect", "verify", ("net",), {"bisect": True}),
    ("%tvm_verify net --groups --stage fuse", "verify", ("net",), {"groups": True, "stage": "fuse"}),
    (
        "%tvm_time net --sides unfused fused --repeats 3 --threads 2",
        "bench",
        ("net",),
        {"sides": ["unfused", "fused"], "repeats": 3, "threads": 2},
    ),
    ("%tvm_time net --kernels --sides full", "bench", ("net",), {"kernels": True, "sides": ["full"]}),
    (
        "%tvm_tune net --trials 8 --database a.jsonl --threads 1 --remote tracker://h:1/k --seed 2",
        "tune",
        ("net",),
        {"trials": 8, "database": Path("a.jsonl"), "threads": 1, "remote": "tracker://h:1/k", "seed": 2},
    ),
    ("%tvm_doctor", "doctor", (), {}),
]


@pytest.fixture
def net(notebook, api):
    """A notebook with a model under the name `net`."""
    notebook("%tvm_load net.onnx -q")
    api.calls.clear()
    return notebook


@pytest.mark.parametrize(("line", "function", "args", "kwargs"), CALLS, ids=[c[0] for c in CALLS])
def test_line_magic_calls_the_api(net, api, line, function, args, kwargs):
    ran = net(line)
    assert (ran.error, ran.err) == (None, "")
    assert len(api.calls) == 1
    expected = tuple(net["net"] if arg == "net" else arg for arg in args)
    assert (api.last.function, api.last.args, api.last.kwargs) == (function, expected, kwargs)


@pytest.mark.parametrize(
    ("magic", "name", "function"),
    [
        ("tvm_op", "lab.twice", "define"),
        ("tvm_graph", "block", "graph_from_source"),
    ],
)
def test_cell_magic_passes_the_cell(notebook, api, magic, name, function):
    ran = notebook(f"%%{magic} {name}\n{OP}")
    assert (ran.error, ran.err) == (None, "")
    assert (api.last.function, api.last.args) == (function, (name, OP))
    cache = api.last.kwargs.pop("cache")
    assert api.last.kwargs == {"shell_namespace": notebook.shell.user_ns, "label": "Cell In[2]", "first_line": 2}
    assert notebook.shell.compile.format_code_name(cache("x = 1")) == ("Cell", "In[2]")


def test_one_record_is_returned_and_shown(net):
    ran = net("%tvm_fuse net")
    assert repr(ran.value) == "<Shown fuse>"
    assert ran.out == "Out[3]: <Shown fuse>\n"


def test_assigned_it_is_not_shown(net):
    ran = net("found = %tvm_fuse net")
    assert (ran.out, repr(net["found"])) == ("", "<Shown fuse>")


@pytest.mark.parametrize("line", ["%tvm_fuse net;", "%tvm_fuse net -q", "%tvm_fuse --quiet net"])
def test_silenced(net, api, line):
    ran = net(line)
    assert (ran.value, ran.out, ran.err) == (None, "", "")
    assert api.last.function == "fuse"


@pytest.mark.parametrize("option", ["-v found", "--var found", "--var=found", "-qv found", "-q -v found"])
def test_var_keeps_the_record(net, option):
    ran = net(f"%tvm_fuse net {option}")
    assert ran.error is None
    assert repr(net["found"]) == "<Shown fuse>"
    assert (ran.value is None) == ("q" in option)


@pytest.fixture
def explored(net, api, monkeypatch):
    """Records of the api have an explorer."""
    kind = type(api.diff())
    monkeypatch.setattr(kind, "explore", lambda record: f"explorer of {record.what}", raising=False)


@pytest.mark.usefixtures("explored")
@pytest.mark.parametrize("option", ["-i", "--interactive", "-i -v found"])
def test_the_explorer_is_shown_and_the_record_kept(net, option):
    ran = net(f"%tvm_diff net {option}")
    assert ran.value == "explorer of diff"
    if "-v" in option:
        assert repr(net["found"]) == "<Shown diff>"


@pytest.mark.usefixtures("explored")
def test_quiet_is_quiet_though_an_explorer_is_asked_for(net):
    assert net("%tvm_diff net -qi").value is None


def test_what_has_no_explorer_says_so(net):
    ran = net("%tvm_verify net -i")
    assert ran.lines[0] == "TvmlabUsageError: %tvm_verify: what it shows has no explorer"
    assert "leave -i out" in ran.lines[-1]


def test_cell_magic_quiet_and_var(notebook, api):
    ran = notebook(f"%%tvm_op lab.twice -q -v op\n{OP}")
    assert (ran.value, ran.out) == (None, "")
    assert repr(notebook["op"]) == "<Shown define>"


@pytest.mark.parametrize("cell", ["%tvm_load net.onnx --name block", f"%%tvm_graph block\n{OP}"])
def test_a_model_is_bound_under_its_name(notebook, api, cell):
    ran = notebook(cell)
    assert ran.value is notebook["block"]
    assert notebook("%tvm_fuse block").error is None
    assert api.last.args == (notebook["block"],)


def test_braces_and_dollars_are_left_alone(net, api):
    net("x = 1")
    ran = net("%tvm_load {x}$x.onnx --name y")
    assert ran.error is None
    assert api.last.args == (Path("{x}$x.onnx"),)


@pytest.mark.parametrize("name", ["tvm_op", "tvm_graph"])
def test_cell_magic_on_a_line_explains_itself(notebook, name):
    ran = notebook(f"1\n%{name} lab.x")
    assert isinstance(ran.error, TvmlabUsageError)
    assert ran.lines == [
        f"TvmlabUsageError: %{name} works on a cell, not on a line",
        f"at Cell In[2], line 2: %{name} lab.x",
        f"mend: write %%{name} NAME as the first line of a cell, and under it what it makes; %%{name}? explains",
    ]


@pytest.mark.parametrize("name", ["tvm_op", "tvm_graph", "tvm_load", "tvm_fuse", "tvm_diff", "tvm_verify", "tvm_time"])
def test_a_missing_argument_shows_the_usage(notebook, name):
    percent = "%%" if name in {"tvm_op", "tvm_graph"} else "%"
    ran = notebook(f"{percent}{name}" + ("\npass" if percent == "%%" else ""))
    assert isinstance(ran.error, TvmlabUsageError)
    assert ran.lines[2].startswith(f"mend: usage: {percent}{name} [")
    assert ran.err == ""


def test_one_stage_alone_is_refused(net):
    ran = net("%tvm_diff net fuse")
    assert isinstance(ran.error, TvmlabUsageError)
    assert "TO" in ran.error.what


@pytest.mark.parametrize("name", sorted(n for n in dir(Tvmlab) if n.startswith("tvm_")))
def test_help_shows_usage_description_and_options(notebook, name, capsys):
    face = notebook.shell.magics_manager.registry["Tvmlab"]
    for typed in {f"%{name}?", f"{face.spelling(name)}?"}:
        ran = notebook(typed)
        assert ran.err == ""
        assert f"{face.spelling(name)} [" in ran.out
        assert "-v VAR, --var VAR" in ran.out
        assert inspect.getdoc(getattr(Tvmlab, name).__wrapped__).splitlines()[0] in ran.out


def test_every_option_has_a_long_form(notebook):
    face = notebook.shell.magics_manager.registry["Tvmlab"]
    for name in face.names:
        for action in face.parser(name)._actions:
            if action.option_strings:
                assert action.option_strings[-1].startswith("--"), (name, action)
                assert action.help


def test_config_quiet(net):
    assert net("%config Tvmlab.quiet = True").err == ""
    ran = net("%tvm_fuse net")
    assert (ran.value, ran.out) == (None, "")


def test_config_seed_is_a_default(net, api):
    net("%config Tvmlab.seed = 7")
    net("%tvm_verify net")
    assert api.last.kwargs == {"seed": 7}
    net("%tvm_verify net --seed 0")
    assert api.last.kwargs == {"seed": 0}
    net("%tvm_fuse net")
    assert api.last.kwargs == {}


def test_config_names_are_those_of_options(notebook):
    face = notebook.shell.magics_manager.registry["Tvmlab"]
    options = {action.dest for name in face.names for action in face.parser(name)._actions}
    own = set(Tvmlab.class_own_traits(config=True))
    assert own
    assert own <= options | {"safe", "safe_seconds", "safe_gigabytes"}  # of no magic alone, but of every call
    assert "quiet" in notebook("%config Tvmlab").out


def test_an_error_of_the_api_is_shown_as_it_renders(net, api, monkeypatch):
    from tvmlab.errors import PipelineError

    def fuse(model, **options):
        raise PipelineError("it does not fuse", "node 3", "take another")

    monkeypatch.setattr(api, "fuse", fuse, raising=False)
    ran = net("%tvm_fuse net -v found")
    assert isinstance(ran.error, PipelineError)
    assert ran.lines == ["PipelineError: it does not fuse", "at node 3", "mend: take another"]
    assert "found" not in net.shell.user_ns


def test_an_error_without_a_place_gets_that_of_the_magic(net, api, monkeypatch):
    from tvmlab.errors import NameRefused

    def define(name, body, **where):
        raise NameRefused("TVM has that name", mend="take another")

    monkeypatch.setattr(api, "define", define, raising=False)
    ran = net("\n%%tvm_op nn.relu\npass")
    assert ran.lines == [
        "NameRefused: TVM has that name",
        "at Cell In[3], line 2: %%tvm_op ▸nn.relu",
        "mend: take another",
    ]


def test_tb_shows_the_whole_of_a_short_error(net, api, monkeypatch):
    from tvmlab.errors import PipelineError

    def fuse(model, **options):
        raise PipelineError("it does not fuse") from KeyError("deep down")

    monkeypatch.setattr(api, "fuse", fuse, raising=False)
    assert net("%tvm_fuse net").lines == ["PipelineError: it does not fuse", "at Cell In[3], line 1: %tvm_fuse ▸net"]
    whole = net("%tb").out
    assert "KeyError: 'deep down'" in whole
    assert "in fuse" in whole


def test_own_frames_are_hidden_from_a_foreign_error(net, api, monkeypatch):
    def fuse(model, **options):
        raise RuntimeError("a fault of tvmlab")

    monkeypatch.setattr(api, "fuse", fuse, raising=False)
    ran = net("%tvm_fuse net")
    assert "RuntimeError: a fault of tvmlab" in ran.out
    assert "in run(self, line, body)" not in ran.out
    assert "get_ipython().run_line_magic" in ran.out
