"""The health certificate of an operator: C01 to C20, one file a check."""

from __future__ import annotations

from tvmlab.checks.claims import claimed_by, refused_report
from tvmlab.checks.files import op_of_file, run_module
from tvmlab.checks.running import Progress, check_op, codes

__all__ = [
    "Progress",
    "check_op",
    "claimed_by",
    "codes",
    "op_of_file",
    "refused_report",
    "run_module",
]
