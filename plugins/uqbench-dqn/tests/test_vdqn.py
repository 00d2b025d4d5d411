"""VDQN: what it computes, against plain formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.config import VDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.variational import VariationalLinear
from uqbench_dqn.vdqn import VDQN

from uqbench.agent import EnvironmentInfo
from uqbench.config import resolve
from uqbench.errors import UqbenchError
from uqbench.lanes import lane_generators
from uqbench.risk import CVaR, DecisionRule, MarginalRisk
from uqbench.testing.worlds import act, transitions

CPU = torch.device("cpu")
INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SHARED: dict[str, Any] = {
    "hidden": (9, 7),
    "batch_size": 6,
    "learning_starts": 10,
    "target_sync_period": 25,
    "replay_capacity": 50,
    "learning_rate": 1e-2,
}


def make(seeds: Sequence[int], **settings: Any) -> VDQN:
    return VDQN(INFO, seeds, VDQNConfig(**SHARED | settings), CPU)


def train(agent: DeepQ, seeds: Sequence[int], steps: int) -> list[Tensor]:
    """Actions on a made-up stream of transitions."""
    actions = []
    for step in transitions(seeds, (5,), 3, steps):
        actions.append(agent.act(step.obs))
        agent.observe(replace(step, action=actions[-1]))
    return actions


# --- VDQN ----------------------------------------------------------------------------------------


def test_a_layers_draw_is_distributed_as_with_drawn_weights() -> None:
    """Mean and variance of 40,000 draws of weights, within six standard errors."""
    layer = VariationalLinear(4, 3, 0.5, lane_generators([0]))
    x = torch.tensor([0.5, -1.0, 2.0, 0.1])
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(40_000, 4, 3, generator=generator)
    bias_noise = torch.randn(40_000, 3, generator=generator)
    drawn = (x[:, None] * (layer.mean[0] + 0.5 * noise)).sum(1) + 0.5 * bias_noise
    own = torch.randn(1, 40_000, 3, generator=generator)
    given = layer(x.expand(1, 40_000, -1), own)[0]
    std = 0.5 * (1 + x.square().sum()).sqrt()
    torch.testing.assert_close(given.std(0), std.expand(3), rtol=6 / 280, atol=0)
    torch.testing.assert_close(drawn.std(0), std.expand(3), rtol=6 / 280, atol=0)
    assert (given.mean(0) - drawn.mean(0)).abs().max() < 6 * std * (2 / 40_000) ** 0.5
    pairs = torch.corrcoef(given.T.detach()) - torch.eye(3)
    assert pairs.abs().max() < 6 / 200  # units are independent


def test_the_posterior_starts_as_the_released_code_has_it() -> None:
    agent = make([0])
    for layer, inputs in zip(agent.online.layers, (5, 9, 7), strict=True):
        bound = math.sqrt(3 / inputs)
        assert layer.mean.abs().max() <= bound
        assert layer.mean.abs().max() > 0.8 * bound
        assert not layer.bias_mean.any()
        stds = torch.nn.functional.softplus(layer.rho)
        torch.testing.assert_close(stds, torch.full_like(stds, 0.017), rtol=1e-4, atol=0)


def test_the_objective_is_the_evidence_bound_by_hand() -> None:
    agent = make([5, 2], likelihood_std=0.3)
    train(agent, [5, 2], 40)
    batch = agent.replay.gather(torch.arange(6).expand(2, -1))
    batch["terminated"] = torch.tensor([True, False, False]).repeat(2, 2)
    given = agent.objective(batch).mean(-1)
    noise, target_noise = agent._learning.at(agent.clock).unbind(1)
    for lane in range(2):
        total = torch.zeros(())
        for b in range(6):
            q = forward(agent.online, lane, batch["obs"][lane, b], noise[lane, b])
            after = forward(agent.target, lane, batch["next_obs"][lane, b], target_noise[lane, b])
            keeps = 0.0 if batch["terminated"][lane, b] else 0.9
            d = batch["reward"][lane, b] + keeps * after.max()
            total = total + (d - q[batch["action"][lane, b]]) ** 2 / (2 * 0.3**2)
        for layer in agent.online.layers:
            for rho in (layer.rho[lane], layer.bias_rho[lane]):
                total = total - (1 + rho.exp()).log().log().sum()
        torch.testing.assert_close(given[lane], total, rtol=1e-4, atol=1e-3)


def forward(network: Any, lane: int, obs: Tensor, noise: Tensor) -> Tensor:
    x = obs
    for number, layer in enumerate(network.layers):
        width = layer.mean.shape[-1]
        own, noise = noise[:width], noise[width:]
        std, bias_std = (1 + layer.rho[lane].exp()).log(), (1 + layer.bias_rho[lane].exp()).log()
        mean = x @ layer.mean[lane] + layer.bias_mean[lane, 0]
        x = mean + ((x**2) @ std**2 + bias_std[0] ** 2).sqrt() * own
        x = x.relu() if number < len(network.layers) - 1 else x
    return x


def test_the_risk_measure_decides_over_the_draws() -> None:
    agent = make([5], samples=8, risk=MarginalRisk(CVaR(0.25)), posterior_std=2.0)
    obs = torch.rand(1, 200, 5, generator=torch.Generator().manual_seed(0))
    values = agent.uncertainty(obs).value_samples
    assert values.shape == (1, 200, 3, 8)
    assert torch.equal(agent.policy(obs), CVaR(0.25).of_quantiles(values).argmax(-1))
    neutral = make([5], samples=8, posterior_std=2.0)
    assert torch.equal(neutral.policy(obs), values.mean(-1).argmax(-1))
    assert not torch.equal(agent.policy(obs), neutral.policy(obs))


def test_thompson_sampling_draws_anew_every_step() -> None:
    agent = make([5], posterior_std=2.0, learning_starts=900)
    actions = torch.stack(train(agent, [5], 40))
    assert len(actions.unique()) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"likelihood_std": 0.0}, "likelihood_std must be positive"),
        ({"samples": 1}, "at least 2 samples"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UqbenchError, match=message):
        resolve(VDQNConfig, settings, where="x")


@pytest.mark.parametrize("risk", [None, MarginalRisk(CVaR(0.25))])
def test_with_an_epsilon_of_zero_it_is_itself_bit_for_bit(risk: DecisionRule | None) -> None:
    never = {"exploration": "epsilon-greedy", "epsilon_initial": 0.0, "epsilon_final": 0.0}
    plain = make([5, 2], samples=4, risk=risk)
    exploring = make([5, 2], samples=4, risk=risk, **never)
    expected = train(plain, [5, 2], 80)
    assert torch.equal(torch.stack(train(exploring, [5, 2], 80)), torch.stack(expected))


def test_epsilon_falls_and_its_actions_are_random_among_the_valid() -> None:
    lanes = range(400)
    agent = make(
        lanes, exploration="epsilon-greedy", epsilon_final=0.25, epsilon_decay_steps=60, samples=2
    )
    assert (agent.metrics()["epsilon"] == 1).all()
    obs, valid = torch.zeros(400, 5), torch.tensor([True, False, True]).expand(400, 3)
    counts = torch.bincount(act(agent, obs, valid), minlength=3)
    assert counts[1] == 0
    # 400 fair draws: outside of 200 ± 60 with a probability below 3e-9
    assert abs(counts[0] - 200) < 60
    train(agent, lanes, 100)
    assert (agent.metrics()["epsilon"] == 0.25).all()
    exploration = agent.exploration
    mixed = exploration.explore(torch.zeros(400, 1, dtype=torch.int64), exploration.noise())
    # another action in 0.25 · 2/3 of 400: outside of 67 ± 45 with a probability below 2e-8
    assert abs((mixed != 0).sum() - 67) < 45
