"""Games side by side in one batch, as a GPU has them: every lane is what it is alone."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from uqbench_minatar.side_by_side import GamesSideBySide

from uqbench.identity import Run
from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import Batch, execute
from uqbench.runner.events import Event, Finished, Progress, Split, Started
from uqbench.runner.interleaving import joined
from uqbench.runner.process import Stop
from uqbench.suites import Plan, make_plan, read_suites

STEPS = 64 * 40
LEARNING = {"learn_period": 64, "target_sync_period": 640, "learning_starts": 200}
SHORT = {
    "tasks": None, "tuned": None, "steps": STEPS, "schedule": 1.0, "ranks": False,
    "config": {**LEARNING, "batch_size": 128, "learning_rate": 1e-3},
    "evaluation": {"episodes": 2, "max_steps": 40},
    "queries": {"states": 4, "early_states": 2, "rollouts": 2, "most_rollouts": 4, "tail": 0.8},
}  # fmt: skip


@pytest.fixture(scope="module")
def host() -> Host:
    return Host.load()


def planned(
    host: Host, method: str, tasks: Sequence[str], numerics: str = "native", budget: str = "night"
) -> tuple[Plan, tuple[Batch, ...]]:
    """Two seeds of a method on some games, and the batch of each."""
    suite = read_suites(host, check=()).suite("minatar")
    table = suite.budget(budget).model_dump() | SHORT | {"numerics": numerics}
    short = type(suite.budget(budget)).model_validate(table)
    suite = suite.model_copy(update={"budgets": {**suite.budgets, budget: short}})
    named = {"methods": [method], "tasks": list(tasks), "seeds": range(2)}
    plan = make_plan(suite, host, budget, device="cpu", **named)
    metrics = plan.suite.metrics
    return plan, tuple(Batch(cell, short, metrics, "cpu", keep_agents=True) for cell in plan.cells)


def done(store: Store, run: Run) -> dict[str, Any]:
    """The files of a finished run, but for what time it took."""
    folder = store.root / run.place
    record = json.loads((folder / "run.json").read_text())
    assert record["status"] == "finished", record["reason"]
    del record["scalars"]["steps_per_s"]
    record["learning"].pop("random", None)  # random play beside is drawn by batch
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.json"}
    return {**files, "scalars": record["scalars"], "learning": record["learning"]}


@pytest.mark.parametrize(
    ("method", "numerics"), [("dqn", "native"), ("dqn", "eager"), ("ube-dqn", "eager")]
)
def test_games_in_one_batch_are_stored_as_alone_bit_for_bit(method, numerics, host, tmp_path):
    """Scores, episodes, records, predictions, and the agent: the network of one game."""
    plan, batches = planned(host, method, ["asterix", "space_invaders"], numerics)
    alone, together = Store(tmp_path / "alone"), Store(tmp_path / "together")
    for batch in batches:
        execute((batch,), alone, host, ignored, 0.0)
    told: list[Event] = []
    [whole] = joined(batches, together, host)
    assert [run.task for run in whole.runs] == ["asterix"] * 2 + ["space_invaders"] * 2
    execute(batches, together, host, told.append, 0.0)
    for run in plan.runs:
        found, expected = done(together, run), done(alone, run)
        assert found == expected, run.name
        assert found["learning"]["gradient_steps"] > 0
        assert {"agent.pt", "training.pt", "predictions.parquet"} <= found.keys()
    # whoever follows hears of the batch of each task
    assert all(event.batch in batches for event in told)
    assert [e.batch for e in told if isinstance(e, Finished)] == list(batches)
    assert all(set(e.scalars) == {0, 1} for e in told if isinstance(e, Finished))


def ignored(event: Event) -> None:
    """Nobody follows."""


def test_a_batch_of_several_games_resumes_from_its_checkpoint(host: Host, tmp_path: Path) -> None:
    plan, batches = planned(host, "dqn", ["asterix", "space_invaders"])
    whole, parts = Store(tmp_path / "whole"), Store(tmp_path / "parts")
    execute(batches, whole, host, ignored, 0.0)
    stop, told = Stop(), list[Event]()

    def halfway(event: Event) -> None:
        told.append(event)
        if isinstance(event, Progress) and event.step > STEPS // 2:
            stop.asked = True  # as a signal does

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uqbench.runner.worker.REPORT_SECONDS", 0.0)
        with pytest.raises(SystemExit):
            execute(batches, parts, host, halfway, 3600.0, stop)
    again: list[Event] = []
    execute(batches, parts, host, again.append, 3600.0)
    begun = [event for event in again if isinstance(event, Started)]
    assert [event.batch for event in begun] == list(batches), again
    assert all(STEPS // 2 < event.step < STEPS and event.lanes == 4 for event in begun)
    for run in plan.runs:
        found, expected = done(parts, run), done(whole, run)
        assert found == expected, run.name
    assert not [*parts.root.glob("**/checkpoint.json")]


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        (lambda budget: {}, True),
        (lambda budget: {"queries": budget.queries.model_copy(update={"states": 2})}, True),
        (lambda budget: {"queries": None}, False),
        (lambda budget: {"steps": 2 * budget.steps}, False),
        (lambda budget: {"actors": 32}, False),
    ],
    ids=["nothing", "what-is-asked", "whether-it-is-asked", "steps", "actors"],
)
def test_batches_that_differ_in_more_than_the_game_are_apart(change, alike, host, tmp_path):
    _, (one, other) = planned(host, "dqn", ["asterix", "space_invaders"])
    budget = other.budget.model_copy(update=change(other.budget))
    group = one, replace(other, budget=budget)
    assert len(joined(group, Store(tmp_path), host)) == 2 - alike


@pytest.mark.parametrize("method", ["script", "c51-support"])
def test_a_method_with_another_config_on_each_game_or_no_clock_is_apart(method, host, tmp_path):
    _, batches = planned(host, method, ["asterix", "space_invaders"])
    assert len(joined(batches, Store(tmp_path), host)) == 2


def test_where_states_do_not_fit_each_game_is_a_batch(host, tmp_path, monkeypatch):
    def begin(env: GamesSideBySide, agent: Any, own: Any) -> None:
        raise RuntimeError("the weights have no planes")

    monkeypatch.setattr(GamesSideBySide, "begin", begin)
    _, batches = planned(host, "dqn", ["asterix", "space_invaders"])
    told: list[Event] = []
    execute(batches, Store(tmp_path), host, told.append, 0.0)
    split = [event for event in told if isinstance(event, Split)]
    assert [part for event in split for part in event.parts] == list(batches)
    assert all("the weights have no planes" in event.reason for event in split)
