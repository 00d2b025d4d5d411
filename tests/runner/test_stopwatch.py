"""What batches cost that are interleaved in one process."""

import subprocess
import sys
import time

import pytest

from uqbench.results import Store
from uqbench.runner import execute
from uqbench.runner.process import Stopwatch


def test_only_own_turns_count_also_those_that_raise(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("uqbench.runner.process.time.monotonic", lambda: clock[0])
    watch = Stopwatch()
    with watch:
        clock[0] += 2
        assert watch.spent.seconds == 2
    clock[0] += 10
    assert watch.spent.seconds == 2

    def interrupted() -> None:
        with watch:
            clock[0] += 3
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert watch.spent.seconds == 5


def test_waiting_takes_no_process_time():
    """So a batch costs the same on a busy machine."""
    watch = Stopwatch()
    with watch:
        time.sleep(0.2)
    assert watch.spent.seconds >= 0.2
    assert watch.spent.cpu_seconds < 0.1


def test_processes_that_a_step_started_count():
    burn = "import time\nwhile time.process_time() < .3: pass\nprint(time.process_time())"
    watch = Stopwatch()
    with watch:
        done = subprocess.run([sys.executable, "-c", burn], capture_output=True, check=True)
    assert watch.spent.cpu_seconds >= float(done.stdout)


def test_interleaved_batches_cost_no_more_than_the_process_took(batch, host, tmp_path):
    store = Store(tmp_path)
    began, worked = time.monotonic(), time.process_time()
    execute(tuple(batch.of([run]) for run in batch.runs), store, host, lambda event: None)
    took, worked = time.monotonic() - began, time.process_time() - worked
    found = [record.timing for run in batch.runs if (record := store.find(run).record)]
    timings = [timing for timing in found if timing is not None]
    assert len(timings) == 3
    assert 0 < sum(timing.seconds for timing in timings) <= took
    assert 0 < sum(timing.device_seconds for timing in timings) <= worked
    for timing in timings:
        assert timing.device_seconds == timing.cpu_seconds
        assert timing.steps_per_s == batch.budget.steps / timing.device_seconds
