"""Child of `tvmlab.measure.tuning`: TVM's meta_schedule proposes schedules for a kernel, and is told how fast they are.

It builds and runs nothing itself, so that what a candidate does to a process is not done to this one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

from tvmlab import tvm_api
from tvmlab.pipeline.tuned import plain_trace
from tvmlab.runtime.children import requests

_ENOUGH_TO_LEARN = 32  # trials, below which a cost model learns nothing and evolution only takes time
_BATCH = 16


def main() -> None:
    """Answer requests until the parent is gone."""
    arrived, reply = requests()
    for message in arrived:
        _search(message, arrived, reply)


def _search(
    message: dict[str, Any], arrived: Iterator[dict[str, Any]], reply: Callable[[dict[str, Any]], None]
) -> None:
    import tvm

    ms = tvm_api.meta_schedule()
    trials: int = message["trials"]
    learns = trials >= _ENOUGH_TO_LEARN
    context = ms.TuneContext(
        mod=tvm.ir.load_json(message["module"]),
        target=tvm.target.Target(message["target"]),
        space_generator="post-order-apply",
        search_strategy="evolutionary" if learns else "replay-trace",
        task_name="main",
        rand_state=message["seed"] + 1,
        num_threads=message["threads"],
    )
    model = ms.CostModel.create("xgb" if learns and importlib.util.find_spec("xgboost") else "random")
    database = ms.database.MemoryDatabase()
    workload = database.commit_workload(context.mod)
    batch = min(_BATCH, max(1, trials // 2))
    context.pre_tuning(
        max_trials=trials,
        num_trials_per_iter=batch,
        design_spaces=context.generate_design_space(),
        database=database,
        cost_model=model,
    )
    while candidates := context.generate_measure_candidates():
        reply(
            {
                "candidates": [
                    {"module": tvm.ir.save_json(c.sch.mod), "trace": plain_trace(c.sch.trace)} for c in candidates
                ]
            }
        )
        seconds = next(arrived)["seconds"]
        results = [ms.runner.RunnerResult(s, None if s else "it did not run") for s in seconds]
        for candidate, measured in zip(candidates, seconds, strict=True):
            if measured:
                database.commit_tuning_record(
                    ms.database.TuningRecord(
                        candidate.sch.trace, workload, measured, context.target, candidate.args_info
                    )
                )
        model.update(context, candidates, results)
        context.notify_runner_results(candidates, results)
    context.post_tuning()
    reply({"done": True})


if __name__ == "__main__":
    main()
