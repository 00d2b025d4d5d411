"""QUAM-DQN: its bonuses and its choices, and what every agent must do."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from gymnasium import spaces
from uqbench_quam.agents.quam_dqn import Evidence, QuamDQN, QuamDQNConfig, bonuses
from uqbench_quam.plugin import uqbench_expected_failures

from uqbench.agent import EnvironmentInfo
from uqbench.lanes import greedy
from uqbench.testing.worlds import act, transitions

CPU = torch.device("cpu")
SMALL = QuamDQNConfig(
    hidden=(16,), channels=4, learning_starts=40, target_sync_period=45, replay_capacity=150,
    batch_size=8, search_rate=0.05)  # fmt: skip


def test_it_conforms(conforms) -> None:
    conforms(QuamDQN, SMALL, expected_failures=uqbench_expected_failures()["agent quam-dqn"])


INFO = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)


def agent(seeds, steps: int, config: QuamDQNConfig = SMALL) -> QuamDQN:
    """An agent after some random steps, each lane's its own."""
    made = QuamDQN(INFO, seeds, config, CPU)
    for step in transitions(seeds, (3,), 4, steps):
        made.act(step.obs)
        made.observe(step)
    return made


def evidence(lanes: int = 1, count: int = 12, features: int = 4, actions: int = 3) -> Evidence:
    g = torch.Generator().manual_seed(0)
    phi = torch.randn(lanes, count, features, generator=g)
    taken = torch.nn.functional.one_hot(torch.arange(count) % actions, actions).float()
    return Evidence(phi, taken.expand(lanes, -1, -1), torch.randn(lanes, count, generator=g))


def least_squares(own: Evidence) -> torch.Tensor:
    """The last layer's weights with the lowest error, ``[1, H + 1, A]``."""
    columns = []
    for rows in own.taken[0].bool().unbind(-1):
        solved = torch.linalg.lstsq(own.features[0, rows], own.targets[0, rows, None])
        columns.append(solved.solution)
    return torch.cat(columns, dim=-1)[None]


def test_bonuses_approach_the_closed_form_of_a_quadratic_constraint():
    # the last layer's loss is quadratic in w̃_a: at the least-squares solution the largest
    # δᵀφ with δᵀ(ΦᵀΦ/B)δ ≤ γ is √(γ φᵀ(ΦᵀΦ/B)⁻¹φ)
    own = evidence()
    weights = least_squares(own)
    phi = torch.randn(1, 2, 4, generator=torch.Generator().manual_seed(3))
    config = QuamDQNConfig(
        search_steps=4000, period=200, growth=1.2, search_rate=2e-3, slack=0.05, penalty=1.0
    )
    found = bonuses(weights, phi, own, config)
    for state, action in product(range(2), range(3)):
        rows = own.features[0, own.taken[0, :, action].bool()].double()
        direction = phi[0, state].double()
        squared = direction @ torch.linalg.inv(rows.T @ rows / 12) @ direction
        best = math.sqrt(0.05 * squared.item())
        assert 0.9 * best < found[0, state, action].item() < 1.001 * best


def test_an_action_that_was_never_taken_is_bounded_by_the_search_alone():
    own = evidence()
    none = own._replace(taken=own.taken * torch.tensor([1.0, 1.0, 0.0]))
    weights, phi = least_squares(own), torch.ones(1, 1, 4)
    config = QuamDQNConfig(search_steps=10, search_rate=0.1, slack=1e-6)
    found = bonuses(weights, phi, none, config)[0, 0]
    assert found[2].item() == pytest.approx(10 * 0.1 * 4, rel=1e-3)  # Adam's steps, four features
    assert (bonuses(weights, phi, own, config)[0, 0, 2] < found[2] / 2).all()


def test_bonuses_are_never_negative_and_states_do_not_interact():
    own, g = evidence(lanes=2), torch.Generator().manual_seed(5)
    weights, phi = torch.randn(2, 4, 3, generator=g), torch.randn(2, 6, 4, generator=g)
    together = bonuses(weights, phi, own, QuamDQNConfig())
    assert (together >= 0).all()
    for state in range(6):
        alone = bonuses(weights, phi[:, [state]], own, QuamDQNConfig())
        assert torch.allclose(alone[:, 0], together[:, state], atol=1e-6)


def test_actions_are_optimistic_by_the_bonus_and_uncertainty_reports_it():
    made = agent([1, 2], 60)
    obs = torch.randn(2, 3, generator=torch.Generator().manual_seed(7))
    reported = made.uncertainty(obs[:, None])
    mean, bonus = reported.mean[:, 0], reported.epistemic_var[:, 0].sqrt()
    assert torch.allclose(mean, made.online(obs[:, None])[:, 0].squeeze(-1), atol=1e-5)
    assert (made._explore.at(made.clock)[:, 0] >= made.config.epsilon).all()
    assert torch.equal(act(made, obs), greedy(mean + made.config.bonus_weight * bonus))
    only = torch.zeros(2, 4, dtype=torch.bool)
    only[:, 3] = True
    assert act(made, obs, only).tolist() == [3, 3]


def test_it_searches_between_gradient_steps_too():
    """With a gradient step every fifth step: in step 62 it acts as in step 60."""
    made = agent(range(20), 62, replace(SMALL, learn_period=5, epsilon=0.0))
    assert not made.phase(made.clock.t)[0]
    obs = torch.randn(20, 3, generator=torch.Generator().manual_seed(7))
    reported = made.uncertainty(obs[:, None])
    optimistic = reported.mean[:, 0] + reported.epistemic_var[:, 0].sqrt()
    assert torch.equal(act(made, obs), greedy(optimistic))


def test_before_learning_actions_are_uniformly_random():
    # 4 actions, 400 lanes: a count of 100 has a standard deviation of 8.7; ±45 is 5 of them
    made = QuamDQN(INFO, range(400), SMALL, CPU)
    assert (act(made, torch.zeros(400, 3)).bincount(minlength=4) - 100).abs().max() < 45
    assert made.uncertainty(torch.zeros(400, 1, 3)).epistemic_var is None
