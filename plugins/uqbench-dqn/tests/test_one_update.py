"""Gradient steps of VDQN and RND, against plain formulas."""

from dataclasses import replace
from typing import Any

import torch
from by_hand import Tensors, check_steps
from gymnasium import spaces
from torch import Tensor
from torch.nn.functional import smooth_l1_loss, softplus
from uqbench_dqn.config import RNDConfig, VDQNConfig
from uqbench_dqn.rnd import RND
from uqbench_dqn.vdqn import VDQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import transitions

INFO = EnvironmentInfo(spaces.Box(-1, 1, (4,)), 3, discount=0.9, total_steps=100)
CPU, RATE = torch.device("cpu"), 1e-2
SHARED: dict[str, Any] = {
    "hidden": (5,), "batch_size": 6, "learning_starts": 30, "replay_capacity": 40,
    "learning_rate": RATE, "learn_period": 1, "target_sync_period": 50}  # fmt: skip


def taken(values: Tensor, batch: Tensors) -> Tensor:
    return values.gather(1, batch["action"].long()[:, None])[:, 0]


# -- RND: two layers of weights and biases ---------------------------------------------------------


def outputs(known: Tensors, of: str, x: Tensor) -> Tensor:
    hidden = (x @ known[f"{of}0.weight"] + known[f"{of}0.bias"]).relu()
    return hidden @ known[f"{of}1.weight"] + known[f"{of}1.bias"]


def test_rnd_s_gradient_steps_are_those_of_its_formulas():
    """Burda et al. 2019, section 2.2, as a DQN's reward ``r + β e(s') / ē``."""
    agent = RND(INFO, [7], RNDConfig(**SHARED, features=4, bonus=0.5), CPU)
    networks = {"o": agent.online, "t": agent.target, "p": agent.predictor, "r": agent.random}
    means: list[Tensor] = []

    def loss(own: Tensors, batch: Tensors) -> Tensor:
        goes_on, after = 1 - batch["terminated"], batch["next_obs"]
        off = outputs(own, "p", after) - outputs(own, "r", after)
        error = off.square().mean(1) * goes_on
        means.append(error.mean().detach())
        reward = batch["reward"] + 0.5 * error.detach() / torch.stack(means).mean()
        target = reward + 0.9 * goes_on * outputs(own, "t", after).amax(1)
        return smooth_l1_loss(taken(outputs(own, "o", batch["obs"]), batch), target) + error.mean()

    check_steps(agent, networks, "op", loss, lr=RATE)


def test_every_lane_of_rnd_divides_by_a_mean_of_its_own():
    found = []
    for seeds in ([7, 3], [7], [3]):
        agent = RND(INFO, seeds, RNDConfig(**SHARED), CPU)
        for step in transitions(seeds, (4,), 3, 60):
            agent.observe(step)
        found.append(agent.metrics()["prediction_error"])
    torch.testing.assert_close(found[0], torch.cat(found[1:]))
    assert found[1] != found[2]


def test_where_every_step_ends_an_episode_rnd_divides_by_no_mean_of_zero():
    agent = RND(INFO, [7], RNDConfig(**SHARED), CPU)
    for step in transitions([7], (4,), 3, 40):
        agent.observe(replace(step, terminated=torch.ones_like(step.terminated)))
    assert agent.metrics()["loss"].isfinite().all()


# -- VDQN: two layers of normal weights ------------------------------------------------------------


def drawn(known: Tensors, of: str, x: Tensor, noise: Tensor) -> Tensor:
    """A draw of the values: five hidden units, then the actions."""
    for layer, own in zip((f"{of}0", f"{of}1"), noise.split([5, 3], 1), strict=True):
        x = x.relu() if layer == f"{of}1" else x
        var = x**2 @ softplus(known[f"{layer}.rho"]) ** 2
        var = var + softplus(known[f"{layer}.bias_rho"]) ** 2
        x = x @ known[f"{layer}.mean"] + known[f"{layer}.bias_mean"] + var.sqrt() * own
    return x


def test_vdqn_s_gradient_steps_are_those_of_its_formulas():
    """Tang & Agrawal 2018, Algorithm 1: ``Σ_b (d − Q_θ)² / 2σ² − Σ_j log σ_j``, θ ~ N(μ, σ_j²)."""
    agent = VDQN(INFO, [7], VDQNConfig(**SHARED, likelihood_std=0.3, posterior_std=0.2), CPU)

    def noise() -> Tensors:
        own, target = agent._learning.at(agent.updates.draws)[0].double()
        return {"noise": own, "target_noise": target}

    def loss(own: Tensors, batch: Tensors) -> Tensor:
        following = drawn(own, "t", batch["next_obs"], batch["target_noise"]).amax(1)
        target = batch["reward"] + 0.9 * (1 - batch["terminated"]) * following
        off = target - taken(drawn(own, "o", batch["obs"], batch["noise"]), batch)
        entropy = sum(softplus(own[n]).log().sum() for n in own if n[0] == "o" and "rho" in n)
        return off.square().sum() / (2 * 0.3**2) - entropy

    check_steps(agent, {"o": agent.online, "t": agent.target}, "o", loss, noise, lr=RATE)
