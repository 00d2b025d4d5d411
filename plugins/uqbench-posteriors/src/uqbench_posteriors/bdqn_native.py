"""Bayesian deep Q-networks by native steps: the last layer is a draw that no gradient changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_dqn.native import layers
from uqbench_dqn.native.agents import (
    CHUNK,
    METHODS,
    Arrays,
    Steps,
    flat,
    replace,
    why_not,
    zeros,
)
from uqbench_dqn.native.layers import Sizes, step_of
from uqbench_dqn.native.products import Z_STEP, whole
from uqbench_dqn.native.steps import best_of, outputs_themselves

from uqbench.lanes import greedy
from uqbench.lanes.kernels.cpu import compiled_once


@compiled_once("uqbench_posteriors", uses=["uqbench_dqn"])
def squared_loss(
    slots: Any, ring: Any, sizes: Any, out: Any, target: Any, settings: Any, _row: Any, g: Any,
    mean: Any,
) -> None:  # fmt: skip
    """Squared error toward double Q-learning's target, of :class:`uqbench_posteriors.bdqn.BDQN`.

    ``settings`` are γ, and the values ``[B, A]`` by which the next action is chosen.
    """
    sizes, (action, reward, terminated, valid), (discount, chooser) = Sizes(*sizes), ring, settings
    actions, batch = sizes.actions, np.float32(sizes.batch)
    step, loss = step_of(actions), np.float32(0)
    for s in range(sizes.batch):
        i = slots[np.uintp(s)]
        continues = np.float32(0) if terminated[np.uintp(i)] else discount
        best = best_of(chooser, s * step, valid, i, actions)
        y = reward[np.uintp(i)] + continues * target[np.uintp(s * step + best)]
        error = y - out[np.uintp(s * step + action[np.uintp(i)])]
        loss += error * error
        g[np.uintp(s)] = np.float32(-2) * error / batch
    mean[0] = loss / batch


class BDQNSteps(Steps):
    """The native methods of BDQN."""

    def __init__(self, agent: Any) -> None:
        batch, actions, width = agent.config.batch_size, agent.n_actions, agent.config.hidden[-1]
        self._chooser = zeros(whole(batch), step_of(actions))
        settings = agent.discount, self._chooser
        self._no_bias = zeros(actions)
        last = zeros(width, actions), self._no_bias
        super().__init__(agent, squared_loss, outputs_themselves, settings, last)

    def _with(self, weights: Arrays, last: Tensor) -> Arrays:
        """A network's weights with an output layer ``[A, D]``."""
        return *weights, flat(last.mT.contiguous()), self._no_bias

    def step(self, lane: int, slots: NDArray[np.int64], rates: Arrays) -> None:
        """One gradient step of a run on the ring's rows ``slots`` ``[B]``."""
        agent = self.agent
        learned = self._with(self.online.weights[lane], agent.drawn[lane])
        target = self._with(self.target[lane], agent.mean[lane])
        layers.evaluate(*self.evaluation(self.following, slots, learned, self.own))
        self._chooser[:] = self.own[2]
        layers.evaluate(*self.evaluation(self.following, slots, target, self.other))
        layers.evaluate(*self.evaluation(self.words, slots, learned, self.own))
        squared_loss(*self.losses(slots, flat(self.means[lane])))
        layers.all_gradients(*self.descent(slots, learned))
        layers.adam(*self.adam(self.online, lane, rates))

    def values_by(self, obs: Tensor, last: Tensor) -> Tensor:
        """Values ``[L, M, A]`` by output layers ``[L, A, D]``."""
        own = [self._with(weights, last[lane]) for lane, weights in enumerate(self.online.weights)]
        return self.values(obs, own)

    @torch.no_grad()
    def update_posterior(self) -> None:
        """As :meth:`uqbench_posteriors.bdqn.BDQN.update_posterior`, each action's rows alone."""
        agent, config, memory = self.agent, self.agent.config, self.agent.replay
        stored = min(int(agent.clock.tensor), memory.capacity)
        count = min(config.posterior_transitions, memory.capacity)
        place = torch.arange(min(count, stored))
        index = place * stored // count if stored > count else place
        lanes, actions, width = agent.mean.shape
        precision = torch.eye(width, dtype=torch.float64) / config.prior_var
        precision = precision.repeat(lanes, actions, 1, 1)
        weighted = precision.new_zeros(lanes, actions, width, 1)
        for lane, slots in enumerate(memory.rows(index.expand(lanes, -1)).numpy()):
            phi, y = self._examples(lane, slots)
            taken = self.fields[0][slots]
            for a in range(actions):
                rows, targets = (x[taken == a].double() for x in (phi, y))
                precision[lane, a] += rows.mT @ rows / config.noise_var
                weighted[lane, a] += rows.mT @ targets / config.noise_var
        agent.condition(precision.flatten(0, 1), weighted.flatten(0, 1))

    def _examples(self, lane: int, slots: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Features ``[M, D]`` and targets ``[M, 1]`` of a run's transitions ``slots`` ``[M]``."""
        agent = self.agent
        actions, width = agent.mean.shape[1:]
        _, reward, terminated, valid = self.fields
        learned = self._with(self.online.weights[lane], agent.drawn[lane])
        target = self._with(self.target[lane], agent.mean[lane])
        phi, y = torch.empty(len(slots), width), torch.empty(len(slots), 1)
        z, out = (
            torch.from_numpy(x).view(-1, step)
            for x, step in zip(self.acting[1:], (Z_STEP, step_of(actions)), strict=True)
        )
        for first in range(0, len(slots), CHUNK):
            part = slots[first : first + CHUNK]
            to, one = slice(first, first + len(part)), slice(len(part))
            layers.evaluate(*self.evaluation(self.following, part, learned, self.acting))
            usable = torch.from_numpy(valid.reshape(-1, actions)[part]).bool()
            best = greedy(out[None, one, :actions], usable[None])[0]
            layers.evaluate(*self.evaluation(self.following, part, target, self.acting))
            value = out[one].gather(1, best[:, None])
            continues = agent.discount * torch.from_numpy(terminated[part] == 0)
            y[to] = torch.from_numpy(reward[part])[:, None] + continues[:, None] * value
            layers.evaluate(*self.evaluation(self.words, part, learned, self.acting))
            phi[to] = z[one, :width]
        return phi, y

    @torch.no_grad()
    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions, as :meth:`uqbench_posteriors.bdqn.BDQN.choose_action`."""
        chosen = greedy(self.values_by(obs, self.agent.drawn), valid)
        actions: Tensor = self.agent.exploration.explore(chosen, noise, valid)
        return actions

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of the posterior's mean in each of ``[L, M]`` observations."""
        return greedy(self.values_by(obs, self.agent.mean), valid)


def native(agent: Any) -> str:
    """Let BDQN take native steps; the reason why not, or none."""
    if reason := why_not(agent.online, agent.replay, agent.optimizer, stacked=1):
        return reason
    return replace(agent, BDQNSteps(agent), (*METHODS, "update_posterior"))
