"""Measuring on a device that a tracker lends: a tracker, a server and clients on the loopback interface."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.cli import main
from tvmlab.errors import CallError, RemoteLost
from tvmlab.measure import bench, remote, tune
from tvmlab.measure.rounds import Rounds
from tvmlab.pipeline.tuned import Database
from tvmlab.records import Timing
from tvmlab.runtime.remote import split_address


def block(x: "float32[16, 32]", w: "float32[32, 64]"):
    return relax.op.nn.relu(relax.op.matmul(x, w))


@pytest.fixture(scope="module")
def model():
    return pipeline.graph(block)


class Role:
    """``tvmlab remote track`` or ``serve``, in a process group of its own."""

    def __init__(self, *arguments) -> None:
        command = [sys.executable, "-m", "tvmlab", "remote", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.said = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)", self.said)[1])

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def tracker():
    role = Role("track", "--port", "29190")
    yield role
    role.kill()


@pytest.fixture
def device(tracker):
    """A server of the tracker, and its address."""
    role = Role("serve", "--port", "29290", "--key", "dev", "--tracker", f"127.0.0.1:{tracker.port}")
    role.address = f"tracker://127.0.0.1:{tracker.port}/dev"
    _until_lent(role.address)
    yield role
    role.kill()


def _until_lent(address):
    from tvm import rpc

    host, port, key = split_address(address)
    for _ in range(1200):
        if rpc.connect_tracker(host, port).summary()["queue_info"].get(key, {}).get("free"):
            return
        time.sleep(0.05)
    raise AssertionError("the server never reported to the tracker")


def test_two_clients_one_device_and_its_death(model, device, tmp_path, capfd):
    assert "127.0.0.1" in device.said
    listening = {c.laddr.ip for c in psutil.Process(device.process.pid).net_connections() if c.status == "LISTEN"}
    assert listening == {"127.0.0.1"}

    # One client times a model; while it does, the device is not lent to another.
    timing = bench(model, remote=device.address, threads=1, repeats=2)
    assert [side.name for side in timing.sides] == ["unfused", "fused", "scheduled"]
    assert all(len(side.seconds) == 2 and min(side.seconds) > 0 for side in timing.sides)
    assert any("by its own clock" in note for note in timing.notes)
    assert any(note.startswith("onnxruntime is left out") for note in timing.notes)
    assert timing.machine["device"].endswith(device.address)

    # Another one tunes on it.
    _until_lent(device.address)
    file = tmp_path / "tuned.jsonl"
    tuned = tune(model, remote=device.address, threads=1, trials=2, database=file)
    assert tuned.kernels[0].trials == 2
    assert tuned.kernels[0].failed == 0
    assert "remote" in tuned.machine
    assert len(Database(file)) == 1

    # The server is killed in the middle of a run.
    _until_lent(device.address)
    rounds = remote.remote_rounds

    def watched(sides, **options):
        def counted(evaluate):
            def run(times):
                seconds = evaluate(times)
                calls.append(seconds)
                if len(calls) == 8:
                    device.kill()
                return seconds

            return run

        calls: list[float] = []
        return rounds({name: counted(evaluate) for name, evaluate in sides.items()}, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "remote_rounds", watched)
        with pytest.raises(RemoteLost, match="the remote device went away") as caught:
            bench(model, remote=device.address, sides=["fused", "scheduled"], threads=1, repeats=1000)
    # four calls to warm up, then two whole rounds of two sides
    assert "finished rounds: 2" in caught.value.what
    assert isinstance(caught.value.partial, Timing)
    assert [len(side.seconds) for side in caught.value.partial.sides] == [2, 2]
    assert caught.value.mend
    assert capfd.readouterr().err == ""

    with pytest.raises(RemoteLost, match="has no free device 'dev'"):
        bench(model, remote=device.address)


def test_rounds_that_were_finished_are_kept():
    calls = []

    def side(times):
        calls.append(times)
        if len(calls) > 9:
            raise RemoteLost("gone")
        return 0.02

    with pytest.raises(RemoteLost) as caught:
        remote.remote_rounds({"a": side, "b": side}, repeats=5)
    assert isinstance(caught.value.partial, Rounds)
    assert {name: len(seconds) for name, seconds in caught.value.partial.seconds.items()} == {"a": 2, "b": 2}


def test_no_tracker(model):
    with pytest.raises(RemoteLost, match=r"no tracker answers at 127\.0\.0\.1:9: Connection refused"):
        bench(model, remote="tracker://127.0.0.1:9/dev")
    with pytest.raises(RemoteLost, match="no tracker answers"):
        tune(model, remote="tracker://127.0.0.1:9/dev")


@pytest.mark.parametrize(
    "address", ["dev", "tracker://h/dev", "tracker://h:99999/dev", "tracker://h:1/", "http://h:1/k"]
)
def test_addresses_of_another_form(model, address):
    with pytest.raises(CallError, match="names no device"):
        bench(model, remote=address)


@pytest.mark.parametrize("address", ["tracker://127.0.0.1:9190/arm", "tracker://[::1]:9190/arm"])
def test_addresses(address):
    host, port, key = split_address(address)
    assert (host in {"127.0.0.1", "::1"}, port, key) == (True, 9190, "arm")


def test_only_models_are_sent(model):
    with pytest.raises(CallError, match="a remote device times whole models"):
        bench(model, remote="tracker://127.0.0.1:9/dev", kernels=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("remote serve --tracker 127.0.0.1:9", "BackendError: no tracker answers at 127.0.0.1:9"),
        ("remote serve --tracker nowhere", "CallError: tracker='nowhere' is no address"),
    ],
)
def test_a_server_without_a_tracker_is_told(capsys, line, message):
    assert main(line.split()) == 1
    assert capsys.readouterr().err.startswith(message)


def test_other_addresses_than_loopback_come_with_a_warning(monkeypatch):
    from tvmlab import serving

    said = []
    monkeypatch.setattr(serving.tvm_api, "serve_tracker", lambda host, port: port)
    monkeypatch.setattr(serving, "_wait", lambda: 0)
    serving.track("127.0.0.1", 1, say=said.append)
    assert said == ["tracker at 127.0.0.1:1"]
    serving.track("0.0.0.0", 2, say=said.append)
    assert "no authentication" in said[1]
