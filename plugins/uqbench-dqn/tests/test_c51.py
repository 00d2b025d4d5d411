"""C51: what it computes, against plain formulas, and that it learns."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.c51 import C51
from uqbench_dqn.categorical import project
from uqbench_dqn.config import C51Config

from uqbench.agent import EnvironmentInfo
from uqbench.risk import CVaR, DecisionRule, MarginalRisk
from uqbench.testing.worlds import act, step_of_actors, transitions

CPU = torch.device("cpu")
INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SMALL = C51Config(
    hidden=(9, 7), atoms=11, batch_size=6, learning_starts=10, target_sync_period=25,
    replay_capacity=50, learning_rate=1e-2, epsilon_decay_steps=60,
)  # fmt: skip


def c51_batch(risk: DecisionRule | None = None) -> tuple[C51, dict[str, Tensor]]:
    agent = C51(INFO, [5, 2], replace(SMALL, risk=risk), CPU)
    for step in transitions([5, 2], (5,), 3, 40):
        agent.observe(replace(step, action=agent.act(step.obs)))
    batch = agent.replay.gather(torch.arange(12).expand(2, -1))
    assert batch["terminated"].any()
    return agent, batch


def test_the_target_is_algorithm_1_by_hand() -> None:
    agent, batch = c51_batch()
    given = agent.bellman_target(batch)
    z, width = agent.support, agent.support[1] - agent.support[0]
    distributions = agent.target(batch["next_obs"]).softmax(-1)
    for lane in range(2):
        for b in range(12):
            best = (distributions[lane, b] * z).sum(-1).argmax()
            keeps = 0.0 if batch["terminated"][lane, b] else 0.9
            expected = torch.zeros(11)
            for probability, atom in zip(distributions[lane, b, best], z, strict=True):
                moved = (batch["reward"][lane, b] + keeps * atom).clamp(z[0], z[-1])
                place = ((moved - z[0]) / width).item()
                low = min(math.floor(place), 9)
                expected[low] += probability * (low + 1 - place)
                expected[low + 1] += probability * (place - low)
            torch.testing.assert_close(given[lane, b], expected, atol=1e-5, rtol=1e-4)


def test_c51_predicts_the_return_distribution() -> None:
    agent, batch = c51_batch()
    predicted = agent.uncertainty(batch["obs"])
    assert predicted.return_probs is not None
    torch.testing.assert_close(predicted.return_probs.sum(-1), torch.ones(2, 12, 3))
    mean = (predicted.return_probs * predicted.return_atoms).sum(-1)
    square = (predicted.return_probs * predicted.return_atoms.square()).sum(-1)
    torch.testing.assert_close(predicted.mean, mean)
    torch.testing.assert_close(predicted.aleatoric_var, square - mean**2, rtol=1e-3, atol=1e-3)
    assert predicted.epistemic_var is None


def test_c51_acts_by_a_risk_measure_in_its_targets_too() -> None:
    rule = MarginalRisk(CVaR(0.3))
    agent, batch = c51_batch(risk=rule)
    outputs = agent.online(batch["obs"])
    probs = outputs.softmax(-1)
    worst = CVaR(0.3)(agent.support.expand_as(probs), probs)
    assert torch.equal(agent.policy(batch["obs"]), worst.argmax(-1))
    assert not torch.equal(agent.policy(batch["obs"]), agent.q_values(outputs).argmax(-1))
    after = agent.target(batch["next_obs"]).softmax(-1)
    best = CVaR(0.3)(agent.support.expand_as(after), after).argmax(-1)
    ended = batch["terminated"]
    keeps = 0.9 * ~ended
    values = batch["reward"][..., None] + keeps[..., None] * agent.support
    chosen = after.gather(-2, best[..., None, None].expand(*best.shape, 1, 11)).squeeze(-2)
    expected = project(values, chosen, agent.support)
    torch.testing.assert_close(agent.bellman_target(batch), expected)


def test_c51_learns_the_distribution_of_a_reward() -> None:
    """One step, reward 0 or 4 with probabilities ¾ and ¼: the masses come within 0.07."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (1,)), 1, 0.9, total_steps=2_000)
    config = C51Config(
        hidden=(8,),
        atoms=5,
        v_min=0,
        v_max=4,
        learning_starts=32,
        learning_rate=3e-3,
        target_sync_period=50,
    )
    agent = C51(info, [0, 1], config, CPU)
    obs, ends = torch.ones(2, 1), torch.ones(2, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    for _ in range(1_200):
        reward = 4.0 * (torch.rand(2, generator=generator) < 0.25)
        agent.observe(step_of_actors(obs, act(agent, obs), reward, ends, ~ends, obs))
    probs = agent.uncertainty(obs[:, None]).return_probs[:, 0, 0]
    expected = torch.tensor([0.75, 0, 0, 0, 0.25]).expand(2, -1)
    torch.testing.assert_close(probs, expected, atol=0.07, rtol=0)


def test_a_support_that_is_empty_is_refused() -> None:
    with pytest.raises(ValueError, match="v_min < v_max"):
        C51Config(v_min=2.0, v_max=1.0)
