from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tvmlab.errors import CallError
from tvmlab.runtime import set_threads, thread_count, threads


def test_a_block_sets_threads_and_restores_them(capfd):
    before = thread_count()
    with threads(1):
        assert thread_count() == 1
    assert thread_count() == before
    assert capfd.readouterr().err == ""


def test_more_than_the_pool_has_is_refused_and_changes_nothing():
    before = thread_count()
    with pytest.raises(CallError, match="TVM's pool has only"):
        set_threads(10_000)
    assert thread_count() == before


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_threads_is_refused_in_the_words_of_the_public_face(count):
    with pytest.raises(CallError, match="from 1 on") as refused:
        set_threads(count)
    assert refused.value.mend == "write threads=2, or --threads 2"
    with pytest.raises(CallError) as too_many:
        set_threads(10_000)
    assert too_many.value.mend.startswith(f"write threads={thread_count()} or --threads {thread_count()}, or set")


def test_the_pool_has_all_processors_unless_the_user_said_otherwise():
    code = "from tvmlab.runtime import thread_count; print(thread_count())"

    def count(**variables):
        environment = {k: v for k, v in os.environ.items() if k not in ("TVM_NUM_THREADS", "OMP_NUM_THREADS")}
        command = [sys.executable, "-c", code]
        return int(subprocess.check_output(command, env=environment | variables, text=True))

    assert count() == len(os.sched_getaffinity(0))
    assert count(TVM_NUM_THREADS="1") == 1
