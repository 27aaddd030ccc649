"""What an answer may do in bubblewrap, for root and for everybody else; where the kernel lets nobody, it is refused."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest

from tvmlab.errors import BackendError, CallError
from tvmlab.sandbox import AnswerLost, Limits, Sandbox, bubblewrap

LOOK = """
def f(x):
    import os, socket
    status = open("/proc/self/status").readlines() if os.listdir("/proc") else []
    return {
        "x": x * 2,
        "user": os.getuid(),
        "rights": [line.split()[1] for line in status if line.startswith("CapEff")],
        "processes": [name for name in os.listdir("/proc") if name.isdigit()],
        "network": [name for _, name in socket.if_nameindex()],
        "parent": os.getppid(),
        "files": os.listdir("."),
        "home": os.path.expanduser("~"),
        "environment": sorted(os.environ),
    }
"""


@pytest.fixture(scope="module", params=["as it is", "as if it were not root"])
def sandbox(request):
    """A caged one; None where that is refused."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "as it is":
            patch.setattr(os, "geteuid", lambda: 1000)
        with contextlib.suppress(BackendError):
            bubblewrap.require()
            with Sandbox(limits=Limits(seconds=5)) as made:
                yield made
            return
        with pytest.raises(BackendError, match="bubblewrap"):
            Sandbox()
        yield None


def ask(sandbox, body, *given):
    with sandbox.new() as answer:
        answer.make("f", body, "cell")
        return answer(*given)


def test_an_answer_is_a_user_without_rights_alone_in_the_world(sandbox, monkeypatch):
    if sandbox is None:
        return
    first, second = (ask(sandbox, LOOK, np.arange(3)) for _ in range(2))
    assert first["x"].tolist() == [0, 2, 4]
    assert 0 < first["user"] != second["user"]
    assert not any(int(word, 16) for word in first["rights"])
    assert first["processes"] in (["1"], [])  # none where /proc cannot be mounted anew
    assert first["parent"] == 0
    assert first["network"] == ["lo"]
    assert first["files"] == []
    assert first["home"] == "/scratch"
    assert "USER" not in first["environment"]


def test_its_files_are_its_own_and_few(sandbox):
    if sandbox is None:
        return
    body = "def f(name):\n    open(name, 'w').write('mine')\n    import os\n    return os.listdir('.')\n"
    assert ask(sandbox, body, "a") == ["a"]
    assert ask(sandbox, body, "b") == ["b"]
    course = Path(bubblewrap.__file__).parents[1] / "course"
    for place in ("/a", "/usr/a", "/tmp/a", "/proc/a", "/dev/a", f"{course}/a"):
        with pytest.raises(OSError, match="Errno"):
            ask(sandbox, body, place)
    with pytest.raises(OSError, match=r"No space left|File too large"):
        ask(sandbox, "def f():\n    for n in range(9):\n        open(f'{n}', 'wb').write(bytes(20 << 20))\n")


def test_an_answer_that_is_lost_is_lost_for_good(sandbox):
    if sandbox is None:
        return
    with sandbox.new() as answer:
        answer.make("f", "def f():\n    import os\n    os._exit(3)\n", "cell")
        for _ in range(2):
            with pytest.raises(AnswerLost, match="it ended its process: exit code 3"):
                answer()


def test_what_a_property_must_not_ask_is_the_propertys_fault():
    with Sandbox(caged=False) as free, free.new() as answer:
        answer.make("f", "def f(a, *b, c=1):\n    raise ValueError(f'no {a}')\n", "cell")
        with pytest.raises(TypeError, match="asks an answer for its spec"):
            _ = answer.spec
        with pytest.raises(ValueError, match="no 7") as caught:
            answer(7)
        assert caught.value.place_in_answer.startswith("cell, line 3")
        assert list(answer.__signature__.parameters) == ["a", "b", "c"]
        answer.make("f", "from tvmlab.errors import CallError\ndef f():\n    raise CallError('a', 'b', 'c')\n", "cell")
        with pytest.raises(CallError) as told:
            answer()
        assert (told.value.what, told.value.where, told.value.mend) == ("a", "b", "c")


def test_a_secret_beside_the_packages_is_refused_and_a_folder_there_is_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr(bubblewrap, "_seen", lambda: iter([str(tmp_path)]))
    (tmp_path / "secret").write_text("x")
    with pytest.raises(BackendError, match="secret lies where answers can read"):
        bubblewrap.command("bwrap", [tmp_path / "secret"])
    (tmp_path / "teacher").mkdir()
    line = bubblewrap.command("bwrap", [tmp_path / "teacher"])
    assert line[line.index(str(tmp_path / "teacher")) - 1] == "--tmpfs"
