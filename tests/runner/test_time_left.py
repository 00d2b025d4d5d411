"""The time that is announced while batches run, on a simulated clock."""

import csv
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from toy_runs import plan_of
from uqbench_sentinel.config import SentinelConfig

from uqbench.identity import Run
from uqbench.registry import Host
from uqbench.runner import BatchGroup, display, events, forecast, make_batch_groups
from uqbench.runner.forecast import TimeLeft, seconds_left, work


@dataclass
class Known:
    """A forecast of what each method costs, or each task and method."""

    costs: dict[str, float]
    saved: dict[str, int] = field(default_factory=dict)

    def cost(self, run: Run) -> float:
        return self.costs.get(run.task + run.method) or self.costs[run.method]


@pytest.fixture
def groups(host: Host) -> list[BatchGroup]:
    """Two tasks, two methods, sixty seeds: 24 batches of ten."""
    plan = plan_of(host, seeds=range(60))
    return make_batch_groups(plan, plan.runs, "cpu", 10)


def test_the_time_left_is_said_with_the_total(groups, capsys, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: 1000.0, process_time=lambda: 1.0)
    monkeypatch.setattr(display, "time", clock)
    monkeypatch.setattr(TimeLeft, "left", lambda _: 300.0)
    known = Known({"slow": 1.0, "fast": 1.0})
    with display.Terminal().watch(groups, known, 2) as show:
        clock.monotonic = lambda: 1600.0
        show(events.Finished(groups[0][0], 600.0, {}))
        assert capsys.readouterr().err == "all runs: 0%, about 5 min left of 15 min\n"
        for seconds, lines in ((59.0, 0), (1.0, 1), (1.0, 0), (300.0, 1)):
            then = clock.monotonic() + seconds
            clock.monotonic = lambda then=then: then
            show(events.Started(groups[1][0]))
            assert capsys.readouterr().err.count("all runs: ") == lines


def test_a_second_of_steps_promises_the_whole_with_start_and_report(groups, capsys, monkeypatch):
    """Forecast is a hundredth of what it takes: 24 batches of two methods, two at a time."""
    clock = SimpleNamespace(monotonic=lambda: 1000.0, process_time=lambda: 0.5)
    monkeypatch.setattr(display, "time", clock)
    batches = [batch for (batch,) in groups]
    known = Known({"slow": 1e-3, "fast": 1e-3})
    with display.Terminal().watch(groups, known, 2) as show:
        for batch in batches[:2]:
            show(events.Started(batch))
        step = batches[0].budget.steps // 20
        for part in range(1, 4):
            assert "in all" not in capsys.readouterr().err
            clock.monotonic = lambda now=1004.0 + 0.3 * part: now
            for batch in batches[:2]:
                show(events.Progress(batch, part * step, 0.3 * part, {}))
    said = capsys.readouterr().err
    assert said.count("in all, where nothing else runs.") == 1
    # 4 s to start; 24 batches of 6 s and what is fixed, two at a time; board and report
    told = re.search(r"Estimate: (\d+) s in all", said)
    assert told is not None
    ends = 24 * 0.5 * (forecast.BATCH + 10 * forecast.RUN)
    around = 0.5 * (display.AROUND + 240 * display.ROW)
    assert int(told[1]) == pytest.approx(4 + (24 * 6 + ends) / 2 + around, rel=0.05)


@pytest.mark.parametrize("waited", [1.0, 3.0])
def test_a_busy_machine_and_a_stopped_process_are_no_work(groups, waited):
    """Each step waits for a core for a while; once the process is stopped for a day."""
    clock, computed = 0.0, 0.0
    batch = groups[0][0]
    steps, name = batch.budget.steps, batch.cell.method.name
    time_left = TimeLeft(groups[:1], Known({name: 1e-3}), 1, lambda: clock)
    time_left.show(events.Started(batch))
    for step in range(steps // 20, steps // 2 + 1, steps // 20):
        took = 1e-3 * 10 * steps / 20 * 100
        computed, clock = computed + took, clock + waited * took
        clock += 3600.0 * 24 * (step == steps // 4)
        time_left.show(events.Progress(batch, step, computed, {}))
    assert time_left.left() == pytest.approx(waited * computed, rel=0.06)
    assert time_left.busy == pytest.approx(waited, rel=0.03)


def test_what_failed_or_belongs_to_others_takes_no_more_time(groups):
    (first,), (second,), (third,) = groups[:3]
    known = Known(dict.fromkeys(["slow", "fast"], 1.0 / first.budget.steps))
    time_left = TimeLeft(groups[:3], known, 1, lambda: 0.0)
    assert time_left.left() == pytest.approx(30)
    time_left.show(events.Failed(first, "broken"))
    assert time_left.left() == pytest.approx(20)
    time_left.show(events.Taken(second))
    assert time_left.left() == pytest.approx(10)
    time_left.show(events.Split(third, "broken"))
    assert time_left.left() == pytest.approx(10)
    time_left.show(events.Finished(third.of(third.runs[:1]), 1.0, {}))
    assert time_left.left() == pytest.approx(9)


def test_the_pace_of_a_batch_alone_is_weighed_by_its_gradient_steps(groups):
    """Without a forecast, as ``uqbench status`` reads it: half of all updates in a quarter."""
    (batch,) = groups[0]
    steps, config = batch.budget.steps, SentinelConfig(schedule="triangular")
    learning = replace(batch, cell=replace(batch.cell, config=config))
    for first in (0, steps // 10):
        taken = work(config, steps, first, steps // 4)
        left = work(config, steps, steps // 4, steps)
        seen = events.Progress(learning, steps // 4, 10.0, {}, first)
        assert seconds_left(seen) == pytest.approx(10.0 * left / taken)
    assert seconds_left(events.Progress(batch, steps // 4, 10.0, {})) == pytest.approx(30.0)
    assert seconds_left(events.Progress(batch, 0, 10.0, {})) is None


def test_batches_whose_steps_are_interleaved_share_the_time_that_is_left(groups):
    clock = 0.0
    # on a GPU, where batches are interleaved
    first, second = (replace(batch, device="cuda") for group in groups[:2] for batch in group)
    steps = first.budget.steps
    known = Known(dict.fromkeys(["slow", "fast"], 1.0 / steps))
    time_left = TimeLeft([[first, second]], known, 1, lambda: clock)
    for batch in first, second:
        time_left.show(events.Started(batch))
    for step in range(1, steps // 2 + 1):
        for batch in first, second:  # each says what its own steps took
            clock += 0.01
            time_left.show(events.Progress(batch, step, 0.01 * step, {}))
    rest = 0.01 * 2 * (steps - steps // 2)
    assert time_left.left() == pytest.approx(rest, rel=0.02)


RECORDED = {
    "quick": ("minatar", "quick", 25_600),
    "quick_by_its_board": ("minatar", "quick", 19_200),
    "demo_by_its_board": ("deepsea", "demo", None),
}
"""Suite, budget and steps of recorded runs: two processes, ``recorded/NAME.csv``.

All were made on machines with several times as much to do as they have cores: single looks, when a
process stalled, are off. Of ``quick`` the speeds were measured by the same command; those of the
others are of the suite's board, and the runs took up to 17 times as long, those that do not learn a
fifth of it.
"""


def replayed(name, machine=lambda now: now):
    """(time, announced total) after each event of a recorded run, the true total, and the shares.

    Args:
        name: one of :data:`RECORDED`.
        machine: seconds, by those of the recording.
    """
    with (Path(__file__).parent / "recorded" / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    host = Host.load()
    suite, budget, steps = RECORDED[name]
    (lanes,) = {int(row["runs"]) for row in rows if row["runs"]}
    ran = {of: sorted({row[of] for row in rows if row[of]}) for of in ("method", "task")}
    chosen = {"methods": ran["method"], "tasks": ran["task"], "seeds": range(lanes)}
    plan = plan_of(host, budget, suite=suite, steps=steps, **chosen)
    groups = make_batch_groups(plan, plan.runs, "cpu", lanes)
    batches = {(b.cell.task.name, b.cell.method.name): b for (b,) in groups}
    expected = [row for row in rows if row["kind"] == "expected"]
    costs = {row["task"] + row["method"]: float(row["step"]) for row in expected}
    clock, told, shares = 0.0, [], []
    time_left = TimeLeft([(batch,) for batch in batches.values()], Known(costs), 2, lambda: clock)
    for row in rows:
        recorded = float(row["time"])
        clock = machine(recorded)
        if row["kind"] not in ("expected", "end"):
            batch, seconds = batches[row["task"], row["method"]], float(row["seconds"])
            seconds = clock - machine(recorded - seconds)
            progress = int(row["step"] or 0), seconds, {}
            values = {"Started": (), "Finished": (seconds, {}), "Progress": progress}[row["kind"]]
            time_left.show(getattr(events, row["kind"])(batch, *values))
            shares.append(time_left.share)
            told.append((clock, clock + time_left.left()))
    return told, clock, shares


def hold(guesses):
    """Within 30 percent of the truth, but for single looks."""
    assert len(guesses) > 100
    assert sum(0.7 <= guess <= 1.3 for guess in guesses) >= 0.97 * len(guesses)
    assert 0.7 <= min(guesses) <= max(guesses) <= 1.6


@pytest.mark.parametrize("name", RECORDED)
def test_the_time_left_of_a_real_run_is_within_30_percent_from_a_tenth_on(name):
    told, total, shares = replayed(name)
    hold([guess / total for now, guess in told if now >= total / 10])
    assert shares == sorted(shares)
    # of what is left itself fewer looks are: nobody knows how busy the machine will be
    looks = [(guess - now) / (total - now) for now, guess in told if total / 10 <= now < total]
    assert sum(0.7 <= look <= 1.3 for look in looks) >= 0.8 * len(looks)


@pytest.mark.parametrize("slower", [0.5, 2.0])
@pytest.mark.parametrize("name", RECORDED)
def test_a_machine_that_changes_its_speed_halfway_is_within_30_percent_a_tenth_later(name, slower):
    """Before it changes, nobody can know: twice as slow, two thirds of the total are announced."""
    half = replayed(name)[1] / 2
    told, total, shares = replayed(name, lambda now: min(now, half) + max(now - half, 0.0) * slower)
    assert total == pytest.approx(half * (1 + slower))
    hold([guess / total for now, guess in told if now >= half + total / 10])
    assert shares == sorted(shares)
