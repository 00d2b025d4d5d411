"""What every agent promises: masks, lanes, resuming, purity, continuing tasks."""

from __future__ import annotations

import copy
import io
from dataclasses import replace
from typing import Any

import pytest
import torch
from uqbench_tabular.agents.bql import BayesianQLearning
from uqbench_tabular.agents.certainty_equivalence import CertaintyEquivalence
from uqbench_tabular.agents.model_based import ModelBased
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.psrl import PSRL
from uqbench_tabular.agents.q_learning import QLearning
from uqbench_tabular.agents.ube import UBE
from uqbench_tabular.environments.chain import BACK, FORWARD, chain_mdp
from uqbench_tabular.environments.config import ChainConfig

from uqbench.agent import Uncertainty
from uqbench.testing.worlds import step_of_actors

STATES = torch.arange(5)
PINNED = {
    PSRL: [62.0, 77.8],
    CertaintyEquivalence: [43.4, 44.8],
    UBE: [64.4, 49.6],
    MomentMatching: [106.0, 51.8],
    QLearning: [60.8, 53.0],
    BayesianQLearning: [74.8, 70.0],
}
every_agent = pytest.mark.parametrize("kind", PINNED)


def tensors(state: Any) -> list[torch.Tensor]:
    """Every tensor of a state, in order."""
    if isinstance(state, dict):
        return [leaf for value in state.values() for leaf in tensors(value)]
    return [state] if isinstance(state, torch.Tensor) else []


def predicted(uncertainty: Uncertainty) -> dict[str, torch.Tensor]:
    """What an agent predicts, by name."""
    return {name: value for name, value in vars(uncertainty).items() if value is not None}


def same(given: Any, expected: Any) -> bool:
    pairs = zip(tensors(given), tensors(expected), strict=True)
    return given["t"] == expected["t"] and all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (PSRL, {}),
        (CertaintyEquivalence, {"epsilon": 1.0}),
        (UBE, {"zeta": 1.0}),
        (MomentMatching, {}),
        (QLearning, {"epsilon": 1.0}),
        (BayesianQLearning, {}),
    ],
)
def test_only_available_actions_are_taken(kind, settings, start):
    """The chain refuses others; here the far end was reached, where one is not available."""
    run = start(kind, seeds=(0, 1, 2, 3), **settings).go(300)
    state, action, _ = torch.stack(run.trace).unbind(1)
    assert (state == 4).sum(0).min() > 0
    assert (action[state == 4] == FORWARD).all()
    assert (action[state != 4] == BACK).any()
    assert torch.equal(run.agent.available, chain_mdp(ChainConfig()).available.expand(4, -1, -1))


@every_agent
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(kind, start):
    alone = start(kind, seeds=(3,)).go(265)  # random numbers come in blocks of 256 steps
    four = start(kind, seeds=(0, 3, 7, 8)).go(265)
    assert torch.equal(torch.stack(four.trace)[:, :, 1], torch.stack(alone.trace)[:, :, 0])
    for given, expected in zip(
        tensors(four.agent.state_dict()), tensors(alone.agent.state_dict()), strict=True
    ):
        assert torch.equal(given[1], expected[0])
    stated = predicted(four.agent.uncertainty(STATES.expand(4, -1)))
    expected = predicted(alone.agent.uncertainty(STATES[None]))
    assert stated.keys() == expected.keys() != set()
    assert all(torch.equal(stated[name][1], expected[name][0]) for name in expected)
    for name, value in alone.agent.metrics().items():
        assert torch.equal(four.agent.metrics()[name][1], value[0])
    actions = torch.stack(four.trace)[:, 1]
    assert not torch.equal(actions[:, 0], actions[:, 1])


@every_agent
@pytest.mark.parametrize("stop", [0, 30, 40])
def test_a_resumed_agent_equals_an_uninterrupted_one_bit_for_bit(kind, stop, start, make):
    """Stopped before the first step, between two plans, and at one."""
    settings = {"replan_every": 20} if issubclass(kind, ModelBased) else {}
    whole = start(kind, **settings).go(stop)
    file = io.BytesIO()
    torch.save(whole.agent.state_dict(), file)
    file.seek(0)
    agent = make(kind, **settings)
    agent.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(agent.available, whole.agent.available)
    resumed = replace(whole, agent=agent, env=copy.deepcopy(whole.env), trace=[])
    more = len(whole.trace)
    whole.go(50)
    resumed.go(50)
    assert torch.equal(torch.stack(whole.trace[more:]), torch.stack(resumed.trace))
    assert same(resumed.agent.state_dict(), whole.agent.state_dict())
    for name, value in whole.agent.metrics().items():
        assert torch.equal(resumed.agent.metrics()[name], value)


@every_agent
def test_policy_uncertainty_and_metrics_change_nothing(kind, start):
    run = start(kind).go(103)
    twin = copy.deepcopy(run)
    before = copy.deepcopy(run.agent.state_dict())
    obs = STATES.expand(2, -1)
    policy, stated = run.agent.policy(obs), run.agent.uncertainty(obs)
    run.agent.metrics()
    assert torch.equal(run.agent.policy(obs), policy)
    again = predicted(run.agent.uncertainty(obs))
    assert all(torch.equal(again[name], t) for name, t in predicted(stated).items())
    assert same(run.agent.state_dict(), before)
    assert torch.equal(torch.stack(run.go(50).trace), torch.stack(twin.go(50).trace))


@every_agent
@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_an_episode_that_ends_is_refused(kind, end, make):
    agent = make(kind, seeds=(0,))
    obs = torch.tensor([0])
    flags = {"terminated": torch.tensor([False]), "truncated": torch.tensor([False])}
    flags[end] = torch.tensor([True])
    with pytest.raises(ValueError, match=f"at step 0: {kind.__name__} expects a continuing task"):
        agent.observe(
            step_of_actors(obs=obs, action=obs, reward=torch.zeros(1), next_obs=obs, **flags)
        )


@every_agent
def test_a_short_run_has_its_pinned_rewards(kind, start):
    """If these numbers change, so has the algorithm, or its random streams."""
    run = start(kind).go(300)
    assert run.rewards().sum(0).tolist() == pytest.approx(PINNED[kind])
