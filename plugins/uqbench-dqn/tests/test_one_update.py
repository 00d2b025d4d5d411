"""Gradient steps of VDQN and RND, against NumPy: gradients by hand, and Adam's rule."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from by_hand import Adam, Arrays, minibatches
from gymnasium import spaces
from numpy.typing import NDArray
from uqbench_dqn.config import RNDConfig, VDQNConfig
from uqbench_dqn.rnd import RND
from uqbench_dqn.vdqn import VDQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import transitions

INFO = EnvironmentInfo(spaces.Box(-1, 1, (4,)), 3, discount=0.9, total_steps=100)
CPU, RATE, BATCH, STEPS = torch.device("cpu"), 1e-2, 6, 8
SHARED: dict[str, Any] = {
    "hidden": (5,), "batch_size": BATCH, "learning_starts": 30, "replay_capacity": 40,
    "learning_rate": RATE, "learn_period": 1, "target_sync_period": 50}  # fmt: skip


Array = NDArray[np.float64]


def learned(agent: Any, networks: dict[str, Any]) -> tuple[Arrays, list[Arrays], Arrays]:
    """Parameters before the first of some gradient steps, their batches, and parameters after."""

    def noise() -> Arrays:
        if not isinstance(agent, VDQN):
            return {}
        own, target = agent._learning.at(agent.updates.draws)[0].double().numpy()
        return {"noise": own, "target_noise": target}

    before, stream = parameters(networks), transitions([7], (4,), 3, 60)
    return before, minibatches(agent, stream, STEPS, noise), parameters(networks)


def parameters(networks: dict[str, Any]) -> Arrays:
    return {
        f"{prefix}{layer.partition('.')[2]}": p.detach()[0].double().numpy().copy()
        for prefix, network in networks.items()
        for layer, p in network.named_parameters()
    }


def check(given: Arrays, own: Arrays, before: Arrays, moving: set[str]) -> None:
    for name, value in given.items():
        assert np.abs(value - own[name]).max() < 1e-5, name
        assert (np.abs(value - before[name]).max() > 0) == (name[0] in moving), name


# -- RND: two layers of weights and biases ---------------------------------------------------------


def outputs(known: Arrays, of: str, x: Array) -> tuple[Array, Array]:
    hidden = np.maximum(x @ known[f"{of}0.weight"] + known[f"{of}0.bias"], 0)
    return hidden, hidden @ known[f"{of}1.weight"] + known[f"{of}1.bias"]


def backward(known: Arrays, of: str, x: Array, hidden: Array, g: Array) -> Arrays:
    inner = (g @ known[f"{of}1.weight"].T) * (hidden > 0)
    return {
        f"{of}0.weight": x.T @ inner, f"{of}0.bias": inner.sum(0, keepdims=True),
        f"{of}1.weight": hidden.T @ g, f"{of}1.bias": g.sum(0, keepdims=True)}  # fmt: skip


def test_rnd_s_gradient_steps_are_those_of_its_formulas():
    """Burda et al. 2019, section 2.2, as a DQN's reward ``r + β e(s') / ē``."""
    agent = RND(INFO, [7], RNDConfig(**SHARED, features=4, bonus=0.5), CPU)
    networks = {"o": agent.online, "t": agent.target, "p": agent.predictor, "r": agent.random}
    before, batches, after = learned(agent, networks)
    own, adam, total = dict(before), Adam(RATE), 0.0
    for number, batch in enumerate(batches, 1):
        goes_on = 1 - batch["terminated"]
        known, predicted = outputs(own, "p", batch["next_obs"])
        off = predicted - outputs(own, "r", batch["next_obs"])[1]
        error = (off**2).mean(1) * goes_on
        total += error.mean()
        reward = batch["reward"] + 0.5 * error / (total / number)
        target = reward + 0.9 * goes_on * outputs(own, "t", batch["next_obs"])[1].max(1)
        hidden, q = outputs(own, "o", batch["obs"])
        taken = np.eye(3)[batch["action"].astype(int)]
        g = np.clip((q * taken).sum(1) - target, -1, 1)[:, None] * taken / BATCH
        gradients = backward(own, "o", batch["obs"], hidden, g)
        g = 2 * off / off.shape[1] * goes_on[:, None] / BATCH
        adam.step(own, gradients | backward(own, "p", batch["next_obs"], known, g))
    check(after, own, before, {"o", "p"})


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


def spread(rho: Array) -> Array:
    return np.log1p(np.exp(rho))


def drawn(known: Arrays, layer: str, x: Array, noise: Array) -> tuple[Array, Array]:
    """A draw of a layer's units, and their standard deviations."""
    var = x**2 @ spread(known[f"{layer}.rho"]) ** 2 + spread(known[f"{layer}.bias_rho"]) ** 2
    return x @ known[f"{layer}.mean"] + known[f"{layer}.bias_mean"] + np.sqrt(var) * noise, var**0.5


def of_layer(known, layer, x, noise, std, g):
    """Gradients of a layer, the entropy's too, and of its input."""
    of_var = g * noise / (2 * std)
    rho, bias_rho = known[f"{layer}.rho"], known[f"{layer}.bias_rho"]
    total, by = of_var.sum(0, keepdims=True), spread(bias_rho)
    found = {
        f"{layer}.mean": x.T @ g, f"{layer}.bias_mean": g.sum(0, keepdims=True),
        f"{layer}.rho": x.T**2 @ of_var * 2 * spread(rho) - 1 / spread(rho),
        f"{layer}.bias_rho": total * 2 * by - 1 / by}  # fmt: skip
    for name in (f"{layer}.rho", f"{layer}.bias_rho"):
        found[name] = found[name] / (1 + np.exp(-known[name]))
    return found, g @ known[f"{layer}.mean"].T + 2 * x * (of_var @ spread(rho).T ** 2)


def test_vdqn_s_gradient_steps_are_those_of_its_formulas():
    """Tang & Agrawal 2018, Algorithm 1: ``Σ_b (d − Q_θ)² / 2σ² − Σ_j log σ_j``, θ ~ N(μ, σ_j²)."""
    agent = VDQN(INFO, [7], VDQNConfig(**SHARED, likelihood_std=0.3, posterior_std=0.2), CPU)
    before, batches, after = learned(agent, {"o": agent.online, "t": agent.target})
    own, adam = dict(before), Adam(RATE)
    for batch in batches:
        noise = np.split(batch["noise"], [5], 1)
        others = np.split(batch["target_noise"], [5], 1)
        later = np.maximum(drawn(own, "t0", batch["next_obs"], others[0])[0], 0)
        following = drawn(own, "t1", later, others[1])[0].max(1)
        target = batch["reward"] + 0.9 * (1 - batch["terminated"]) * following
        inner, first = drawn(own, "o0", batch["obs"], noise[0])
        hidden = np.maximum(inner, 0)
        q, second = drawn(own, "o1", hidden, noise[1])
        taken = np.eye(3)[batch["action"].astype(int)]
        g = ((q * taken).sum(1) - target)[:, None] * taken / 0.3**2
        gradients, below = of_layer(own, "o1", hidden, noise[1], second, g)
        of_first, _ = of_layer(own, "o0", batch["obs"], noise[0], first, below * (inner > 0))
        adam.step(own, gradients | of_first)
    check(after, own, before, {"o"})
