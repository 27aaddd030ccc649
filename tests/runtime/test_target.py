from __future__ import annotations

from tvmlab.runtime import host_target
from tvmlab.runtime.target import _linux_x86_flags, _missing, _within

AVX2 = frozenset(["sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe", "popcnt"])


def test_the_target_is_this_machines_and_cached():
    target = host_target()
    assert target.kind.name == "llvm"
    assert host_target() is target
    assert int(host_target(3).attrs["num-cores"]) == 3


def test_never_beyond_what_the_processor_shows():
    flags = _linux_x86_flags()
    if flags is not None:
        assert not _missing(str(host_target().attrs["mcpu"]), flags)


def test_a_hidden_instruction_set_lowers_the_level():
    assert _within("skylake-avx512", AVX2) == "x86-64-v3"
    assert _within("haswell", AVX2) == "haswell"
    assert _within("znver4", frozenset({"sse4_1", "sse4_2", "popcnt"})) == "x86-64-v2"
    assert _within("znver4", frozenset()) == "x86-64"
