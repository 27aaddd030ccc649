"""Compile a module, run it on NumPy arrays, and keep TVM quiet.

This room knows nothing of operators or models: it takes modules whose operators are all legalized.
"""

from __future__ import annotations

from tvmlab.runtime.executable import Executable, compile_module
from tvmlab.runtime.isolation import POLICY, Isolated, is_proved_safe, isolate
from tvmlab.runtime.library import SUFFIX, called_functions, export_library, lift_constants, open_library
from tvmlab.runtime.proofs import doubts
from tvmlab.runtime.seeds import check_seed
from tvmlab.runtime.silence import Silence, quiet
from tvmlab.runtime.target import host_target, lacking, processor, vector_bytes
from tvmlab.runtime.threads import set_threads, thread_count, threads

__all__ = [
    "POLICY",
    "SUFFIX",
    "Executable",
    "Isolated",
    "Silence",
    "called_functions",
    "check_seed",
    "compile_module",
    "doubts",
    "export_library",
    "host_target",
    "is_proved_safe",
    "isolate",
    "lacking",
    "lift_constants",
    "open_library",
    "processor",
    "quiet",
    "set_threads",
    "thread_count",
    "threads",
    "vector_bytes",
]
