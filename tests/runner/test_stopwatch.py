"""What batches cost that are interleaved in one process."""

import time
from pathlib import Path

import pytest

from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.runner.batches import Batch
from uqbench.runner.interleaving import execute
from uqbench.runner.stopwatch import Stopwatch
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

TOY = Path(__file__).parents[1] / "toy"


def test_only_own_turns_count_also_those_that_raise(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("uqbench.runner.stopwatch.time.monotonic", lambda: clock[0])
    watch = Stopwatch()
    with watch:
        clock[0] += 2
        assert watch.seconds == 2
    clock[0] += 10
    assert watch.seconds == 2

    def interrupted() -> None:
        with watch:
            clock[0] += 3
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert watch.seconds == 5


def test_interleaved_batches_cost_no_more_than_the_process_took(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    host = Host.load()
    suite = read_suites(host).suite("toy")
    plan = make_plan(suite, host, device="cpu", methods=["fast"], tasks=["long"], seeds=[0, 1, 2])
    together = Batch(plan.cells[0], plan.budget, suite.metrics, "cpu")
    store = Store(tmp_path)
    began = time.monotonic()
    execute(tuple(together.of([run]) for run in together.runs), store, host, lambda event: None)
    took = time.monotonic() - began
    timings = [record.timing for run in together.runs if (record := store.find(run).record)]
    assert 0 < sum(timing.seconds for timing in timings if timing) <= took
    assert len(timings) == 3
