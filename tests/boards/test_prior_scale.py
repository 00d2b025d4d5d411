"""Every prior of a suite starts with one standard deviation of Q (`benchmarks/prior_scale.py`).

On the budgets of boards, whatever a method's own setting is called; a tenth is left to chance.
"""

import pytest
from scripts import script

from uqbench.registry import Host
from uqbench.runner.executors.local import prepare_process

SEEDS = {"minatar": 6, "offline-minatar": 10}
"""Of rows whose networks are large; others have 12."""


prior_scale = script("benchmarks/prior_scale.py")
prepare_process()


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(suite, marks=[pytest.mark.long] if suite in SEEDS else [])
        for suite in prior_scale.VALUES
    ],
)
def test_every_prior_of_a_suite_starts_with_one_value(suite):
    host, starts, found = Host.load(), {}, {}
    seeds = SEEDS.get(suite, 12)
    for batch in prior_scale.batches(suite, host, seeds, tuple(prior_scale.SETTINGS)):
        if not prior_scale.held(suite, batch):
            continue
        task = batch.cell.task.name
        if task not in starts:
            starts[task] = prior_scale.Start(batch, host)
        std = prior_scale.prior_std(batch, host, starts[task])
        found[batch.cell.method.name, task] = std / prior_scale.value_of(suite, starts[task])
    assert len(found) >= 5
    assert {key: ratio for key, ratio in found.items() if not 0.9 < ratio < 1.1} == {}
