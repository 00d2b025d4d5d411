"""The power fails after any file operation of a small store, and nothing that was finished is lost.

Every subset of the operations that were not flushed may be on disk (:mod:`power_loss`). Seeded: a
failure names the crash, which can be restored again.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from power_loss import Trace
from test_damaged_files import digests
from toy_runs import first_batch, plan_of

from uqbench.registry import Host
from uqbench.results import RunState, Store
from uqbench.runner import Batch, execute
from uqbench.runner.checkpoints import Checkpointer
from uqbench.runner.process import Stop

LONG = "UQBENCH_FAULTS" in os.environ
SUBSETS = 1000 if LONG else 4
EXECUTED = 200 if LONG else 3


@pytest.fixture
def batch(host: Host) -> Batch:
    return first_batch(plan_of(host, "smoke", methods=["fast"], tasks=["short"], steps=24))


def run(batch: Batch, root: Path, host: Host) -> None:
    execute((batch,), Store(root), host, lambda event: None, 1000.0, stop=Stop())


def trace_of(batch: Batch, root: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """The operations of two runs that write records and checkpoints after steps 8 and 16."""
    trace = Trace(root)
    after, finish = Checkpointer.after, Store.finish

    def save(checkpointer: Checkpointer, step: int, state: Any) -> None:
        checkpointer._due = 0.0 if step in (8, 16) else float("inf")
        after(checkpointer, step, state)

    def marked(store: Store, made: Any, *data: Any) -> None:
        finish(store, made, *data)
        trace.mark(f"finished {made.seed}")

    with monkeypatch.context() as patch:
        patch.setattr("uqbench.runner.worker.RECORD_SECONDS", 0.0)
        patch.setattr(Checkpointer, "after", save)
        patch.setattr(Store, "finish", marked)
        trace.record(patch)
        run(batch, root, host)
    return trace


def results(batch: Batch, root: Path) -> dict[int, str | None]:
    """By seed: the digest of a finished run's results."""
    return digests({run.seed: Store(root).find(run) for run in batch.runs})


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_no_crash_alters_a_finished_run_or_later_results(batch, host, tmp_path, monkeypatch):
    root = tmp_path / "real"
    root.mkdir()
    trace, expected = trace_of(batch, root, host, monkeypatch), results(batch, root)
    assert None not in expected.values()
    whole = tmp_path / "whole"
    whole.mkdir()
    trace.restore(len(trace.ops), frozenset(trace._pending(len(trace.ops))), "whole", whole)
    assert files(whole) == files(root)  # the trace is complete

    crashes = list(trace.crashes(seed=0, most=SUBSETS))
    executed = set(range(0, len(crashes), max(1, len(crashes) // EXECUTED)))
    for number, crash in enumerate(crashes):
        folder = tmp_path / f"crash-{number}"
        folder.mkdir()
        trace.restore(*crash, folder)
        finished = {op.path for op in trace.ops[: crash[0]] if op.kind == "mark"}
        found = results(batch, folder)
        for made in batch.runs:
            state = Store(folder).find(made)
            assert state.state not in (RunState.DAMAGED, RunState.NEWER), (crash, state.reason)
            assert found[made.seed] in (None, expected[made.seed]), crash
            assert found[made.seed] or f"finished {made.seed}" not in finished, crash
        if number in executed:
            run(batch, folder, host)
            assert results(batch, folder) == expected, crash
    print(f"{len(trace.ops)} operations, {len(crashes)} crashes, {len(executed)} executed")
