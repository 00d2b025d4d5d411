"""Asking agents how uncertain they are, as runs do, on MinAtar, and by counts of states."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from toy_runs import first_batch, plan_of
from uqbench_tabular.environments.config import DrawnMDPConfig
from uqbench_tabular.environments.prior_mdp import make_drawn_lanes

from uqbench.registry import Host
from uqbench.results import PREDICTIONS, Columns, RunState, Store
from uqbench.results.store import CURVES
from uqbench.runner import execute
from uqbench.suites import Queries, read_suites
from uqbench.uncertainty.query_sources import Visits

METHOD = "bootstrapped-dqn"
NOVELTY = ("novelty", "novelty_auroc")
STEPS = 24
ASKED = Queries(states=3, early_states=2, rollouts=2, tail=0.9)
SETTINGS = {"learning_starts": 4, "batch_size": 4, "heads": 3, "hidden": [8]}


@pytest.fixture
def run(monkeypatch):
    """``run(folder, seeds, queries)``: the metrics, episodes and curves of the last seed."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "minatar,dqn,builtin")
    host = Host.load()
    suite = read_suites(host, check=("minatar",)).suite("minatar")
    return lambda *arguments: run_lanes(suite, host, *arguments)


def run_lanes(suite, host, folder, seeds, queries):
    chosen = {"methods": [METHOD], "tasks": ["breakout"], "settings": {METHOD: SETTINGS}}
    plan = plan_of(host, "smoke", suite=suite, seeds=seeds, steps=STEPS, **chosen)
    batch = first_batch(plan)
    batch = replace(batch, budget=batch.budget.model_copy(update={"queries": queries}))
    store = Store(folder)
    execute((batch,), store, host, lambda event: None)
    last = plan.runs[-1]
    assert store.find(last).state is RunState.FINISHED
    files = [store.folder(last) / name for name in (CURVES, PREDICTIONS)]
    tables = [pq.read_table(file).to_pydict() if file.exists() else {} for file in files]
    read = [{name: np.array(column) for name, column in table.items()} for table in tables]
    if queries is not None:  # a suite's metric, of what is stored: the last questions alone
        own = read[1]["truth_se"][read[1]["step"] == STEPS].astype(np.float64)
        scalars = store.find(last).record.scalars
        assert scalars["truth_error"] == pytest.approx(np.sqrt(np.mean(own**2)))
    return [*store.columns(last), *read]


def equal(a: Columns, b: Columns) -> bool:
    """NaN equals itself, as what is not known yet."""
    return a.keys() == b.keys() and all(
        np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f") for k in a
    )


@pytest.mark.parametrize("most", [None, 6])
def test_asking_changes_nothing_in_training_and_a_lanes_answers_are_its_own(run, tmp_path, most):
    """Seed 1 alone without questions, alone with them, and next to seed 0: bit for bit."""
    asked = ASKED.model_copy(update={"most_rollouts": most})
    unasked, episodes, *nothing = run(tmp_path / "a", [1], None)
    alone, asked_episodes, curves, stored = run(tmp_path / "b", [1], asked)
    together = run(tmp_path / "c", [0, 1], asked)
    questions = np.array([name.startswith("queries/") for name in alone["metric"]])
    assert equal({name: column[~questions] for name, column in alone.items()}, unasked)
    assert equal(episodes, asked_episodes)
    for given, expected in zip(together, (alone, episodes, curves, stored), strict=True):
        assert equal(given, expected)
    assert nothing == [{}, {}]
    asked_at = alone["step"][alone["metric"] == "queries/scale"]
    assert asked_at.tolist() == [STEPS // 4, STEPS // 2, STEPS]
    assert np.unique(stored["step"], return_counts=True)[1].tolist() == [2 * 6, 2 * 6, 3 * 6]
    assert all(np.isfinite(stored[name]).all() for name in ("mean", "std", "truth", "truth_se"))
    assert np.isnan(stored["difference_std"]).sum() == 2 + 2 + 3  # of the greedy actions
    novel = {name: alone["value"][alone["metric"] == f"queries/{name}"] for name in NOVELTY}
    assert all(np.isfinite(values).tolist() == [True] for values in novel.values())
    assert novel["novelty"] <= novel["novelty_auroc"] - 0.5
    assert np.isfinite(alone["value"][alone["metric"] == "queries/q_error"]).all()


ENV = make_drawn_lanes(DrawnMDPConfig(), [0], None, torch.device("cpu"))


@pytest.mark.parametrize("one_hot", [False, True])
def test_states_are_counted_whatever_their_observations_look_like(one_hot):
    states = torch.eye(4) if one_hot else torch.arange(4)
    walks = torch.tensor([[0, 1, 1, 3, 1], [2, 2, 2, 2, 0]])
    whole, resumed = Visits(states, 2), Visits(states, 2)
    for t in range(5):
        whole.see(t + 1, ENV, states[walks[:, t]][:, None])
        if t == 2:
            resumed.load_state_dict(whole.state_dict())
        if t > 2:
            resumed.see(t + 1, ENV, states[walks[:, t]][:, None])
    assert whole.counts.tolist() == [[1, 3, 0, 1], [1, 0, 4, 0]]
    assert torch.equal(resumed.counts, whole.counts)


def test_states_that_are_not_asked_about_are_left_out_and_minus_zero_is_zero():
    visits = Visits(torch.tensor([[0.0, 1.0], [-0.0, 2.0]]), 2)
    visits.see(1, ENV, torch.tensor([[[-0.0, 1.0]], [[0.0, 2.0]]]))
    visits.see(2, ENV, torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]))
    assert visits.counts.tolist() == [[1, 0], [0, 1]]
