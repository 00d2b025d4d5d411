"""Counting states, and how runs score an agent's uncertainty by it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from toy_runs import first_batch, plan_of
from uqbench_tabular.environments.config import DrawnMDPConfig
from uqbench_tabular.environments.prior_mdp import make_drawn_lanes

from uqbench.registry import Host
from uqbench.results import RunState, Store
from uqbench.runner import execute
from uqbench.uncertainty.query_sources import Visits

CPU = torch.device("cpu")
ENV = make_drawn_lanes(DrawnMDPConfig(), [0], None, CPU)


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


def contraction(folder: Path, seeds: list[int]) -> list[np.ndarray]:
    """The scores of each seed of PSRL, in the order of time."""
    host, store, of = Host.load(), Store(folder), {"methods": ["psrl"], "seeds": seeds}
    plan = plan_of(host, "smoke", suite="priormdp-sbc", steps=200, **of)
    execute((first_batch(plan),), store, host, lambda event: None)
    found = []
    for run in plan.runs:
        assert store.find(run).state is RunState.FINISHED
        metrics, _ = store.columns(run)
        mine = metrics["metric"] == "queries/contraction"
        assert metrics["step"][mine].tolist() == [50, 100, 200]
        found.append(metrics["value"][mine])
    return found


def test_a_lanes_score_is_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "tabular,builtin")
    together = contraction(tmp_path / "a", [5, 6, 7])
    [alone] = contraction(tmp_path / "b", [7])
    assert np.isfinite(alone).all()
    assert np.array_equal(alone, together[2])
