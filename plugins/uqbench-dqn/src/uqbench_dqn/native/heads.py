"""Bootstrapped DQN by native steps: a convolution that heads share, each with its own layers.

A head learns from the transitions that its mask lets through: the others are left out of its
products, where eager multiplies them by zero. With randomized priors there is a second network
of the same shape, which nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.lanes import greedy
from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compile_for, compiled_once
from uqbench_dqn.bootstrapped_network import RandomizedPriors
from uqbench_dqn.native import layers, planes, products
from uqbench_dqn.native.agents import (
    CHUNK,
    FIELDS,
    Arrays,
    Trained,
    flat,
    replace,
    rows_of,
    why_not,
    zeros,
)
from uqbench_dqn.native.layers import (
    PACKAGE,
    Layers,
    Scratch,
    Sizes,
    Weights,
    hidden,
    mean_of,
    output,
    output_gradients,
    step_of,
)
from uqbench_dqn.native.products import H_STEP, TERMS, Z_STEP, whole
from uqbench_dqn.native.steps import best_of
from uqbench_dqn.native.vectors import WIDTH, add, load, store

PLAIN = np.float32(1), False
"""What all outputs but priors' are multiplied by, and whether less their mean over actions."""


@compiled_once(PACKAGE)
def convolved(words: Any, slots: Any, sizes: Any, trunk: Any, h: Any, reach: Any) -> None:
    """What the heads read of the observations ``slots``, ``H``."""
    planes.forward(words, slots, slots.size, trunk[0], trunk[1], Sizes(*sizes).inputs, h, reach)


@compiled
def head_outputs(rows: Any, sizes: Any, head: Any, at: Any, pack: Any) -> None:
    """A head's Q-values in the rows with the numbers ``rows``."""
    (w, bias, last, last_bias), count = head, rows.size
    hidden(count, sizes, w, bias, at.h, at.z, rows)
    output(count, sizes.hidden, sizes.actions, last, last_bias, at.z, at.out, pack, rows)


@compiled_once(PACKAGE)
def values_of_head(
    rows: Any, sizes: Any, head: Any, layers: Any, pack: Any, scale: Any, centered: Any,
    values: Any,
) -> None:  # fmt: skip
    """Add a head's Q-values to ``[M, A]`` in those rows of H that are its own, times ``scale``.

    If ``centered``, less their mean over a row's actions.
    """
    sizes, at = Sizes(*sizes), Layers(*layers)
    head_outputs(rows, sizes, head, at, pack)
    step = step_of(sizes.actions)
    for row in rows:
        middle = mean_of(at.out, row * step, sizes.actions) if centered else np.float32(0)
        for a in range(sizes.actions):
            values[row * sizes.actions + a] += scale * (at.out[row * step + a] - middle)


@compiled_once(PACKAGE)
def head_gradients(
    rows: Any, slots: Any, ring: Any, sizes: Any, heads: Any, head: Any, target: Any, layers: Any,
    following: Any, priors: Any, gradients: Any, scratch: Any, dh: Any, settings: Any, loss: Any,
) -> None:  # fmt: skip
    """Gradients of a head, and of H, to which its own are added.

    Its part of the objective is the Huber loss over K; the mean is over the whole minibatch.
    ``priors`` are what its outputs lack in the observations and in the next ones, ``[B, A]`` each.
    """
    (action, reward, terminated, valid), (discount, kappa) = ring, settings
    sizes, at, following = Sizes(*sizes), Layers(*layers), Layers(*following)
    back, to, count = Scratch(*scratch), Weights(*gradients), rows.size
    share = np.float32(sizes.batch * heads)
    actions, step = sizes.actions, step_of(sizes.actions)
    head_outputs(rows, sizes, target, following, back.pack)
    head_outputs(rows, sizes, head, at, back.pack)
    summed = np.float32(0)
    prior, next_prior = priors
    for row in rows:
        i, lacking = slots[row], row * actions
        for a in range(actions):
            following.out[row * step + a] += next_prior[lacking + a]
        continues = np.float32(0) if terminated[i] else discount
        best = best_of(following.out, row * step, valid, i, actions)
        predicted = at.out[row * step + action[i]] + prior[lacking + action[i]]
        error = predicted - (reward[i] + continues * following.out[row * step + best])
        size = abs(error)
        if size > kappa:
            summed += kappa * (size - np.float32(0.5) * kappa)
            back.g[row] = (kappa if error > 0 else -kappa) / share
        else:
            summed += np.float32(0.5) * error * error
            back.g[row] = error / share
    loss[0] += summed / share
    for j in range(back.dz.size):
        back.dz[j] = np.float32(0)
    output_gradients(sizes, slots, action, at.z, head[2], to, back, rows)
    batch, inputs, width = sizes.batch, sizes.inputs, sizes.hidden
    products.to_weights(at.h, batch, inputs, back.dz, width, to.hidden, back.pack)
    products.to_inputs(back.dz, count, head[0], inputs, width, back.dh, back.pack, rows)
    for row in rows:
        for j in range(row * H_STEP, row * H_STEP + inputs, WIDTH):
            store(dh, j, add(load(dh, j), load(back.dh, j)))


@compiled_once(PACKAGE)
def trunk_gradients(
    words: Any, slots: Any, sizes: Any, h: Any, dh: Any, gradients: Any, reach: Any
) -> None:
    """Gradients of the convolution, from those of H."""
    sizes, to = Sizes(*sizes), gradients
    planes.backward(words, slots, sizes.batch, sizes.inputs, h, dh, to[0], to[1], reach)


class HeadSteps:
    """The native methods of Bootstrapped DQN.

    Args:
        agent: whose heads have targets of their own.
    """

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        network, target = (getattr(net, "heads", net) for net in (agent.online, agent.target))
        ring, batch = agent.replay.memory, agent.config.batch_size
        actions, lanes = agent.n_actions, len(agent._loss)
        self.heads = agent.config.heads
        inputs, width = network.layers[0].weight.shape[-2:]
        self.sizes = (batch, inputs, width, actions, 1)
        layer = network.convolutions[0]
        self.reach = tuple(planes.reach(tuple(ring["obs"].shape[3:]), *layer.kernel_and_stride))
        self.words, self.following = (flat(ring[name], np.uint32) for name in ("obs", "next_obs"))
        fields = (flat(ring[name]) for name in FIELDS)
        self.fields = tuple(x.view(np.uint8) if x.dtype == bool else x for x in fields)
        numbers = agent.discount, agent.config.kappa
        self.settings = tuple(np.float32(x) for x in numbers)
        self.trunk, self.own = (Trained(part, agent.optimizer) for part in _parts(network))
        self.target_trunk, self.target = map(rows_of, _parts(target))
        self.networks: list[Arrays] = [(self.trunk.weights, self.own.weights, PLAIN)]
        if isinstance(agent.online, RandomizedPriors):
            centered = agent.config.prior_center == "actions"
            scaled = np.float32(agent.config.prior_scale), centered
            self.networks.append((*map(rows_of, _parts(agent.online.priors)), scaled))
        self.lacking = tuple(zeros(2, batch, actions).reshape(2, -1) for _ in range(self.heads))
        most, block = whole(max(batch, CHUNK)), step_of(actions)
        self.dh = zeros(most, H_STEP)
        self.at, self.next = (
            (zeros(most, H_STEP), zeros(most, Z_STEP), zeros(most, block)) for _ in range(2)
        )
        self.pack = zeros(most + TERMS, Z_STEP)
        turned = actions, width
        self.back = (
            *(zeros(most, H_STEP), zeros(whole(batch), Z_STEP), zeros(batch), self.pack),
            *(zeros(*turned), zeros(*turned)),
        )
        none = np.zeros(0, np.float32)
        few = tuple(np.zeros_like(x) for x in self.own.weights[0])
        self.gradients = none, none, *few
        self.trunk_gradients = tuple(np.zeros_like(x) for x in self.trunk.weights[0])
        self.all = np.arange(batch)
        self.means = torch.zeros(lanes, 1)
        mean, rates = flat(self.means[0]), (np.float32(0),) * 5
        for kernel, *arguments in (
            (convolved, *self._convolution(self.words, self.all, self.trunk.weights[0], self.at)),
            (values_of_head, *self._evaluation(self.all, self.own.weights[0], zeros(actions))),
            (head_gradients, *self._descent(self.all, self.all, 0, mean)),
            (trunk_gradients, *self._trunk(self.all)),
            (layers.adam, *_adam(self.own, 0, few, rates)),
            (layers.adam, *_adam(self.trunk, 0, self.trunk_gradients, rates)),
        ):
            compile_for(kernel, tuple(arguments))

    def _convolution(self, words: Any, slots: Any, trunk: Arrays, at: Arrays) -> Arrays:
        return words, slots, self.sizes, trunk, at[0], self.reach

    def _evaluation(self, rows: Any, head: Arrays, values: Any, scaled: Arrays = PLAIN) -> Arrays:
        return rows, self.sizes, head, self.at, self.pack, *scaled, values

    def _descent(self, rows: Any, slots: Any, row: int, mean: Any) -> Arrays:
        network = self.own.weights[row], self.target[row], self.at, self.next
        lacking = tuple(self.lacking[row % self.heads])
        return (
            *(rows, slots, self.fields, self.sizes, self.heads, *network, lacking),
            *(self.gradients, self.back, self.dh, self.settings, mean),
        )

    def _trunk(self, slots: Any) -> Arrays:
        return self.words, slots, self.sizes, self.at[0], self.dh, self.trunk_gradients, self.reach

    @torch.no_grad()
    def learn(self, index: Tensor) -> Tensor:
        """One gradient step on the buffer's transitions ``index`` ``[L, B]``.

        Returns:
            The mean of the objective before the step, ``[L, 1]``.
        """
        agent, optimizer = self.agent, self.agent.optimizer
        masks = None if agent.masks is None else agent.masks.gather(index)["mask"].numpy()
        rates = tuple(np.float32(x) for x in optimizer.rates())
        for lane, slots in enumerate(agent.replay.rows(index).numpy()):
            mean = flat(self.means[lane])
            mean[:], self.dh[:] = 0, 0
            of_head = [self.all] * self.heads
            if masks is not None:
                of_head = [mask.nonzero()[0] for mask in masks[lane].T]
            for network in self.networks[1:]:
                self._evaluate_priors(network, lane, slots, of_head)
            target, trunk = self.target_trunk[lane], self.trunk.weights[lane]
            convolved(*self._convolution(self.following, slots, target, self.next))
            convolved(*self._convolution(self.words, slots, trunk, self.at))
            for head, rows in enumerate(of_head):
                row = lane * self.heads + head
                head_gradients(*self._descent(rows, slots, row, mean))
                layers.adam(*_adam(self.own, row, self.gradients[2:], rates))
            trunk_gradients(*self._trunk(slots))
            layers.adam(*_adam(self.trunk, lane, self.trunk_gradients, rates))
        optimizer.count()
        return self.means

    def _evaluate_priors(
        self, network: Arrays, lane: int, slots: Any, of_head: Sequence[Any]
    ) -> None:
        """Leave what priors add to each head's outputs, in its rows of a minibatch."""
        trunks, priors, scaled = network
        for n, words in enumerate((self.words, self.following)):
            convolved(*self._convolution(words, slots, trunks[lane], self.at))
            for head, rows in enumerate(of_head):
                lacking, prior = self.lacking[head][n], priors[lane * self.heads + head]
                lacking[:] = 0
                values_of_head(*self._evaluation(rows, prior, lacking, scaled))

    def values(self, obs: Tensor, heads: Tensor | None = None) -> Tensor:
        """Q-values ``[L, M, A]`` of heads ``[L, M]``, or the mean of all, in ``[L, M, *obs]``."""
        made = torch.zeros(*obs.shape[:2], self.agent.n_actions)
        for lane, first in np.ndindex(len(obs), -(-obs.shape[1] // CHUNK)):
            part = slice(first * CHUNK, (first + 1) * CHUNK)
            few, to = obs[lane, part].contiguous(), flat(made[lane, part])
            slots = rows = np.arange(len(few))
            words = flat(few, np.uint32)
            for trunks, layers_of, scaled in self.networks:
                convolved(*self._convolution(words, slots, trunks[lane], self.at))
                for head in range(self.heads):
                    if heads is not None:
                        rows = (heads[lane, part] == head).numpy().nonzero()[0]
                    if len(rows):
                        own = layers_of[lane * self.heads + head]
                        values_of_head(*self._evaluation(rows, own, to, scaled))
        return made if heads is not None else made / self.heads

    @torch.no_grad()
    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions, of the head that plays each actor's episode."""
        chosen = greedy(self.values(obs, self.agent._head), valid)
        actions: Tensor = self.agent.exploration.explore(chosen, noise, valid)
        return actions

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of the heads' mean in each of ``[L, M]`` observations."""
        return greedy(self.values(obs), valid)


def _parts(network: Any) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of the convolution, and of the heads, in the order of the layers."""
    product = network.convolutions[0].product
    heads = [tensor for layer in network.layers for tensor in (layer.weight, layer.bias)]
    return [product.weight, product.bias], heads


def _adam(trained: Trained, row: int, gradients: Sequence[Any], rates: Arrays) -> Arrays:
    moments = trained.means[row], trained.squares[row]
    return (trained.weights[row], tuple(gradients), *moments, rates)


def native(agent: Any) -> str:
    """Let Bootstrapped DQN take native steps; the reason why not, or none."""
    config = agent.config
    if config.risk is not None or config.targets != "own":
        return "actions are chosen by a risk measure, or targets are not each head's own"
    if config.noise_std > 0:
        return "targets are perturbed"
    network = getattr(agent.online, "heads", agent.online)
    if reason := why_not(network, agent.replay, agent.optimizer):
        return reason
    return replace(agent, HeadSteps(agent))
