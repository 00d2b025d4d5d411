"""DQN and QR-DQN: what they compute, when they learn, and that they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor
from uqbench_dqn.config import DQNConfig, QRDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import EnvironmentInfo
from uqbench.config import resolve
from uqbench.environment import LaneEnv, Outcome, TimeLimit
from uqbench.risk import CVaR, MarginalRisk
from uqbench.runner.train.loop import interact
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors

CPU = torch.device("cpu")
CONFIGS: dict[type[DeepQ], Any] = {DQN: DQNConfig, QRDQN: QRDQNConfig}
every_agent = pytest.mark.parametrize("kind", [DQN, QRDQN])


def make(
    kind: type[DeepQ],
    env: LaneEnv,
    seeds: Sequence[int],
    discount: float = 0.99,
    **settings: Any,
) -> DeepQ:
    info = EnvironmentInfo(env.observation_space, env.n_actions, discount, total_steps=100_000)
    return kind(info, seeds, CONFIGS[kind](**settings), CPU)


@every_agent
def test_policy_is_greedy_in_the_predicted_mean_in_every_lane(kind: type[DeepQ]) -> None:
    agent = make(kind, RotatingPixels(2), [3, 9])
    obs = torch.rand(2, 7, *RotatingPixels.SHAPE, generator=torch.Generator().manual_seed(0)) < 0.2
    predicted = agent.uncertainty(obs)
    assert predicted is not None
    assert predicted.mean is not None
    assert predicted.mean.shape == (2, 7, 4)
    assert torch.equal(agent.policy(obs), predicted.mean.argmax(-1))
    torch.testing.assert_close(agent.policy(obs)[:, 3:4], agent.policy(obs[:, 3:4]))


def test_dqn_predicts_no_uncertainty_and_qr_dqn_the_return_distribution() -> None:
    env = RotatingPixels(1)
    obs = torch.rand(1, 5, *RotatingPixels.SHAPE, generator=torch.Generator().manual_seed(0)) < 0.2
    plain = make(DQN, env, [0]).uncertainty(obs)
    assert [f.name for f in fields(plain) if getattr(plain, f.name) is not None] == ["mean"]
    distribution = make(QRDQN, env, [0]).uncertainty(obs)
    assert distribution.return_atoms is not None
    assert distribution.return_atoms.shape == distribution.return_probs.shape == (1, 5, 4, 50)
    torch.testing.assert_close(distribution.return_probs.sum(-1), torch.ones(1, 5, 4))
    mean = (distribution.return_probs * distribution.return_atoms).sum(-1)
    square = (distribution.return_probs * distribution.return_atoms**2).sum(-1)
    torch.testing.assert_close(distribution.mean, mean)
    torch.testing.assert_close(distribution.aleatoric_var, square - mean**2, rtol=1e-3, atol=1e-4)
    assert distribution.epistemic_var is None


# --- settings ------------------------------------------------------------------------------------


def test_dqn_defaults_are_the_papers() -> None:
    """Clements et al. 2019, section 3.2, and their released code for the gain of DQN's network."""
    assert DQNConfig() == DQNConfig(
        learning_rate=1e-4,
        adam_epsilon=1e-8,
        batch_size=32,
        replay_capacity=100_000,
        learning_starts=5_000,
        target_sync_period=1_000,
        epsilon_initial=1.0,
        epsilon_final=0.03,
        epsilon_decay_steps=100_000,
        channels=16,
        kernel=3,
        hidden=(128,),
        gain=2**0.5,
        kappa=1.0,
    )


def test_qr_dqn_defaults_are_dqns_but_for_quantiles_and_loss() -> None:
    """50 quantiles, plain quantile regression; initial weights as DQN's and UA-DQN's."""
    shared = {f.name: getattr(DQNConfig(), f.name) for f in fields(DQNConfig)}
    assert QRDQNConfig() == QRDQNConfig(**shared | {"quantiles": 50, "kappa": 0.0})


@pytest.mark.parametrize("config", [DQNConfig, QRDQNConfig])
def test_a_short_budget_scales_the_schedules_and_nothing_else(config: Any) -> None:
    assert resolve(config, {}, where="", schedule=0.1) == replace(
        config(), learning_starts=500, target_sync_period=100, epsilon_decay_steps=10_000
    )


@pytest.mark.parametrize(("kind", "outputs"), [(DQN, 4), (QRDQN, 4 * 50)])
def test_the_network_is_one_convolution_of_16_filters_and_128_units(
    kind: type[DeepQ], outputs: int
) -> None:
    agent = make(kind, RotatingPixels(1), [0])
    shapes = {name: tuple(value.shape) for name, value in agent.online.state_dict().items()}
    assert shapes == {
        "convolutions.0.product.weight": (1, 3 * 3 * 3, 16),
        "convolutions.0.product.bias": (1, 1, 16),
        "layers.0.weight": (1, 8 * 8 * 16, 128),
        "layers.0.bias": (1, 1, 128),
        "layers.1.weight": (1, 128, outputs),
        "layers.1.bias": (1, 1, outputs),
    }
    weight = agent.online.layers[0].weight[0].detach()
    expected = agent.config.gain**2 * torch.eye(128)
    torch.testing.assert_close(weight.T @ weight, expected, rtol=1e-4, atol=1e-4)
    obs = torch.zeros(1, 5, 3, 10, 10, dtype=torch.bool)
    assert agent.online(obs).shape == (1, 5, 4, outputs // 4)


def test_several_convolutions_are_those_of_torch_and_bytes_are_fractions_of_255() -> None:
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


def test_learning_every_fourth_step_from_clipped_rewards_with_centered_rmsprop() -> None:
    """The settings of Mnih et al. 2015: gradient steps counted, rewards as stored, the rule."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 2, 0.9, 100)
    config = DQNConfig(
        hidden=(5,), batch_size=4, learning_starts=8, target_sync_period=10, learn_period=4,
        reward_clip=1.0, optimizer="rmsprop", learning_rate=0.01,
    )  # fmt: skip
    agent = DQN(info, [0], config, torch.device("cpu"))
    changed = []
    for t in range(24):
        before = agent.online.layers[0].weight.clone()
        obs, no = torch.full((1, 3), t / 24), torch.zeros(1, dtype=torch.bool)
        reward = torch.tensor([3.0 * (-1) ** t])
        agent.observe(step_of_actors(obs, torch.tensor([t % 2]), reward, no, no, obs))
        if not torch.equal(before, agent.online.layers[0].weight):
            changed.append(t)
    assert changed == [8, 12, 16, 20]
    stored = agent.replay.gather(torch.arange(24)[None])["reward"]
    assert stored[0].tolist() == [1.0, -1.0] * 12
    # a first step from zero averages: g / √(0.05 g² − 0.0025 g² + 0.01), times 0.01
    fresh = DQN(info, [0], config, torch.device("cpu"))
    fresh.load_state_dict(agent.state_dict())
    fresh.optimizer.load_state_dict(
        DQN(info, [0], config, torch.device("cpu")).optimizer.state_dict()
    )
    index = torch.arange(4)[None]
    loss = fresh.objective(fresh.replay.gather(index)).mean()
    (gradient,) = torch.autograd.grad(loss, [fresh.online.layers[1].weight])
    before = fresh.online.layers[1].weight.detach().clone()
    fresh.learn(index)
    expected = before - 0.01 * gradient / (0.05 * 0.95 * gradient**2 + 0.01).sqrt()
    torch.testing.assert_close(fresh.online.layers[1].weight.detach(), expected)


def test_convolutions_that_do_not_fit_are_refused() -> None:
    info = EnvironmentInfo(spaces.Box(0, 1, (4, 10, 10)), 3, 0.99, 100)
    for config, message in (
        (DQNConfig(channels=(8, 6), kernel=(3, 3, 3)), "same number of convolutions"),
        (DQNConfig(channels=(8, 6), kernel=(8, 4)), "a kernel of 4 does not fit"),
    ):
        with pytest.raises(ValueError, match=message):
            DQN(info, [0], config, torch.device("cpu"))


# --- the Bellman target on a table of values -----------------------------------------------------

STATES, ACTIONS = 3, 2


class Line(gymnasium.Env[NDArray[np.float32], int]):
    """A space for agents whose network is a table: one-hot observations of three states."""

    observation_space = spaces.Box(0, 1, (STATES,), np.float32)
    action_space = spaces.Discrete(ACTIONS)


def tabular(kind: type[DeepQ], lanes: int, discount: float, **settings: Any) -> DeepQ:
    env = GymnasiumLanes(Line, range(lanes))
    return make(kind, env, range(lanes), discount, hidden=(), **settings)


def fill(network: torch.nn.Module, table: Tensor) -> None:
    """Make ``[L, states, A, outputs]`` the network's outputs."""
    with torch.no_grad():
        network.layers[0].weight.copy_(table.flatten(2))
        network.layers[0].bias.zero_()


def one_hot(state: list[list[int]]) -> Tensor:
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
    return entries | {name: torch.as_tensor(value) for name, value in changes.items()}


Q = torch.tensor([[[4.0, 2.0], [-2.0, -4.0], [0.0, 8.0]], [[9.0, 9.0], [9.0, 9.0], [6.0, -6.0]]])


def dqn_target(**changes: Any) -> list[list[float]]:
    agent = tabular(DQN, 2, discount=0.5)
    fill(agent.target, Q[..., None])
    fill(agent.online, -100 * Q[..., None])  # takes no part
    target = agent.bellman_target(batch(**changes))
    assert target.shape == (2, 3, 1)
    assert not target.requires_grad
    return target[..., 0].tolist()


def test_target_is_the_reward_and_the_discounted_value_of_the_best_next_action() -> None:
    assert dqn_target() == [[1 + 2, 1 - 1, 1 + 4], [0 + 3, 10 + 3, -10 + 3]]


def test_a_terminal_state_has_no_value() -> None:
    terminated = [[True, False, True], [False, True, False]]
    assert dqn_target(terminated=terminated) == [[1, 0, 1], [3, 10, -7]]


def test_an_action_that_is_not_valid_next_is_never_the_best() -> None:
    valid = [[[False, True], [False, True], [True, False]], [[True, True]] * 2 + [[False, True]]]
    assert dqn_target(next_valid=valid) == [[1 + 1, 1 - 2, 1 + 0], [3, 13, -10 - 3]]


def test_qr_dqn_takes_all_quantiles_of_the_action_with_the_best_mean() -> None:
    """Action 1 has the single best quantile, action 0 the better mean."""
    agent = tabular(QRDQN, 2, discount=0.5, quantiles=2)
    table = torch.tensor([[2.0, 4.0], [-8.0, 10.0]]).expand(2, STATES, ACTIONS, 2)
    fill(agent.target, table)
    target = agent.bellman_target(batch(terminated=[[True, False, False], [False] * 3]))
    assert target.shape == (2, 3, 2)
    assert target[0].tolist() == [[1, 1], [1 + 1, 1 + 2], [1 + 1, 1 + 2]]
    assert target[1].tolist() == [[1, 2], [11, 12], [-9, -8]]


@every_agent
def test_truncated_steps_bootstrap_and_are_stored_as_not_terminated(kind: type[DeepQ]) -> None:
    agent = tabular(kind, 1, 0.9)
    yes, no = torch.tensor([True]), torch.tensor([False])
    for terminated, truncated in [(no, yes), (yes, no), (yes, yes), (no, no)]:
        obs = one_hot([[0]])[:, 0]
        act(agent, obs)
        agent.observe(
            step_of_actors(obs, torch.tensor([1]), torch.ones(1), terminated, truncated, obs)
        )
    stored = agent.replay.gather(torch.arange(4)[None])
    assert stored["terminated"].tolist() == [[False, True, True, False]]


def test_dqns_loss_is_hubers() -> None:
    agent = tabular(DQN, 2, 0.9)
    error = torch.tensor([[0.5, -3.0], [0.0, 1.0]])[..., None]
    loss = agent.loss(error, torch.zeros_like(error))
    torch.testing.assert_close(loss, torch.tensor([[0.125, 2.5], [0.0, 0.5]]))


# --- when what happens ---------------------------------------------------------------------------


def feed(agent: DeepQ, t: int, valid: Tensor | None = None) -> Tensor:
    """Act and observe one step of a made-up stream; gives the action."""
    generator = torch.Generator().manual_seed(t)
    states = torch.randint(STATES, (2, 1), generator=generator).tolist()
    obs = one_hot(states)[:, 0]
    action = act(agent, obs, valid)
    no = torch.zeros(2, dtype=torch.bool)
    agent.observe(step_of_actors(obs, action, torch.ones(2), no, no, obs))
    return action


@every_agent
def test_learning_starts_at_replay_start_and_the_target_is_synced_every_period(
    kind: type[DeepQ],
) -> None:
    agent = tabular(kind, 2, 0.9, learning_starts=20, target_sync_period=15, batch_size=8)
    initial = agent.online.layers[0].weight.clone()
    for t in range(61):
        before = agent.online.layers[0].weight.clone()
        feed(agent, t)
        online, target = agent.online.layers[0].weight, agent.target.layers[0].weight
        assert torch.equal(online, before) == (t < 20), f"gradient step at {t}"
        synced = t >= 20 and t % 15 == 0
        assert torch.equal(online, target) == (synced or t < 20), f"target at {t}"
        if t < 30:
            assert torch.equal(target, initial)
    assert torch.isfinite(agent.metrics()["loss"]).all()


@pytest.mark.parametrize(("learning_starts", "first"), [(1, 32), (40, 40)])
def test_learning_waits_for_a_whole_batch(learning_starts: int, first: int) -> None:
    agent = tabular(DQN, 2, 0.9, learning_starts=learning_starts)
    for t in range(first):
        feed(agent, t)
        assert torch.isnan(agent.metrics()["loss"]).all()
    feed(agent, first)
    assert torch.isfinite(agent.metrics()["loss"]).all()


def test_epsilon_is_one_until_learning_starts_and_falls_linearly() -> None:
    agent = tabular(
        DQN, 2, 0.9, learning_starts=40, epsilon_decay_steps=100, epsilon_final=0.2, batch_size=2
    )
    for t, epsilon in enumerate([1.0] * 41 + [1 - 0.008 * k for k in range(1, 100)] + [0.2] * 10):
        assert agent.exploration.epsilon.item() == pytest.approx(epsilon), f"step {t}"
        feed(agent, t)


def test_epsilon_may_decay_from_the_first_step_on_but_is_one_until_learning_starts() -> None:
    agent = tabular(
        DQN, 2, 0.9, learning_starts=40, epsilon_decay_steps=100, epsilon_final=0.2, batch_size=2,
        epsilon_decay_from="first-step",
    )  # fmt: skip
    for t, epsilon in enumerate([1.0] * 40 + [1 - 0.008 * k for k in range(40, 100)] + [0.2] * 10):
        assert agent.exploration.epsilon.item() == pytest.approx(epsilon), f"step {t}"
        feed(agent, t)


def test_qr_dqn_acts_by_a_risk_measure_in_its_targets_too() -> None:
    """Action 1 has the better mean, action 0 the better worst half."""
    rule = MarginalRisk(CVaR(0.5))
    averse = tabular(QRDQN, 2, discount=0.5, quantiles=2, risk=rule)
    table = torch.tensor([[2.0, 4.0], [10.0, -2.0]]).expand(2, STATES, ACTIONS, 2)
    for network in (averse.online, averse.target):
        fill(network, table)
    target = averse.bellman_target(batch())
    assert target[0].tolist() == [[2, 3]] * 3
    obs = one_hot([[0, 1, 2], [2, 1, 0]])
    assert (averse.policy(obs) == 0).all()
    assert (tabular_policy(QRDQN, table, obs) == 1).all()
    predicted = averse.uncertainty(obs)
    assert predicted is not None
    assert torch.equal(predicted.mean, table.mean(-1))  # what it predicts is no less the mean


def tabular_policy(kind: type[DeepQ], table: Tensor, obs: Tensor) -> Tensor:
    neutral = tabular(kind, 2, discount=0.5, quantiles=2)
    fill(neutral.online, table)
    return neutral.policy(obs)


@every_agent
def test_training_actions_are_valid(kind: type[DeepQ]) -> None:
    agent = tabular(kind, 2, 0.9, learning_starts=10, epsilon_decay_steps=20, batch_size=4)
    valid = torch.tensor([[True, False], [False, True]])
    for t in range(60):
        assert feed(agent, t, valid).tolist() == [0, 1]


# --- learning ------------------------------------------------------------------------------------


class Bandit(gymnasium.Env[NDArray[np.float32], int]):
    """One state, one step: action 0 gives 0, action 1 gives 1."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, **keywords: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(**keywords)
        return np.ones(1, np.float32), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        return np.ones(1, np.float32), self.reward(action), True, False, {}

    def reward(self, action: int) -> float:
        return float(action)


class Gamble(Bandit):
    """Action 0 gives 1.5; action 1 gives 0 or 4, equally likely."""

    def reward(self, action: int) -> float:
        return 1.5 if action == 0 else 4.0 * self.np_random.integers(2)


class Endless(Bandit):
    """Every step gives 1, and there is no end."""

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        return np.ones(1, np.float32), 1.0, False, False, {}


class Silent:
    """A recorder that records nothing."""

    events = ()

    def step(self, outcome: Outcome) -> None:
        pass


SEEDS = [0, 1, 2]
STATE = torch.ones(len(SEEDS), 1, 1)


def learned(
    kind: type[DeepQ],
    env: type[Bandit],
    steps: int,
    time_limit: TimeLimit | None = None,
    **settings: Any,
) -> DeepQ:
    """An agent that explores at random for all steps and learns fast."""
    lanes = GymnasiumLanes(env, SEEDS, time_limit)
    quick = {
        "learning_rate": 5e-3,
        "learning_starts": 50,
        "target_sync_period": 20,
        "epsilon_final": 1.0,
        "hidden": (16,),
        "gain": 1.0,
    }
    agent = make(kind, lanes, SEEDS, discount=0.5, **quick | settings)
    for _ in interact(agent, lanes, steps, Silent()):  # type: ignore[arg-type]
        pass
    return agent


def near(given: Tensor, expected: list[float], tolerance: float) -> None:
    wanted = torch.tensor(expected).expand_as(given)
    torch.testing.assert_close(given, wanted, rtol=0, atol=tolerance)


def test_dqn_learns_the_values_of_a_bandit() -> None:
    agent = learned(DQN, Bandit, 800)
    near(agent.uncertainty(STATE).mean[:, 0], [0.0, 1.0], 0.02)
    assert agent.policy(STATE).tolist() == [[1]] * len(SEEDS)


def test_qr_dqn_learns_the_values_of_a_bandit() -> None:
    agent = learned(QRDQN, Bandit, 1200, quantiles=10)
    near(agent.uncertainty(STATE).mean[:, 0], [0.0, 1.0], 0.1)
    assert agent.policy(STATE).tolist() == [[1]] * len(SEEDS)


def test_qr_dqn_learns_the_distribution_of_a_gamble() -> None:
    """Ten quantiles of a fair 0-or-4: five of each, mean 2, variance 4.

    The two quantiles next to the middle would be wrong where one value made up more than 55 % of
    some 1,000 rewards: 3 standard deviations, one in 100 for any of three fresh seeds.
    """
    distribution = learned(QRDQN, Gamble, 2000, quantiles=10).uncertainty(STATE)
    atoms = distribution.return_atoms[:, 0]
    near(atoms[:, 0], [1.5] * 10, 0.25)
    near(atoms[:, 1].sort(-1).values, [0.0] * 5 + [4.0] * 5, 0.6)
    near(distribution.mean[:, 0], [1.5, 2.0], 0.2)
    near(distribution.aleatoric_var[:, 0, 1], [4.0] * len(SEEDS), 0.6)
    assert distribution.aleatoric_var[:, 0, 0].max() < 0.05


@every_agent
@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (TimeLimit(3, "truncation"), 2.0),  # 1 / (1 − γ): its value goes on
        (TimeLimit(1, "terminal"), 1.0),
        (None, 2.0),
    ],
)
def test_a_truncated_episode_is_worth_more_than_a_terminated_one(
    kind: type[DeepQ], limit: TimeLimit | None, value: float
) -> None:
    settings = {"quantiles": 5} if kind is QRDQN else {}
    agent = learned(kind, Endless, 900, limit, **settings)
    predicted = agent.uncertainty(STATE).mean[:, 0].tolist()
    assert predicted == [pytest.approx([value, value], abs=0.1)] * len(SEEDS)


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_a_transition_is_stored_field_by_field(kind: type[DeepQ]) -> None:
    lanes = GymnasiumLanes(Bandit, SEEDS)
    agent = make(kind, lanes, SEEDS, learning_starts=50, batch_size=4, replay_capacity=7)
    shape = lanes.reset()[0].shape
    count = len(SEEDS)
    valid = torch.zeros(count, lanes.n_actions, dtype=torch.bool)
    valid[:, 1] = True
    stored = step_of_actors(
        obs=torch.full(shape, 0.25),
        action=torch.ones(count, dtype=torch.int64),
        reward=torch.full((count,), 0.5),
        terminated=torch.ones(count, dtype=torch.bool),
        truncated=torch.zeros(count, dtype=torch.bool),
        next_obs=torch.full(shape, 0.75),
        valid_actions=valid,
    )
    agent.observe(stored)
    batch = agent.replay.gather(torch.zeros(count, 1, dtype=torch.int64))
    for name in ("obs", "action", "reward", "terminated", "next_obs"):
        assert torch.equal(batch[name], getattr(stored, name)), name
    assert torch.equal(batch["next_valid"][:, 0], valid)
    assert agent.replay.capacity == 7


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_the_policy_keeps_to_valid_actions(kind: type[DeepQ]) -> None:
    lanes = GymnasiumLanes(Bandit, SEEDS)
    agent = make(kind, lanes, SEEDS, learning_starts=50)
    obs = lanes.reset()[0][:, None]
    for action in range(lanes.n_actions):
        only = torch.zeros(len(SEEDS), 1, lanes.n_actions, dtype=torch.bool)
        only[..., action] = True
        assert (agent.policy(obs, only) == action).all()


def test_qr_dqn_smooths_its_loss_by_its_own_kappa() -> None:
    lanes = GymnasiumLanes(Bandit, SEEDS)
    agent = make(QRDQN, lanes, SEEDS, learning_starts=50, quantiles=2, kappa=4.0)
    error = torch.tensor([[[1.0, 1.0]]])  # within κ: ½ u², weighted by τ = 1/4 and 3/4
    assert agent.loss(torch.zeros_like(error), error).item() == pytest.approx(0.5)
