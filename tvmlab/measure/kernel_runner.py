"""Child of `tvmlab.measure.tuning`: builds one kernel after another, runs it, and says how long it took.

It is a process of its own, since a candidate may end or hang the process that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import runtime
from tvmlab.measure.lone_kernels import DIFFERENT, arguments_of, as_arrays, build, worst_difference
from tvmlab.measure.rounds import run_rounds
from tvmlab.runtime.children import requests

_TRIAL_SECONDS = 0.05
_DUEL_SECONDS = 1.5
_FEWEST, _MOST = 3, 15


def main() -> None:
    """Answer requests until the parent is gone."""
    arrived, reply = requests()
    answer = _Bench().answer
    for message in arrived:
        try:
            reply(answer(message))
        except Exception as error:  # noqa: BLE001 - TVM raises whatever it likes; the candidate is at fault
            lines = [line for line in str(error).splitlines() if line.strip()] or [""]
            reply({"error": f"{type(error).__name__}: {lines[0]}"[:300]})


class _Bench:
    """The kernel that candidates are for: its arguments, the rule's schedule of it, and what that one computes."""

    def __init__(self) -> None:
        self.arguments: list[Any] = []
        self.rule: Callable[[], None] | None = None
        self.wanted: list[Any] = []

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        if "rule" in message:
            runtime.set_threads(message["threads"])
            self.arguments = arguments_of(message["rule"], message["seed"])
            self.rule = self._callable(message["rule"])
            self.rule()
            self.wanted = as_arrays(self.arguments)
            return {"seconds": self._seconds(self.rule)}
        candidate = self._callable(message["candidate"])
        candidate()
        difference = worst_difference(self.wanted, as_arrays(self.arguments))
        if difference > DIFFERENT:
            return {"error": f"it computes other values: off by {difference:.0e} of the largest"}
        if not message.get("duel"):
            return {"seconds": self._seconds(candidate)}
        assert self.rule is not None
        rounds = run_rounds({"rule": self.rule, "tuned": candidate}, budget=_DUEL_SECONDS)
        return {name: list(seconds) for name, seconds in rounds.seconds.items()}

    def _callable(self, module: str) -> Callable[[], None]:
        import tvm

        function = build(module, tvm.target.Target.current(allow_none=True) or runtime.host_target())["main"]
        return lambda: function(*self.arguments)

    def _seconds(self, call: Callable[[], None]) -> list[float]:
        return list(run_rounds({"it": call}, budget=_TRIAL_SECONDS).seconds["it"])


if __name__ == "__main__":
    main()
