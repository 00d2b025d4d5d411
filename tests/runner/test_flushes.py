"""What is flushed to disk while runs execute does not grow with their lanes."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import Batch, execute
from uqbench.runner.checkpoints import Checkpointer
from uqbench.suites import make_plan, read_suites

TOY = Path(__file__).parents[1] / "toy"


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_checkpoint_takes_four_flushes_and_a_step_none(lanes, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    host = Host.load()
    suite = read_suites(host).suite("toy")
    plan = make_plan(
        suite, host, "smoke", device="cpu", methods=["fast"], tasks=["long"], seeds=range(lanes)
    )
    batch = Batch(plan.cells[0], plan.budget, suite.metrics, "cpu")
    flushed, after_step, flush, after = 0, {}, os.fsync, Checkpointer.after

    def fsync(descriptor: int) -> None:
        nonlocal flushed
        flushed += 1
        flush(descriptor)

    def counted(checkpointer: Checkpointer, step: int, state: Any) -> None:
        checkpointer._due = 0.0 if step in (50, 100, 150) else np.inf
        after(checkpointer, step, state)
        after_step[step] = flushed

    monkeypatch.setattr("uqbench.results.folders.os.fsync", fsync)
    monkeypatch.setattr(Checkpointer, "after", counted)
    execute((batch,), Store(tmp_path), host, lambda event: None, checkpoint_seconds=1.0)
    taken = np.diff([after_step[step] for step in (49, 99, 149, 199)])
    first, *others = taken.tolist()
    assert others == [4, 4]
    assert first >= 4 + 2 * lanes  # the records name the checkpoint, once
    assert after_step[99] == after_step[51]
