"""SENTINEL-K of images by native steps: a member is C51's network, with a minibatch of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_dqn.native import layers
from uqbench_dqn.native.agents import CHUNK, Arrays, Steps, flat, replace, why_not, zeros
from uqbench_dqn.native.layers import Sizes, step_of
from uqbench_dqn.native.products import whole
from uqbench_dqn.native.steps import best_of, cross_entropy, means_of_atoms, softmax

from uqbench.contract.risk import Expectation, additive
from uqbench.lanes.kernels.cpu import compile_for, compiled_once

PACKAGES: dict[str, Any] = {"package": "uqbench_sentinel", "uses": ["uqbench_dqn"]}


@compiled_once(**PACKAGES)
def member_losses(
    slots: Any, ring: Any, sizes: Any, out: Any, target: Any, settings: Any, row: Any, g: Any,
    mean: Any,
) -> None:  # fmt: skip
    """Cross-entropy of a member, of :class:`uqbench_sentinel.agent.Sentinel`.

    ``settings`` are γ, the support, the values ``[B, A]`` by which the next action is chosen, and
    which transitions are in the member's data set.
    """
    sizes, (discount, support, chooser, own) = Sizes(*sizes), settings
    actions, each, summed = sizes.actions, sizes.each, np.float32(0)
    for s in range(sizes.batch):
        if own[s]:
            best = best_of(chooser, s * actions, ring[3], slots[s], actions)
            softmax(target, s * step_of(actions * each) + best * each, each, row, 0)
            summed += cross_entropy(s, slots, ring, sizes, out, discount, support, row, 0, g)
        else:
            for j in range(s * each, (s + 1) * each):
                g[j] = np.float32(0)
    mean[0] = summed / np.float32(sizes.batch)


@compiled_once(**PACKAGES)
def composites(
    sizes: Any, rows: Any, outs: Any, support: Any, exponent: Any, row: Any, values: Any
) -> None:
    """Means of the members' means, ``[rows, A]``, with weights ``∝ exp(exponent KL(P_i ‖ P̂))``."""
    sizes, members, wide = Sizes(*sizes), len(outs), support.size
    each, step = sizes.each, step_of(sizes.actions * sizes.each)
    mix, logs, scores = members * wide, (members + 1) * wide, (members + 1) * wide + members
    for n in range(rows * sizes.actions):
        at = n // sizes.actions * step + n % sizes.actions * each
        for k in range(members):
            top, summed = softmax(outs[k], at, each, row, k * wide)
            row[logs + k] = top + np.float32(np.log(np.float64(summed)))
        for j in range(each):
            share = np.float32(0)
            for k in range(members):
                share += row[k * wide + j]
            row[mix + j] = np.float32(np.log(np.float64(share / np.float32(members))))
        for k in range(members):
            divergence = np.float32(0)
            for j in range(each):
                log = outs[k][at + j] - row[logs + k]
                divergence += row[k * wide + j] * (log - row[mix + j])
            row[scores + k] = exponent * divergence
        value, weights, most = 0.0, 0.0, row[scores]
        for k in range(members):
            most = max(most, row[scores + k])
        for k in range(members):
            mean = np.float32(0)
            for j in range(each):
                mean += row[k * wide + j] * support[j]
            weight = np.exp(np.float64(row[scores + k] - most))
            value += weight * mean
            weights += weight
        values[n] = np.float32(value / weights)


class SentinelSteps(Steps):
    """The native methods of SENTINEL-K."""

    def __init__(self, agent: Any) -> None:
        config, actions = agent.config, agent.n_actions
        self.members, batch, atoms = config.members, config.batch_size, config.atoms
        self._support = zeros(whole(atoms, 16))
        self._support[:atoms] = agent.support.numpy()
        self._chooser, self._own = zeros(batch, actions), np.zeros(batch, np.uint8)
        settings = agent.discount, self._support, self._chooser, self._own
        super().__init__(agent, member_losses, means_of_atoms, settings)
        self._mean_values = np.zeros_like(self._chooser)
        self._exponent = np.float32(config.ftrl_sign * config.ftrl_lambda)
        self._outs = tuple(np.zeros_like(self.acting[2]) for _ in range(self.members))
        self._mixed = zeros(self.members + 2, max(len(self._support), 2 * self.members))
        compile_for(composites, self._composition(1, zeros(actions)))

    def _composition(self, rows: int, values: Any) -> Arrays:
        return self.sizes, rows, self._outs, self._support, self._exponent, self._mixed, values

    @torch.no_grad()
    def learn(self, slots: Tensor) -> Tensor:
        """One gradient step of all members on the transitions ``slots`` ``[L, K, B]``.

        Returns:
            The means of the members' losses before the step, ``[L, K]``.
        """
        agent, optimizer = self.agent, self.agent.optimizer
        masks = agent.bootstrap.masks(slots.flatten(1)).unflatten(1, slots.shape[1:])
        own = agent._of_own(masks).flatten(0, 1).numpy()
        places = agent.replay.rows(slots.flatten(1)).view(len(own), -1).numpy()
        rates = tuple(np.float32(x) for x in optimizer.rates())
        for row in range(len(own)):
            self._own[:] = own[row]
            self.step(row, places[row], rates)
        optimizer.count()
        return self.means.view(-1, self.members)

    def step(self, row: int, slots: NDArray[np.int64], rates: Arrays) -> None:
        """A member's gradient step; all members' target networks choose the next action."""
        first, member = row // self.members * self.members, row % self.members
        self._chooser[:] = 0
        for n in range(1, self.members + 1):  # its own comes last, and is left
            target = self.target[first + (member + n) % self.members]
            layers.evaluate(*self.evaluation(self.following, slots, target, self.other))
            means_of_atoms(*self.valuation(len(slots), self.other[2], self._mean_values))
            self._chooser += self._mean_values
        self.update(row, slots, rates)

    def values(self, obs: Tensor, weights: Sequence[Arrays] = ()) -> Tensor:
        """As :meth:`uqbench_sentinel.agent.Sentinel.composite`, by the members' weights."""
        weights = weights or self.online.weights
        made = torch.empty(*obs.shape[:2], self.agent.n_actions)
        for lane, first in np.ndindex(len(obs), -(-obs.shape[1] // CHUNK)):
            rows = slice(first * CHUNK, (first + 1) * CHUNK)
            few = obs[lane, rows].contiguous()
            slots, words = np.arange(len(few)), flat(few, np.uint32)
            for member, out in enumerate(self._outs):
                own, at = weights[lane * self.members + member], (*self.acting[:2], out)
                layers.evaluate(*self.evaluation(words, slots, own, at))
            composites(*self._composition(len(few), flat(made[lane, rows])))
        return made


def native(agent: Any) -> str:
    """Let SENTINEL-K take native steps; the reason why not, or none."""
    config = agent.config
    if not config.channels:
        return "members have no convolution"
    if config.risk != additive(Expectation()) or config.ftrl_use != "probability":
        return "actions are not chosen by the members' means, weighted"
    if config.ftrl_kl != "member-to-mix" or config.minibatch != "per_member":
        return "members diverge from the other side, or share a minibatch"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    return replace(agent, SentinelSteps(agent))
