"""UA-DQN by native steps: its three networks one after another, on the same targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_dqn.native import layers
from uqbench_dqn.native.agents import (
    CHUNK,
    Arrays,
    Steps,
    Trained,
    flat,
    parameters_of,
    replace,
    rows_of,
    why_not,
    zeros,
)
from uqbench_dqn.native.layers import Sizes, step_of
from uqbench_dqn.native.steps import means_of_quantiles, quantile_losses
from uqbench_dqn.native.vectors import WIDTH, fma, load, splat, subtract, total

from uqbench.lanes import greedy
from uqbench.lanes.kernels.cpu import compile_for, compiled_once
from uqbench_uadqn.agent import SAMPLES, VARIANCE_FLOOR

PACKAGES: dict[str, Any] = {"package": "uqbench_uadqn", "uses": ["uqbench_dqn"]}


@compiled_once(**PACKAGES)
def anchored(weights: Any, initial: Any, factor: Any, gradients: Any, penalty: Any) -> None:
    """Add ``f ‖θ − θ⁰‖²`` to a penalty and its gradient to the others."""
    distance, double = np.float32(0), np.float32(2) * factor
    for n in range(len(weights)):
        w, w0, g = weights[n], initial[n], gradients[n]
        whole, wide, rest = w.size // WIDTH * WIDTH, splat(np.float32(0)), np.float32(0)
        for i in range(0, whole, WIDTH):
            d = subtract(load(w, i), load(w0, i))
            wide = fma(d, d, wide)
        for i in range(whole, w.size):
            rest += (w[i] - w0[i]) * (w[i] - w0[i])
        distance += total(wide) + rest
        for i in range(w.size):
            g[i] += double * (w[i] - w0[i])
    penalty[0] += factor * distance


@compiled_once(**PACKAGES)
def epistemic_variances(sizes: Any, rows: Any, one: Any, other: Any, values: Any) -> None:
    """``½ E_i (y_i(θ_A) − y_i(θ_B))²`` of rows of outputs, ``[rows, A]``."""
    sizes = Sizes(*sizes)
    each = sizes.each
    whole, step = each // WIDTH * WIDTH, step_of(sizes.actions * each)
    for s in range(rows):
        for a in range(sizes.actions):
            at, wide, rest = s * step + a * each, splat(np.float32(0)), np.float32(0)
            for j in range(at, at + whole, WIDTH):
                d = subtract(load(one, j), load(other, j))
                wide = fma(d, d, wide)
            for j in range(at + whole, at + each):
                rest += (one[j] - other[j]) * (one[j] - other[j])
            mean = (total(wide) + rest) / np.float32(each)
            values[s * sizes.actions + a] = np.float32(0.5) * mean


class UADQNSteps(Steps):
    """The native methods of UA-DQN."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent, quantile_losses, means_of_quantiles, [agent.discount])
        self.posterior = Trained(parameters_of(agent.posterior), agent.optimizer)
        agent.anchor.scale.copy_(prior_scale(self.posterior.weights).view_as(agent.anchor.scale))
        self._anchor: Any = None
        self._initial: list[Arrays] = []
        self._samples = tuple(np.zeros_like(self.acting[2]) for _ in range(SAMPLES))
        one = np.zeros(1, np.float32)
        weights = self.posterior.weights[0]
        compile_for(anchored, (weights, weights, one[0], self.gradients, one))
        compile_for(epistemic_variances, self._variances(1, zeros(agent.n_actions)))

    def _variances(self, rows: int, values: Any) -> Arrays:
        return self.sizes, rows, *self._samples, values

    def step(self, lane: int, slots: NDArray[np.int64], rates: Arrays) -> None:
        """A step of the main network, whose target network gives all targets; then of the others.

        The objective is the sum of the three, and of the penalties.
        """
        super().step(lane, slots, rates)
        agent, mean = self.agent, np.zeros(1, np.float32)
        objective = flat(self.means[lane])
        stored, noise = int(agent.replay.stored), agent.config.noise_scale
        if self._anchor is not agent.anchor.weights:  # a loaded state has others
            self._anchor, self._initial = agent.anchor.weights, rows_of(agent.anchor.weights)
        for row in range(lane * SAMPLES, (lane + 1) * SAMPLES):
            weights = self.posterior.weights[row]
            scale = agent.anchor.scale.view(-1)[row].item()
            layers.evaluate(*self.evaluation(self.words, slots, weights, self.own))
            quantile_losses(*self.losses(slots, mean))
            layers.all_gradients(*self.descent(slots, weights))
            factor = np.float32(noise**2 / (scale**2 * stored))
            anchored(weights, self._initial[row], factor, self.gradients, mean)
            layers.adam(*self.adam(self.posterior, row, rates))
            objective += mean

    @torch.no_grad()
    def choose_action(
        self, obs: Tensor, noise: Tensor, valid: Tensor | None, random: Tensor | None = None
    ) -> Tensor:
        """Training actions, as :meth:`uqbench_uadqn.agent.UADQN.choose_action`."""
        agent, means = self.agent, self.values(obs)
        variance = torch.empty_like(means)
        for lane, first in np.ndindex(len(obs), -(-obs.shape[1] // CHUNK)):
            rows = slice(first * CHUNK, (first + 1) * CHUNK)
            few, to = obs[lane, rows], flat(variance[lane, rows])
            for sample, out in enumerate(self._samples):
                weights = self.posterior.weights[lane * SAMPLES + sample]
                out[:] = self.evaluated(few, weights)
            epistemic_variances(*self._variances(len(few), to))
        action: Tensor = agent.thompson.choose(
            means,
            agent.config.epistemic_weight * (variance + VARIANCE_FLOOR).sqrt(),
            noise,
            valid,
        )
        if random is not None:
            action = agent.exploration.explore(action, random, valid)
        agent._non_greedy.add(action != greedy(means, valid))
        return action


def prior_scale(weights: Sequence[Arrays]) -> Tensor:
    """As :func:`uqbench_uadqn.anchor.prior_scale`, of flat weights by row; in float64."""
    each = [np.mean([np.std(w.astype(np.float64), ddof=1) for w in row]) for row in weights]
    return torch.tensor(each, dtype=torch.float32)


def native(agent: Any) -> str:
    """Let UA-DQN take native steps; the reason why not, or none."""
    config = agent.config
    if config.kappa or config.risk is not None or config.aleatoric_weight:
        return "κ is not 0, or aversion to risk has a part in its actions"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    return replace(agent, UADQNSteps(agent))
