"""DQN and QR-DQN: what they compute, when they learn, and that they do."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.config import DQNConfig, QRDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN

from uqbench.agent import EnvironmentInfo
from uqbench.risk import CVaR, MarginalRisk
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors

CPU = torch.device("cpu")
CONFIGS: dict[type[DeepQ], Any] = {DQN: DQNConfig, QRDQN: QRDQNConfig}
every_agent = pytest.mark.parametrize("kind", [DQN, QRDQN])


@every_agent
def test_policy_is_greedy_in_the_predicted_mean_in_every_lane(kind):
    agent = kind(RotatingPixels.info(), [3, 9], CONFIGS[kind](), CPU)
    obs = torch.rand(2, 7, *RotatingPixels.SHAPE, generator=torch.Generator().manual_seed(0)) < 0.2
    said = agent.uncertainty(obs)
    assert said.mean.shape == (2, 7, 4)
    assert torch.equal(agent.policy(obs), said.mean.argmax(-1))
    torch.testing.assert_close(agent.policy(obs)[:, 3:4], agent.policy(obs[:, 3:4]))
    if kind is DQN:
        assert [f.name for f in fields(said) if getattr(said, f.name) is not None] == ["mean"]


def test_several_convolutions_are_those_of_torch_and_bytes_are_fractions_of_255():
    """The shapes of Mnih et al. 2015 on a smaller image, against torch's own convolutions."""
    info = EnvironmentInfo(spaces.Box(0, 255, (4, 44, 44), np.uint8), 3, 0.99, 100)
    config = DQNConfig(channels=(8, 6, 5), kernel=(8, 4, 3), stride=(4, 2, 1), hidden=(7,))
    agent = DQN(info, [0, 1], config, torch.device("cpu"))
    obs = torch.randint(256, (2, 5, 4, 44, 44), dtype=torch.uint8)
    for lane in range(2):
        x = obs[lane].float() / 255
        for layer, stride in zip(agent.online.convolutions, (4, 2, 1), strict=True):
            weight, bias = layer.product.weight[lane], layer.product.bias[lane, 0]
            side = round((weight.shape[0] / x.shape[1]) ** 0.5)
            filters = weight.T.reshape(-1, side, side, x.shape[1]).movedim(-1, 1)
            x = torch.nn.functional.conv2d(x, filters, bias, stride=stride).relu()
        x = x.movedim(1, -1).flatten(1)
        assert x.shape[1] == agent.online.widths[0]
        torch.testing.assert_close(agent.online.trunk(obs)[lane], x, rtol=1e-4, atol=1e-5)
        for number, layer in enumerate(agent.online.layers):
            x = x @ layer.weight[lane] + layer.bias[lane]
            x = x if number else x.relu()
        torch.testing.assert_close(agent.online(obs)[lane, ..., 0], x, rtol=1e-4, atol=1e-5)


def test_learning_every_fourth_step_from_clipped_rewards_with_centered_rmsprop():
    """The settings of Mnih et al. 2015: gradient steps counted, rewards as stored, the rule."""
    config = DQNConfig(
        hidden=(5,), batch_size=4, learning_starts=8, target_sync_period=10, learn_period=4,
        reward_clip=1.0, optimizer="rmsprop", learning_rate=0.01)  # fmt: skip
    agent = DQN(EnvironmentInfo(spaces.Box(-1, 1, (3,)), 2, 0.9, 100), [0], config, CPU)
    weight, changed = agent.online.layers[1].weight, []
    for t in range(24):
        if t == 8:  # from zero averages: g / √(0.05 g² − 0.0025 g² + 0.01), times 0.01
            index, before = torch.arange(4)[None], weight.detach().clone()
            loss = agent.objective(agent.replay.gather(index)).mean()
            (gradient,) = torch.autograd.grad(loss, [weight])
            agent.learn(index)
            expected = before - 0.01 * gradient / (0.05 * 0.95 * gradient**2 + 0.01).sqrt()
            torch.testing.assert_close(weight.detach(), expected)
        before = weight.clone()
        obs, no = torch.full((1, 3), t / 24), torch.zeros(1, dtype=torch.bool)
        reward = torch.tensor([3.0 * (-1) ** t])
        agent.observe(step_of_actors(obs, torch.tensor([t % 2]), reward, no, no, obs))
        changed += [] if torch.equal(before, weight) else [t]
    assert changed == [8, 12, 16, 20]
    assert agent.replay.gather(torch.arange(24)[None])["reward"][0].tolist() == [1.0, -1.0] * 12


# --- the Bellman target on a table of values -----------------------------------------------------

STATES, ACTIONS = 3, 2


def tabular(kind: type[DeepQ], lanes: int, discount: float, **settings: Any) -> DeepQ:
    """An agent whose network is a table: one-hot observations of three states."""
    info = EnvironmentInfo(spaces.Box(0, 1, (STATES,)), ACTIONS, discount, total_steps=100_000)
    return kind(info, range(lanes), CONFIGS[kind](hidden=(), **settings), CPU)


def fill(network: torch.nn.Module, table: Tensor) -> None:
    """Make ``[L, states, A, outputs]`` the network's outputs."""
    with torch.no_grad():
        network.layers[0].weight.copy_(table.flatten(2))
        network.layers[0].bias.zero_()


def one_hot(state: Any) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(state), STATES).float()


def batch(**changes: Any) -> dict[str, Tensor]:
    """Lane 0: into states 0, 1, 2 with reward 1; lane 1: into state 2 with rewards 0, 10, −10."""
    entries = {
        "obs": one_hot([[0, 0, 0], [0, 0, 0]]),
        "action": torch.zeros(2, 3, dtype=torch.int64),
        "reward": torch.tensor([[1.0, 1.0, 1.0], [0.0, 10.0, -10.0]]),
        "terminated": torch.zeros(2, 3, dtype=torch.bool),
        "next_obs": one_hot([[0, 1, 2], [2, 2, 2]]),
        "next_valid": torch.ones(2, 3, ACTIONS, dtype=torch.bool),
    }
    return entries | {name: torch.tensor(value).bool() for name, value in changes.items()}


Q = torch.tensor([[[4.0, 2.0], [-2.0, -4.0], [0.0, 8.0]], [[9.0, 9.0], [9.0, 9.0], [6.0, -6.0]]])


VALID = [[[0, 1], [0, 1], [1, 0]], [[1, 1], [1, 1], [0, 1]]]
TARGETS = [
    ({}, [[1 + 2, 1 - 1, 1 + 4], [0 + 3, 10 + 3, -10 + 3]]),
    ({"terminated": [[True, False, True], [False, True, False]]}, [[1, 0, 1], [3, 10, -7]]),
    ({"next_valid": VALID}, [[1 + 1, 1 - 2, 1 + 0], [3, 13, -10 - 3]]),
]


@pytest.mark.parametrize(
    ("changes", "expected"),
    TARGETS,
    ids=["best next action", "nothing follows an end", "best valid next action"],
)
def test_target_is_the_reward_and_the_discounted_value(changes, expected):
    agent = tabular(DQN, 2, 0.5)
    fill(agent.target, Q[..., None])
    fill(agent.online, -100 * Q[..., None])  # takes no part
    target = agent.bellman_target(batch(**changes))
    assert not target.requires_grad
    assert target[..., 0].tolist() == expected


def test_qr_dqn_takes_all_quantiles_of_the_action_with_the_best_mean():
    """Action 1 has the single best quantile, action 0 the better mean."""
    agent = tabular(QRDQN, 2, discount=0.5, quantiles=2)
    fill(agent.target, torch.tensor([[2.0, 4.0], [-8.0, 10.0]]).expand(2, STATES, ACTIONS, 2))
    target = agent.bellman_target(batch(terminated=[[True, False, False], [False] * 3]))
    assert target.shape == (2, 3, 2)
    assert target[0].tolist() == [[1, 1], [1 + 1, 1 + 2], [1 + 1, 1 + 2]]
    assert target[1].tolist() == [[1, 2], [11, 12], [-9, -8]]


# --- when what happens ---------------------------------------------------------------------------


def feed(agent: DeepQ, t: int) -> None:
    """Act and observe one step of a made-up stream."""
    obs = one_hot(torch.randint(3, (2,), generator=torch.Generator().manual_seed(t)).tolist())
    no = torch.zeros(2, dtype=torch.bool)
    agent.observe(step_of_actors(obs, act(agent, obs), torch.ones(2), no, no, obs))


@every_agent
@pytest.mark.parametrize(("learning_starts", "batch_size", "first"), [(20, 8, 20), (1, 32, 32)])
def test_learning_starts_with_a_whole_batch_and_the_target_is_synced_every_period(
    kind, learning_starts, batch_size, first
):
    when = {"learning_starts": learning_starts, "batch_size": batch_size}
    agent = tabular(kind, 2, 0.9, target_sync_period=15, **when)
    online, target = agent.online.layers[0].weight, agent.target.layers[0].weight
    for t in range(61):
        before, held = online.clone(), target.clone()
        feed(agent, t)
        assert torch.equal(online, before) == (t < first), f"gradient step at {t}"
        assert torch.isfinite(agent.metrics()["loss"]).all() == (t >= first)
        synced = t >= first and t % 15 == 0
        assert torch.equal(target, online if synced else held), f"target at {t}"
        assert torch.equal(online, target) == (synced or t < first)


@pytest.mark.parametrize(("decay_from", "waits"), [("learning-starts", 40), ("first-step", 0)])
def test_epsilon_is_one_until_learning_starts_and_falls_linearly(decay_from, waits):
    agent = tabular(
        DQN, 2, 0.9, learning_starts=40, epsilon_decay_steps=100, epsilon_final=0.2, batch_size=2,
        epsilon_decay_from=decay_from)  # fmt: skip
    for t in range(150):
        epsilon = 1.0 if t < 40 else max(0.2, 1 - 0.008 * (t - waits))
        assert agent.exploration.epsilon.item() == pytest.approx(epsilon), f"step {t}"
        feed(agent, t)


def test_qr_dqn_acts_by_a_risk_measure_in_its_targets_too():
    """Action 1 has the better mean, action 0 the better worst half."""
    averse = tabular(QRDQN, 2, discount=0.5, quantiles=2, risk=MarginalRisk(CVaR(0.5)))
    table = torch.tensor([[2.0, 4.0], [10.0, -2.0]]).expand(2, STATES, ACTIONS, 2)
    neutral = tabular(QRDQN, 2, discount=0.5, quantiles=2)
    for network in (averse.online, averse.target, neutral.online):
        fill(network, table)
    assert averse.bellman_target(batch())[0].tolist() == [[2, 3]] * 3
    obs = one_hot([[0, 1, 2], [2, 1, 0]])
    assert (averse.policy(obs) == 0).all()
    assert (neutral.policy(obs) == 1).all()
    assert torch.equal(averse.uncertainty(obs).mean, table.mean(-1))  # no less the mean


def test_a_transition_is_stored_field_by_field():
    agent = tabular(DQN, 2, 0.9, batch_size=4, replay_capacity=7)
    yes, no = torch.tensor([True, False]), torch.tensor([False, True])
    obs, following = one_hot([[0, 1], [2, 0]]).unbind(1)
    valid = torch.tensor([[False, True], [True, True]])
    stored = step_of_actors(obs, torch.ones(2).long(), torch.rand(2), yes, no, following, valid)
    agent.observe(stored)
    batch = agent.replay.gather(torch.zeros(2, 1, dtype=torch.int64))
    for name in ("obs", "action", "reward", "terminated", "next_obs"):
        assert torch.equal(batch[name], getattr(stored, name)), name
    assert torch.equal(batch["next_valid"][:, 0], valid)
    assert agent.replay.capacity == 7


def test_losses_are_hubers_and_quantiles_smoothed_by_their_own_kappa():
    error = torch.tensor([[0.5, -3.0], [0.0, 1.0]])[..., None]
    loss = tabular(DQN, 2, 0.9).loss(error, torch.zeros_like(error))
    torch.testing.assert_close(loss, torch.tensor([[0.125, 2.5], [0.0, 0.5]]))
    one = torch.ones(1, 1, 2)  # within κ: ½ u², weighted by τ = 1/4 and 3/4
    agent = tabular(QRDQN, 1, 0.9, quantiles=2, kappa=4.0)
    assert agent.loss(torch.zeros_like(one), one).item() == pytest.approx(0.5)
