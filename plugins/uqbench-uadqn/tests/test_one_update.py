"""UA-DQN's gradient steps against NumPy: gradients of three networks by hand, and Adam's rule."""

from typing import Any

import numpy as np
import pytest
import torch
from by_hand import Adam, Arrays, minibatches
from gymnasium import spaces
from numpy.typing import NDArray
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.config import UADQNConfig

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import transitions

ACTIONS, QUANTILES, BATCH, STEPS, RATE, NOISE = 3, 4, 6, 8, 1e-2, 0.7
EPSILON = 1e-3
"""Adam's: where κ = 0, gradients are sums of few values, and some cancel but for rounding."""
LEVELS = (np.arange(QUANTILES) + 0.5) / QUANTILES
PARTS = ("0.weight", "0.bias", "1.weight", "1.bias")
CONFIG: dict[str, Any] = {
    "hidden": (5,), "quantiles": QUANTILES, "batch_size": BATCH, "learning_starts": 30,
    "replay_capacity": 40, "learning_rate": RATE, "learn_period": 1, "target_sync_period": 50,
    "noise_scale": NOISE, "adam_epsilon": EPSILON,
}  # fmt: skip


def parameters(agent: UADQN) -> Arrays:
    """The main network ``m``, its target copy ``t``, the samples ``a`` and ``b`` of the weights."""
    found: Arrays = {}
    for prefix, network in {"m": agent.online, "t": agent.target, "ab": agent.posterior}.items():
        for part, of in zip(PARTS, network.parameters(), strict=True):
            own = of.detach()[0].double().numpy().copy()
            each = [own] if len(prefix) == 1 else [*own]
            found |= {f"{n}{part}": x for n, x in zip(prefix, each, strict=True)}
    return found


def outputs(known: Arrays, of: str, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hidden units, and quantiles ``[B, A, N]``."""
    hidden = np.maximum(x @ known[f"{of}0.weight"] + known[f"{of}0.bias"], 0)
    out = hidden @ known[f"{of}1.weight"] + known[f"{of}1.bias"]
    return hidden, out.reshape(len(x), ACTIONS, QUANTILES)


@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_ua_dqn_s_gradient_steps_are_those_of_its_formulas(kappa):
    """Clements et al. 2019: equation 1 for each network, and the anchors of Pearce et al. 2018.

    Targets are the main network's, of the action that is greedy by its mean. A sample's penalty is
    ``σ² / (s² n) ‖θ − θ⁰‖²``, s the mean over its tensors of their standard deviation.
    """
    info = EnvironmentInfo(spaces.Box(-1, 1, (4,)), ACTIONS, discount=0.9, total_steps=100)
    agent = UADQN(info, [7], UADQNConfig(**CONFIG, kappa=kappa), torch.device("cpu"))
    before = parameters(agent)
    stream, own, adam = transitions([7], (4,), ACTIONS, 60), dict(before), Adam(RATE, EPSILON)
    batches = minibatches(agent, stream, STEPS, lambda: {"stored": int(agent.replay.stored)})
    scales = {n: np.mean([before[f"{n}{p}"].std(ddof=1) for p in PARTS]) for n in "ab"}
    for batch in batches:
        _, later = outputs(own, "t", batch["next_obs"])
        best = later.mean(2).argmax(1)
        goes_on = 0.9 * (1 - batch["terminated"])[:, None]
        target = batch["reward"][:, None] + goes_on * later[np.arange(BATCH), best]
        taken = np.arange(BATCH), batch["action"].astype(int)
        gradients: Arrays = {}
        for of in "mab":
            hidden, predicted = outputs(own, of, batch["obs"])
            u = target[:, None] - predicted[taken][:, :, None]  # [B, N, samples]
            slope = np.clip(u, -kappa, kappa) if kappa else np.sign(u)
            pull = np.abs(LEVELS[:, None] - (u < 0)) * slope
            g = np.zeros_like(predicted)
            g[taken] = -pull.mean(2) / BATCH
            g = g.reshape(BATCH, -1)
            inner = g @ own[f"{of}1.weight"].T * (hidden > 0)
            each = batch["obs"].T @ inner, inner.sum(0), hidden.T @ g, g.sum(0)
            for part, gradient in zip(PARTS, each, strict=True):
                name = f"{of}{part}"
                gradients[name] = gradient.reshape(own[name].shape)
                if of != "m":
                    away = own[name] - before[name]
                    gradients[name] += 2 * NOISE**2 / (scales[of] ** 2 * batch["stored"]) * away
        adam.step(own, gradients)
    for name, value in parameters(agent).items():
        assert np.abs(value - own[name]).max() < 1e-5, name
        assert (np.abs(value - before[name]).max() > 0) == (name[0] != "t"), name
