"""Runs of two steps, for the tests of the store."""

from pathlib import Path

import numpy as np

from uqbench.identity import Run
from uqbench.results import Provenance, RunColumns, RunRecord, Store, now, this_process

METRICS = {
    "step": np.array([1, 2]),
    "metric": np.array(["reward", "reward"], object),
    "value": np.array([0.5, 1.5]),
}
EPISODES = {"step": np.array([2]), "return": np.array([1.5])}


def make_run(seed: int = 0) -> Run:
    return Run("suite", "budget", "task", "method", seed, {"seed": seed, "budget": {"steps": 2}})


def make_record(run: Run, **changes: object) -> RunRecord:
    made = Provenance(platform="p", device="d", versions={}, content={}, git_revision=None)
    record = RunRecord(
        identity=dict(run.identity), status="running", step=0, began=now(), updated=now(),
        process=this_process(), provenance=made)  # fmt: skip
    return record.model_copy(update=changes)


def finish(store: Store, run: Run, **changes: object) -> Path:
    record = make_record(run, status="finished", step=2, **changes)
    store.finish(run, record, RunColumns(METRICS, EPISODES))
    return store.folder(run)
