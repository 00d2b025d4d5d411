"""How long a plan is said to take."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from toy_runs import plan_of
from uqbench_sentinel.config import SentinelConfig

from uqbench.registry import Host
from uqbench.results import Folder
from uqbench.runner.forecast import SCRIPT, Forecast, StepCosts, rollouts_note, work
from uqbench.suites import Plan, Queries, read_suites

NOMINAL = {"smoke": 2.0, "paper": 0.5}  # milliseconds a step
STEPS = {"smoke": 100, "paper": 1_000}


@dataclass
class Stored:
    """A result store that holds timed runs, and checkpoints, by folder."""

    found: dict[str, Any]
    root: Path = Path("nowhere")

    def at(self, place: str) -> Folder:
        """A folder of it, which is not there."""
        return Folder(self.root / place)

    def walk(self, suite: str) -> Any:
        return ((f"{suite}/{folder}", found) for folder, found in self.found.items())


def stored(**record: Any) -> SimpleNamespace:
    """A run with a record."""
    nothing = {"timing": None, "checkpoint": None, "trained": False}
    return SimpleNamespace(record=SimpleNamespace(**nothing | record))


def timed(steps_per_s: float, device: str = "cpu") -> SimpleNamespace:
    return stored(identity={"device": device}, timing=SimpleNamespace(steps_per_s=steps_per_s))


def saved(step: int) -> SimpleNamespace:
    return stored(checkpoint=SimpleNamespace(step=step, folder="a/checkpoint"))


@pytest.fixture
def plan(host: Host) -> Plan:
    """Four runs under the budget ``paper``."""
    suite = read_suites(host).suite("toy")
    smoke = suite.budgets["smoke"]
    of = {name: {"step_ms": NOMINAL[name], "steps": STEPS[name]} for name in NOMINAL}
    budgets = {name: smoke.model_copy(update=values) for name, values in of.items()}
    suite = suite.model_copy(update={"budgets": budgets})
    return plan_of(host, "paper", suite=suite, methods=["fast"], tasks=["long"], seeds=range(4))


def forecast(plan: Plan, found: dict[str, Any], board: StepCosts | None = None) -> Forecast:
    return Forecast(plan, set(plan.runs), Stored(found), board or {})


def seconds(plan: Plan, found: dict[str, Any]) -> float:
    return forecast(plan, found).seconds


def on_a_gpu(plan: Plan, **values: float) -> Plan:
    """The same runs on a GPU, under a budget with other values."""
    cells = tuple(
        replace(cell, runs=tuple(replace(r, identity={"device": "cuda"}) for r in cell.runs))
        for cell in plan.cells
    )
    return replace(plan, cells=cells, budget=plan.budget.model_copy(update=values))


OF_ANOTHER_TASK = {"paper/short/fast/7-a": timed(100.0)}
EARLIER = {"paper/long/fast/7-a": timed(100.0)}
BOARD = {("long", "fast", "cpu"): (0.02, "boards/toy/paper/cost.csv")}
ELSEWHERE = {
    "gone/long/fast/0-a": timed(1.0),
    "smoke/long/fast/0-a": timed(1.0),
    "paper/long/slow/0-a": timed(1.0),
    "paper/long/fast/0-a": timed(1.0, device="cuda"),
}


KNOWN_SPEEDS = [
    ({}, {}, 0.5e-3, "a nominal 0.5 ms a step"),
    (ELSEWHERE, {}, 0.5e-3, "a nominal 0.5 ms a step"),
    (EARLIER | ELSEWHERE, {}, 0.01, "the speed of earlier runs"),
    ({}, BOARD, 0.02, "boards/toy/paper/cost.csv"),
    (EARLIER, BOARD, 0.01, "the speed of earlier runs"),
    (OF_ANOTHER_TASK | ELSEWHERE, {}, 0.01, "the speed of earlier runs"),
    (OF_ANOTHER_TASK, BOARD, 0.02, "boards/toy/paper/cost.csv"),
    ({}, {("long", "fast", "cuda"): (0.02, "b")}, 0.5e-3, "a nominal 0.5 ms a step"),
]


@pytest.mark.parametrize(("found", "board", "step", "basis"), KNOWN_SPEEDS)
def test_a_run_takes_as_long_as_runs_a_board_or_the_suite_say(found, board, step, basis, plan):
    made = forecast(plan, found, board)
    assert (made.seconds, made.basis) == (pytest.approx(4 * 1_000 * step), basis)


def test_a_gpu_has_a_nominal_time_of_its_own(plan):
    assert seconds(on_a_gpu(plan, gpu_step_ms=0.01), {}) == pytest.approx(4 * 1_000 * 0.01e-3)
    assert seconds(on_a_gpu(plan), {}) == seconds(plan, {})


def test_saved_steps_are_not_taken_again(plan):
    folder = plan.runs[0].folder.relative_to("toy")
    assert seconds(plan, {str(folder): saved(400)}) == pytest.approx(3_600 * 0.5e-3)


def test_the_nominal_time_is_a_learners_where_some_learn_by_gradient_steps(plan):
    learner, script = plan.cells[0], replace(plan.cells[0], runs=plan.runs[:1])
    learner = replace(learner, config=SentinelConfig(), runs=plan.runs[1:])
    both = replace(plan, cells=(learner, script))
    costs = [forecast(both, {}).cost(run) for run in plan.runs]
    learning = 1_000 * 0.5e-3 / work(learner.config, 1_000, 0, 1_000)
    assert costs == pytest.approx([0.5e-3 * SCRIPT, learning, learning, learning])


def test_dense_gradient_steps_are_counted(plan):
    """Of 1,000 steps 44 have an update: 1, 3, 6, …, 990; of those, 31 come after step 100."""
    config = SentinelConfig(schedule="triangular", updates_per_event=2)
    assert work(config, 1_000, 0, 1_000) == 2 * 44
    cell = replace(plan.cells[0], config=config, runs=plan.runs[:1])
    plan = replace(plan, cells=(cell,))
    folder = str(plan.runs[0].folder.relative_to("toy"))
    assert seconds(plan, EARLIER) == pytest.approx(10.0)
    assert seconds(plan, EARLIER | {folder: saved(100)}) == pytest.approx(10.0 * 31 / 44)


def test_the_price_of_rollouts_is_told(plan):
    """At the end in thirty states, in five after a quarter and after half of training."""
    assert rollouts_note(plan) == ""
    asked = Queries(states=30, early_states=5, rollouts=4, most_rollouts=16, tail=0.05)
    fixed = asked.model_copy(update={"most_rollouts": None})
    for queries, number in ((asked, 40 * 16), (fixed, 40 * 4)):
        own = replace(plan, budget=plan.budget.model_copy(update={"queries": queries}))
        said = f"The truth of a run takes at most {number} rollouts of each action, until a rew"
        assert rollouts_note(own).startswith(said)
