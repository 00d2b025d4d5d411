"""The time that is announced while batches run, on a simulated clock."""

import heapq
import random
from dataclasses import replace
from pathlib import Path

import pytest
from uqbench_sentinel.config import SentinelConfig

from uqbench.registry.plugins import Host
from uqbench.runner import events
from uqbench.runner.batching.batches import BatchGroup, make_batch_groups
from uqbench.runner.forecast import Forecast, Pace, TimeLeft, seconds_left
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites
from uqbench.updates import triangular_numbers

START = 4.0
"""Seconds of a batch before its first step."""


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[BatchGroup]:
    """Two tasks, two methods, sixty seeds: 24 batches of ten."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "toy"))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    host = Host.load()
    plan = make_plan(read_suites(host).suite("toy"), host, device="cpu", seeds=range(60))
    return make_batch_groups(plan, plan.runs, "cpu", 10)


def announced(groups, takes, expected, processes=2):
    """(time, announced total) after each event, and the true total.

    Args:
        groups: of one batch each.
        takes: seconds of a run's step, by method.
        expected: likewise, what was thought before.
        processes: that work at once.
    """
    clock = 0.0
    core_seconds = {
        run: START / len(batch.runs) + batch.budget.steps * expected[run.method]
        for (batch,) in groups
        for run in batch.runs
    }
    time_left = TimeLeft(groups, Forecast(0.0, "", core_seconds), processes, lambda: clock)
    waiting, queue, told = [batch for (batch,) in groups], [], []
    order = iter(range(10**6))

    def start(now):
        if not waiting:
            return
        batch = waiting.pop(0)
        seconds = batch.steps * takes[batch.cell.method.name]
        heapq.heappush(queue, (now, next(order), events.Started(batch)))
        for twentieth in range(1, 20):
            step = batch.budget.steps * twentieth // 20
            spent = START + seconds * twentieth / 20
            progress = events.Progress(batch, step, spent, {})
            heapq.heappush(queue, (now + spent, next(order), progress))
        end = START + seconds
        heapq.heappush(queue, (now + end, next(order), events.Finished(batch, end, {})))

    for _ in range(processes):
        start(0.0)
    while queue:
        clock, _, event = heapq.heappop(queue)
        time_left.show(event)
        if isinstance(event, events.Finished):
            start(clock)
        told.append((clock, clock + time_left.left()))
    return told, clock


@pytest.mark.parametrize("slowdown", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("slower", ["slow", "fast"])
def test_with_methods_that_differ_tenfold_the_total_is_within_a_fifth_from_a_tenth_on(
    groups, slower, slowdown
):
    """Measured within ten percent each; then the whole machine turned out slower, or faster."""
    takes = {"slow": 0.002, "fast": 0.002} | {slower: 0.02}
    noise = random.Random(0)
    expected = {name: ms / slowdown * noise.uniform(0.9, 1.1) for name, ms in takes.items()}
    told, total = announced(groups, takes, expected)
    late = [guess for when, guess in told if when >= total / 10]
    assert len(late) > 100
    assert all(abs(guess / total - 1) <= 0.2 for guess in late)
    assert told[-1][1] == total


def test_a_method_that_nothing_was_known_of_is_corrected_when_it_is_seen(groups):
    takes = {"slow": 0.002, "fast": 0.02}
    told, total = announced(groups, takes, dict.fromkeys(takes, 0.002))
    assert told[0][1] < 0.3 * total
    half = [guess for when, guess in told if when >= total / 2]
    assert all(abs(guess / total - 1) <= 0.2 for guess in half)


def test_what_failed_or_belongs_to_others_takes_no_more_time(groups):
    (first,), (second,), (third,) = groups[:3]
    core_seconds = {run: 1.0 for (batch,) in groups[:3] for run in batch.runs}
    time_left = TimeLeft(groups[:3], Forecast(0.0, "", core_seconds), 1, lambda: 0.0)
    assert time_left.left() == 30
    time_left.show(events.Failed(first, "broken"))
    assert time_left.left() == 20
    time_left.show(events.Taken(second))
    assert time_left.left() == 10
    time_left.show(events.Split(third, "broken"))
    assert time_left.left() == 10
    time_left.show(events.Finished(third.of(third.runs[:1]), 1.0, {}))
    assert time_left.left() == 9


def test_an_estimate_that_is_used_up_gives_way_to_the_pace_that_is_seen(groups):
    clock = 0.0
    (batch,) = groups[0]
    expected = Forecast(0.0, "", dict.fromkeys(batch.runs, 1.0))
    time_left = TimeLeft(groups[:1], expected, 1, lambda: clock)
    steps = batch.budget.steps
    time_left.show(events.Started(batch))
    for clock, step in ((100.0, 1), (200.0, 2)):
        time_left.show(events.Progress(batch, step, clock, {}))
        assert time_left.left() >= 9.9  # of ten seconds: never nothing
    assert time_left.left() == pytest.approx(100 * (steps - 2))
    clock = 250.0
    assert time_left.left() == pytest.approx(100 * (steps - 2) - 50)


@pytest.mark.parametrize("slowdown", [0.3, 1.0, 4.0])
def test_steps_with_most_of_the_updates_are_over_soon(groups, slowdown):
    """As Eriksson et al. 2022 update: half of all updates are done after a quarter of the steps."""
    clock = 0.0
    (batch,) = groups[0]
    steps = batch.budget.steps
    pace = Pace(1e-5, 0.1, triangular_numbers)
    truth = Pace(1e-5 * slowdown, 0.1 * slowdown, triangular_numbers)
    each = pace.seconds(0, steps)
    runs = batch.runs
    expected = Forecast(0.0, "", dict.fromkeys(runs, each), dict.fromkeys(runs, pace))
    time_left = TimeLeft(groups[:1], expected, 1, lambda: clock)
    time_left.show(events.Started(batch))
    total = len(runs) * truth.seconds(0, steps)
    for step in range(1, steps):
        clock = len(runs) * truth.seconds(0, step)
        time_left.show(events.Progress(batch, step, clock, {}))
        if clock > 0.15 * total:
            assert time_left.left() == pytest.approx(total - clock, rel=0.01, abs=1e-6 * total)
            assert time_left.left_of(batch) == time_left.left()


def test_the_pace_of_a_batch_alone_is_weighed_by_its_gradient_steps(groups):
    """Without a forecast, as ``uqbench status`` reads it: half of all updates in a quarter."""
    (batch,) = groups[0]
    steps = batch.budget.steps
    config = SentinelConfig(schedule="triangular")
    learning = replace(batch, cell=replace(batch.cell, config=config))
    for first in (0, steps // 10):
        taken = config.gradient_steps(steps // 4) - config.gradient_steps(first)
        whole = config.gradient_steps(steps) - config.gradient_steps(first)
        seen = events.Progress(learning, steps // 4, 10.0, {}, first)
        assert seconds_left(seen) == pytest.approx(10.0 * (whole - taken) / taken)
    assert seconds_left(events.Progress(batch, steps // 4, 10.0, {})) == pytest.approx(30.0)
    assert seconds_left(events.Progress(batch, 0, 10.0, {})) is None


def test_batches_whose_steps_are_interleaved_share_the_time_that_is_left(groups):
    clock = 0.0
    first, second = (batch for group in groups[:2] for batch in group)
    expected = Forecast(0.0, "", dict.fromkeys([*first.runs, *second.runs], 1.0))
    time_left = TimeLeft([[first, second]], expected, 1, lambda: clock)
    alone = TimeLeft([[first], [second]], expected, 1, lambda: clock)
    assert time_left.left() == alone.left()
    steps = first.budget.steps
    for batch in first, second:
        time_left.show(events.Started(batch))
    for step in range(1, steps // 2 + 1):
        for batch in first, second:
            clock += 0.01
            time_left.show(events.Progress(batch, step, clock, {}))
    rest = 0.01 * 2 * (steps - steps // 2)
    assert time_left.left() == pytest.approx(rest, rel=0.01)
    assert time_left.left_of(first) == pytest.approx(rest, rel=0.01)  # they end together
