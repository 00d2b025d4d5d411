"""Asking agents how uncertain they are, as runs do, on MinAtar."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from uqbench.registry.plugins import Host
from uqbench.results.columns import Columns
from uqbench.results.store import CURVES, RunState, Store
from uqbench.runner.batching.batches import make_batch_groups
from uqbench.runner.interleaving import execute
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Queries

METHOD = "bootstrapped-dqn"
STEPS = 24
ASKED = Queries(states=3, early_states=2, rollouts=2, tail=0.9)
SETTINGS = {"learning_starts": 4, "batch_size": 4, "heads": 3, "hidden": [8]}


@pytest.fixture
def run(monkeypatch):
    """``run(folder, seeds, queries)``: the metrics, episodes and curves of the last seed."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "minatar,dqn,builtin")
    host = Host.load()
    suite = read_suites(host).suite("minatar")
    return lambda *arguments: run_lanes(suite, host, *arguments)


def run_lanes(
    suite: Suite, host: Host, folder: Path, seeds: list[int], queries: Queries | None
) -> list[Columns]:
    plan = make_plan(
        suite, host, "quick", device="cpu", methods=[METHOD],
        tasks=["breakout"], seeds=seeds, steps=STEPS, settings={METHOD: SETTINGS},
    )  # fmt: skip
    [[batch]] = make_batch_groups(plan, plan.runs, "cpu", lanes=5)
    batch = replace(batch, budget=batch.budget.model_copy(update={"queries": queries}))
    store = Store(folder)
    execute((batch,), store, host, lambda event: None)
    last = plan.runs[-1]
    assert store.find(last).state is RunState.FINISHED
    curves = store.folder(last) / CURVES
    read = pq.read_table(curves).to_pydict() if curves.exists() else {}
    return [*store.columns(last), {name: np.array(column) for name, column in read.items()}]


def equal(a: Columns, b: Columns) -> bool:
    """NaN equals itself, as what is not known yet."""
    return a.keys() == b.keys() and all(
        np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f") for k in a
    )


def test_asking_changes_nothing_in_training_and_a_lanes_answers_are_its_own(run, tmp_path):
    """Seed 1 alone without questions, alone with them, and next to seed 0: bit for bit."""
    unasked, episodes, no_curves = run(tmp_path / "a", [1], None)
    alone, asked_episodes, curves = run(tmp_path / "b", [1], ASKED)
    together = run(tmp_path / "c", [0, 1], ASKED)
    questions = np.array([name.startswith("queries/") for name in alone["metric"]])
    assert equal({name: column[~questions] for name, column in alone.items()}, unasked)
    assert equal(episodes, asked_episodes)
    for given, expected in zip(together, (alone, episodes, curves), strict=True):
        assert equal(given, expected)
    assert no_curves == {}
    asked_at = alone["step"][alone["metric"] == "queries/ence"]
    assert asked_at.tolist() == [STEPS // 4, STEPS // 2, STEPS]
    points = curves["step"][curves["curve"] == "error_against_std"]
    assert np.unique(points, return_counts=True)[1].tolist() == [2 * 6, 2 * 6, 3 * 6]
    truths = alone["value"][alone["metric"] == "queries/q_error"]
    assert np.isfinite(truths).all()


def test_own_states_are_of_the_end_of_training_and_change_nothing_else(run, tmp_path):
    """Seed 1 with states of its own, alone and next to seed 0: bit for bit."""
    asked, episodes, _ = run(tmp_path / "a", [1], ASKED)
    alone = run(tmp_path / "b", [1], ASKED.model_copy(update={"own": 2}))
    together = run(tmp_path / "c", [0, 1], ASKED.model_copy(update={"own": 2}))
    own = np.array([name.startswith("queries/own/") for name in alone[0]["metric"]])
    assert equal({name: column[~own] for name, column in alone[0].items()}, asked)
    assert equal(alone[1], episodes)
    for given, expected in zip(together, alone, strict=True):
        assert equal(given, expected)
    assert set(alone[0]["step"][own]) == {STEPS}
    assert {"queries/own/q_error", "queries/own/coverage_90"} <= set(alone[0]["metric"][own])
    points = alone[2]["step"][alone[2]["curve"] == "own/error_against_std"]
    assert points.tolist() == [STEPS] * 2 * 6


def test_own_states_are_where_training_was_and_survive_a_checkpoint(run):
    """Eight of the last ten steps, as the training environment stood there."""
    from types import SimpleNamespace

    import torch
    from uqbench_minatar.config import GameConfig
    from uqbench_minatar.lanes import MinAtarLanes

    from uqbench.uncertainty.on_policy_states import OwnStates
    from uqbench.uncertainty.query_sources import Rollouts

    config = GameConfig(game="breakout")
    runs = [SimpleNamespace(agent_seed=seed) for seed in (1, 2)]
    rollouts = Rollouts(runs, lambda seeds: MinAtarLanes(config, seeds), 0.9, 2, 0.5)
    kept, resumed = (OwnStates(rollouts, runs, 8, 100) for _ in range(2))
    env = MinAtarLanes(config, [1, 2])
    obs, _ = env.reset()
    seen, shown = {}, {}
    for step in range(1, 101):
        obs = env.step(torch.tensor([step % 6, 1])).obs
        seen[step], shown[step] = env.state_dict(), obs.clone()
        (kept if step <= 95 else resumed).see(step, env, obs[:, None])
        if step == 95:
            resumed.load_state_dict(kept.state_dict())
    assert resumed.obs(None, 50) is None
    frames = resumed.obs(None, 100)
    assert frames.shape[:2] == (2, 8)
    state = resumed.state_dict()["env"]
    for lane in range(2):
        steps = sorted(step for step, due in resumed._due.items() if lane in dict(due))
        assert len(steps) == 8
        assert steps[0] > 90
        assert steps[-1] < 100
        for slot, step in enumerate(steps):
            assert torch.equal(frames[lane, slot], shown[step][lane])
            for name, array in state.items():
                assert torch.equal(array[8 * lane + slot], seen[step][name][lane])
