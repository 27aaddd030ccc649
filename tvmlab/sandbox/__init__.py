"""A stranger's answer in a process of its own, of which only plain values come back.

`Sandbox` is the judge's side.  It starts one warm parent, which has imported TVM and never held a secret, a reference
or an expected value; the parent forks for each answer.  In bubblewrap the parent has no network and a read-only disk,
and each fork namespaces, a user, a folder and limits of its own.
"""

from __future__ import annotations

from tvmlab.sandbox.cage import Limits
from tvmlab.sandbox.remote import AnswerLost, RemoteAnswer, Sandbox, Unmade, beside

__all__ = ["AnswerLost", "Limits", "RemoteAnswer", "Sandbox", "Unmade", "beside"]
