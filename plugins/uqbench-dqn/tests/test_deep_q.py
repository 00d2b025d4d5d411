"""DQN and QR-DQN: what they compute, that they learn, that they resume, and that lanes are alone.

Bit-identity holds with one torch thread, so the whole file runs with one.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
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
from uqbench_minatar.game import Game
from uqbench_minatar.options import GameOptions

from uqbench.agent import EnvSpec, Step
from uqbench.config import resolve
from uqbench.environment import GymnasiumLanes, Outcome, TimeLimit
from uqbench.runner.loop import interact

CPU = torch.device("cpu")
CONFIGS: dict[type[DeepQ], Any] = {DQN: DQNConfig, QRDQN: QRDQNConfig}
every_agent = pytest.mark.parametrize("kind", [DQN, QRDQN])


@pytest.fixture(scope="module", autouse=True)
def one_torch_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make(
    kind: type[DeepQ],
    env: GymnasiumLanes,
    seeds: Sequence[int],
    discount: float = 0.99,
    **settings: Any,
) -> DeepQ:
    spec = EnvSpec(env.observation_space, env.n_actions, discount, total_steps=100_000)
    return kind(spec, seeds, CONFIGS[kind](**settings), CPU)


# --- what lanes do on MinAtar, with learning going on -------------------------------------------

LEARNING = {
    "replay_start": 40,
    "target_period": 50,
    "epsilon_steps": 200,
    "replay_capacity": 300,  # the ring goes round
    "learning_rate": 1e-3,
}


def minatar(game: str, seeds: Sequence[int]) -> GymnasiumLanes:
    return GymnasiumLanes(lambda: Game(GameOptions(game=game)), seeds)


@dataclass
class Trace:
    """All steps of a run: what went in and came out of the agent."""

    steps: list[Step]
    metrics: list[dict[str, Tensor]]
    agent: DeepQ


def run(kind: type[DeepQ], game: str, seeds: Sequence[int], steps: int) -> Trace:
    env = minatar(game, seeds)
    agent = make(kind, env, seeds, **LEARNING)
    trace = Trace([], [], agent)
    obs, valid = env.reset()
    for t in range(steps):
        action = agent.act(obs, valid)
        outcome = env.step(action)
        trace.steps.append(as_step(t, obs, action, outcome))
        agent.observe(trace.steps[-1])
        trace.metrics.append(dict(agent.metrics()))
        obs, valid = outcome.obs, outcome.valid
    return trace


def as_step(t: int, obs: Tensor, action: Tensor, outcome: Outcome) -> Step:
    return Step(
        t=t,
        obs=obs,
        action=action,
        reward=outcome.reward,
        terminated=outcome.terminated,
        truncated=outcome.truncated,
        next_obs=outcome.next_obs,
        valid_actions=outcome.next_valid,
    )


def tensors(agent: DeepQ) -> dict[str, Tensor]:
    """Every tensor with a lane dimension of an agent's state, by name."""
    state = agent.state_dict()
    moments = {
        f"optimiser.{name}.{number}": value
        for name in ("means", "squares")
        for number, value in enumerate(state["optimiser"][name])
    }
    networks = {
        f"{network}.{name}": value
        for network in ("learned", "target")
        for name, value in state[network].items()
    }
    ring = agent.replay.gather(
        torch.arange(len(agent.replay)).repeat(len(agent.metrics()["loss"]), 1)
    )
    return networks | moments | ring


def assert_lane_equals(trace: Trace, lane: int, alone: Trace) -> None:
    for given, expected in zip(trace.steps, alone.steps, strict=True):
        for field in ("action", "reward", "terminated", "obs", "next_obs"):
            assert torch.equal(getattr(given, field)[lane], getattr(expected, field)[0]), (
                f"{field} at step {given.t}"
            )
    for t, (given, expected) in enumerate(zip(trace.metrics, alone.metrics, strict=True)):
        for name, value in expected.items():
            assert torch.allclose(given[name][lane], value[0], rtol=0, atol=0, equal_nan=True), (
                f"{name} at step {t}"
            )
    stacked, single = tensors(trace.agent), tensors(alone.agent)
    assert stacked.keys() == single.keys()
    different = [name for name in single if not torch.equal(stacked[name][lane], single[name][0])]
    assert different == []


@every_agent
@pytest.mark.parametrize("game", ["breakout", "asterix"])
def test_a_lane_does_the_same_alone_and_among_others_bit_for_bit(
    kind: type[DeepQ], game: str
) -> None:
    alone = run(kind, game, [3], steps=400)
    assert any(step.terminated.item() for step in alone.steps)  # an episode ended
    assert not torch.equal(
        *(
            net["0.layers.1.weight"]
            for net in (  # and there was learning
                alone.agent.state_dict()["learned"],
                make(kind, minatar(game, [3]), [3]).learned.state_dict(),
            )
        )
    )
    ten = run(kind, game, [3, 0, 1, 2, 3, 4, 5, 6, 7, 3], steps=400)
    for lane in (0, 4, 9):
        assert_lane_equals(ten, lane, alone)
    two = run(kind, game, [8, 3], steps=400)
    assert_lane_equals(two, 1, alone)


@every_agent
def test_lanes_of_different_seeds_differ(kind: type[DeepQ]) -> None:
    trace = run(kind, "breakout", [3, 4], steps=60)
    for name, value in tensors(trace.agent).items():
        if "bias" not in name and name != "terminated" and name != "next_valid":
            assert not torch.equal(value[0], value[1]), name


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


@every_agent
@pytest.mark.parametrize("stop", [20, 150, 330])
def test_a_resumed_agent_goes_on_like_an_unbroken_one_bit_for_bit(
    kind: type[DeepQ], stop: int
) -> None:
    """Stopped before and while learning, and after the ring went round."""
    seeds, total = [3, 9], 370
    env = minatar("asterix", seeds)
    unbroken = make(kind, env, seeds, **LEARNING)
    resumed: DeepQ | None = None
    obs, valid = env.reset()
    for t in range(total):
        if t == stop:
            resumed = make(kind, env, seeds, **LEARNING)
            resumed.load_state_dict(through_a_file(unbroken.state_dict()))
        action = unbroken.act(obs, valid)
        outcome = env.step(action)
        step = as_step(t, obs, action, outcome)
        if resumed is not None:
            assert torch.equal(resumed.act(obs, valid), action), f"step {t}"
            resumed.observe(step)
        unbroken.observe(step)
        obs, valid = outcome.obs, outcome.valid
    assert resumed is not None
    expected, given = tensors(unbroken), tensors(resumed)
    assert [name for name in expected if not torch.equal(expected[name], given[name])] == []


@every_agent
def test_a_resumed_agent_has_the_metrics_of_the_unbroken_one(kind: type[DeepQ]) -> None:
    trace = run(kind, "breakout", [3], steps=60)
    resumed = make(kind, minatar("breakout", [3]), [3], **LEARNING)
    resumed.load_state_dict(through_a_file(trace.agent.state_dict()))
    expected = trace.agent.metrics()
    for name, value in resumed.metrics().items():
        assert torch.equal(value, expected[name]), name


def flat(state: Any) -> list[Any]:
    if isinstance(state, dict):
        return [leaf for key, value in state.items() for leaf in (key, *flat(value))]
    if isinstance(state, list | tuple):
        return [leaf for value in state for leaf in flat(value)]
    return [state]


@every_agent
def test_policy_and_uncertainty_change_nothing(kind: type[DeepQ]) -> None:
    agent = run(kind, "breakout", [3, 9], steps=60).agent
    twin = copy.deepcopy(agent)
    before = copy.deepcopy(agent.state_dict())
    generator = torch.get_rng_state()
    obs = torch.rand(2, 7, 4, 10, 10) < 0.2
    torch.set_rng_state(generator)
    first = agent.policy(obs)
    agent.uncertainty(obs)
    assert torch.equal(agent.policy(obs), first)
    assert torch.equal(torch.get_rng_state(), generator)
    for given, expected in zip(flat(agent.state_dict()), flat(before), strict=True):
        assert torch.equal(given, expected) if isinstance(given, Tensor) else given == expected
    assert torch.equal(agent.act(obs[:, 0]), twin.act(obs[:, 0]))


@every_agent
def test_policy_is_greedy_in_the_stated_mean_in_every_lane(kind: type[DeepQ]) -> None:
    agent = run(kind, "breakout", [3, 9], steps=60).agent
    obs = torch.rand(2, 7, 4, 10, 10, generator=torch.Generator().manual_seed(0)) < 0.2
    stated = agent.uncertainty(obs)
    assert stated is not None
    assert stated.mean is not None
    assert stated.mean.shape == (2, 7, 6)
    assert torch.equal(agent.policy(obs), stated.mean.argmax(-1))
    torch.testing.assert_close(agent.policy(obs)[:, 3:4], agent.policy(obs[:, 3:4]))


def test_dqn_states_no_uncertainty_and_qr_dqn_the_law_of_the_return() -> None:
    env = minatar("breakout", [0])
    obs = torch.rand(1, 5, 4, 10, 10, generator=torch.Generator().manual_seed(0)) < 0.2
    plain = make(DQN, env, [0]).uncertainty(obs)
    assert [f.name for f in fields(plain) if getattr(plain, f.name) is not None] == ["mean"]
    law = make(QRDQN, env, [0]).uncertainty(obs)
    assert law.return_atoms is not None
    assert law.return_atoms.shape == law.return_probs.shape == (1, 5, 6, 50)
    torch.testing.assert_close(law.return_probs.sum(-1), torch.ones(1, 5, 6))
    mean = (law.return_probs * law.return_atoms).sum(-1)
    square = (law.return_probs * law.return_atoms**2).sum(-1)
    torch.testing.assert_close(law.mean, mean)
    torch.testing.assert_close(law.aleatoric_var, square - mean**2, rtol=1e-3, atol=1e-4)
    assert law.epistemic_var is None


# --- settings ------------------------------------------------------------------------------------


def test_dqn_defaults_are_the_papers() -> None:
    """Clements et al. 2019, section 3.2, and their released code for the gain of DQN's network."""
    assert DQNConfig() == DQNConfig(
        learning_rate=1e-4,
        adam_epsilon=1e-8,
        batch_size=32,
        replay_capacity=100_000,
        replay_start=5_000,
        target_period=1_000,
        epsilon_first=1.0,
        epsilon_last=0.03,
        epsilon_steps=100_000,
        channels=16,
        kernel=3,
        hidden=(128,),
        gain=2**0.5,
        kappa=1.0,
    )


def test_qr_dqn_defaults_are_dqns_but_for_quantiles_loss_and_gain() -> None:
    """50 quantiles, plain quantile regression, gain 3."""
    shared = {f.name: getattr(DQNConfig(), f.name) for f in fields(DQNConfig)}
    assert QRDQNConfig() == QRDQNConfig(**shared | {"quantiles": 50, "kappa": 0.0, "gain": 3.0})


@pytest.mark.parametrize("config", [DQNConfig, QRDQNConfig])
def test_a_short_budget_scales_the_schedules_and_nothing_else(config: Any) -> None:
    assert resolve(config, {}, where="", schedule=0.1) == replace(
        config(), replay_start=500, target_period=100, epsilon_steps=10_000
    )


@pytest.mark.parametrize(("kind", "outputs"), [(DQN, 6), (QRDQN, 6 * 50)])
def test_the_network_is_one_convolution_of_16_filters_and_128_units(
    kind: type[DeepQ], outputs: int
) -> None:
    agent = make(kind, minatar("breakout", [0]), [0])
    shapes = {name: tuple(value.shape) for name, value in agent.online.state_dict().items()}
    assert shapes == {
        "convolutions.0.product.weight": (1, 4 * 3 * 3, 16),
        "convolutions.0.product.bias": (1, 1, 16),
        "layers.0.weight": (1, 8 * 8 * 16, 128),
        "layers.0.bias": (1, 1, 128),
        "layers.1.weight": (1, 128, outputs),
        "layers.1.bias": (1, 1, outputs),
    }
    weight = agent.online.layers[0].weight[0].detach()
    expected = agent.config.gain**2 * torch.eye(128)
    torch.testing.assert_close(weight.T @ weight, expected, rtol=1e-4, atol=1e-4)
    obs = torch.zeros(1, 4, 4, 10, 10, dtype=torch.bool)
    assert agent.online(obs).shape == (1, 4, 6, outputs // 6)


def test_several_convolutions_are_those_of_torch_and_bytes_are_fractions_of_255() -> None:
    """The shapes of Mnih et al. 2015 on a smaller image, against torch's own convolutions."""
    spec = EnvSpec(spaces.Box(0, 255, (4, 44, 44), np.uint8), 3, 0.99, 100)
    config = DQNConfig(channels=(8, 6, 5), kernel=(8, 4, 3), stride=(4, 2, 1), hidden=(7,))
    agent = DQN(spec, [0, 1], config, torch.device("cpu"))
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


def test_learning_every_fourth_step_from_bounded_rewards_with_centred_rmsprop() -> None:
    """The settings of Mnih et al. 2015: gradient steps counted, rewards as stored, the rule."""
    spec = EnvSpec(spaces.Box(-1, 1, (3,)), 2, 0.9, 100)
    config = DQNConfig(
        hidden=(5,), batch_size=4, replay_start=8, target_period=10, learn_period=4,
        reward_bound=1.0, optimiser="rmsprop", learning_rate=0.01,
    )  # fmt: skip
    agent = DQN(spec, [0], config, torch.device("cpu"))
    changed = []
    for t in range(24):
        before = agent.online.layers[0].weight.clone()
        obs, no = torch.full((1, 3), t / 24), torch.zeros(1, dtype=torch.bool)
        reward = torch.tensor([3.0 * (-1) ** t])
        agent.observe(Step(t, obs, torch.tensor([t % 2]), reward, no, no, obs))
        if not torch.equal(before, agent.online.layers[0].weight):
            changed.append(t)
    assert changed == [8, 12, 16, 20]
    stored = agent.replay.gather(torch.arange(24)[None])["reward"]
    assert stored[0].tolist() == [1.0, -1.0] * 12
    # a first step from zero averages: g / √(0.05 g² − 0.0025 g² + 0.01), times 0.01
    fresh = DQN(spec, [0], config, torch.device("cpu"))
    fresh.load_state_dict(agent.state_dict())
    fresh.optimiser.load_state_dict(
        DQN(spec, [0], config, torch.device("cpu")).optimiser.state_dict()
    )
    index = torch.arange(4)[None]
    loss = fresh.objective(fresh.replay.gather(index)).mean()
    (gradient,) = torch.autograd.grad(loss, [fresh.online.layers[1].weight])
    before = fresh.online.layers[1].weight.detach().clone()
    fresh.learn(index)
    expected = before - 0.01 * gradient / (0.05 * 0.95 * gradient**2 + 0.01).sqrt()
    torch.testing.assert_close(fresh.online.layers[1].weight.detach(), expected)


def test_convolutions_that_cannot_be_are_told() -> None:
    spec = EnvSpec(spaces.Box(0, 1, (4, 10, 10)), 3, 0.99, 100)
    for config, message in (
        (DQNConfig(channels=(8, 6), kernel=(3, 3, 3)), "same number of convolutions"),
        (DQNConfig(channels=(8, 6), kernel=(8, 4)), "a kernel of 4 does not fit"),
    ):
        with pytest.raises(ValueError, match=message):
            DQN(spec, [0], config, torch.device("cpu"))


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
    for t, (terminated, truncated) in enumerate([(no, yes), (yes, no), (yes, yes), (no, no)]):
        obs = one_hot([[0]])[:, 0]
        agent.act(obs)
        agent.observe(Step(t, obs, torch.tensor([1]), torch.ones(1), terminated, truncated, obs))
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
    action = agent.act(obs, valid)
    no = torch.zeros(2, dtype=torch.bool)
    agent.observe(Step(t, obs, action, torch.ones(2), no, no, obs))
    return action


@every_agent
def test_learning_starts_at_replay_start_and_the_target_is_renewed_every_period(
    kind: type[DeepQ],
) -> None:
    agent = tabular(kind, 2, 0.9, replay_start=20, target_period=15, batch_size=8)
    initial = agent.online.layers[0].weight.clone()
    for t in range(61):
        before = agent.online.layers[0].weight.clone()
        feed(agent, t)
        online, target = agent.online.layers[0].weight, agent.target.layers[0].weight
        assert torch.equal(online, before) == (t < 20), f"gradient step at {t}"
        renewed = t >= 20 and t % 15 == 0
        assert torch.equal(online, target) == (renewed or t < 20), f"target at {t}"
        if t < 30:
            assert torch.equal(target, initial)
    assert torch.isfinite(agent.metrics()["loss"]).all()


@pytest.mark.parametrize(("replay_start", "first"), [(1, 32), (40, 40)])
def test_learning_waits_for_a_whole_batch(replay_start: int, first: int) -> None:
    agent = tabular(DQN, 2, 0.9, replay_start=replay_start)
    for t in range(first):
        feed(agent, t)
        assert torch.isnan(agent.metrics()["loss"]).all()
    feed(agent, first)
    assert torch.isfinite(agent.metrics()["loss"]).all()


def test_epsilon_is_one_until_learning_starts_and_falls_linearly() -> None:
    agent = tabular(DQN, 2, 0.9, replay_start=40, epsilon_steps=100, epsilon_last=0.2, batch_size=2)
    for t, epsilon in enumerate([1.0] * 41 + [1 - 0.008 * k for k in range(1, 100)] + [0.2] * 10):
        assert agent.epsilon.item() == pytest.approx(epsilon), f"step {t}"
        feed(agent, t)


@every_agent
def test_training_actions_are_valid(kind: type[DeepQ]) -> None:
    agent = tabular(kind, 2, 0.9, replay_start=10, epsilon_steps=20, batch_size=4)
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
        "replay_start": 50,
        "target_period": 20,
        "epsilon_last": 1.0,
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


def test_qr_dqn_learns_the_law_of_a_gamble() -> None:
    """Ten quantiles of a fair 0-or-4: five of each, mean 2, variance 4.

    The two quantiles next to the middle would be wrong where one value made up more than 55 % of
    some 1,000 rewards: 3 standard deviations, one in 100 for any of three fresh seeds.
    """
    law = learned(QRDQN, Gamble, 2000, quantiles=10).uncertainty(STATE)
    atoms = law.return_atoms[:, 0]
    near(atoms[:, 0], [1.5] * 10, 0.25)
    near(atoms[:, 1].sort(-1).values, [0.0] * 5 + [4.0] * 5, 0.6)
    near(law.mean[:, 0], [1.5, 2.0], 0.2)
    near(law.aleatoric_var[:, 0, 1], [4.0] * len(SEEDS), 0.6)
    assert law.aleatoric_var[:, 0, 0].max() < 0.05


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
    stated = agent.uncertainty(STATE).mean[:, 0].tolist()
    assert stated == [pytest.approx([value, value], abs=0.1)] * len(SEEDS)


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_a_transition_is_stored_field_by_field(kind: type[DeepQ]) -> None:
    lanes = GymnasiumLanes(Bandit, SEEDS)
    agent = make(kind, lanes, SEEDS, replay_start=50, batch_size=4, replay_capacity=7)
    shape = lanes.reset()[0].shape
    count = len(SEEDS)
    valid = torch.zeros(count, lanes.n_actions, dtype=torch.bool)
    valid[:, 1] = True
    stored = Step(
        t=0,
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
        assert torch.equal(batch[name][:, 0], getattr(stored, name)), name
    assert torch.equal(batch["next_valid"][:, 0], valid)
    assert agent.replay.capacity == 7


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_the_policy_keeps_to_valid_actions(kind: type[DeepQ]) -> None:
    lanes = GymnasiumLanes(Bandit, SEEDS)
    agent = make(kind, lanes, SEEDS, replay_start=50)
    obs = lanes.reset()[0][:, None]
    for action in range(lanes.n_actions):
        only = torch.zeros(len(SEEDS), 1, lanes.n_actions, dtype=torch.bool)
        only[..., action] = True
        assert (agent.policy(obs, only) == action).all()


def test_qr_dqn_smooths_its_loss_by_its_own_kappa() -> None:
    lanes = GymnasiumLanes(Bandit, SEEDS)
    agent = make(QRDQN, lanes, SEEDS, replay_start=50, quantiles=2, kappa=4.0)
    error = torch.tensor([[[1.0, 1.0]]])  # within κ: ½ u², weighted by τ = 1/4 and 3/4
    assert agent.loss(torch.zeros_like(error), error).item() == pytest.approx(0.5)
