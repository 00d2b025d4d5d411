"""An epinet by native steps: the base network is DQN's, and what sees an index fits one vector.

The learned part's first layer is a sum of three: of a state's set pixels and features, made once a
state, of an index, made once an index, and of the bias. Its last layer and an index make a layer of
one number an action. So a pair of a state and an index costs no more than the layer between these.
Prior networks are evaluated together, each a place of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_dqn.native import layers, planes
from uqbench_dqn.native.agents import (
    CHUNK,
    Arrays,
    Steps,
    Trained,
    flat,
    replace,
    why_not,
    zeros,
)
from uqbench_dqn.native.layers import Layers, step_of
from uqbench_dqn.native.products import Z_STEP
from uqbench_dqn.native.steps import best_of, huber_loss, outputs_themselves
from uqbench_dqn.native.vectors import (
    WIDTH,
    add,
    fma,
    load,
    multiply,
    rectified,
    splat,
    store,
    total,
)

from uqbench.lanes import greedy
from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compile_for, compiled_once

PACKAGES: dict[str, Any] = {"package": "uqbench_posteriors", "uses": ["uqbench_dqn"]}


class Numbers(NamedTuple):
    """Sizes of an epinet: D of an index, and units of the hidden layers."""

    pixels: int
    features: int
    size: int
    actions: int
    first: int
    second: int
    prior_first: int
    prior_second: int


class Pairs(NamedTuple):
    """Units and values of states with indices, in rows of 16.

    Attributes:
        first: units of the first hidden layer, ``[M · S, 16]``.
        second: of the second one.
        out: Q-values.
        shift: an index's part of the first layer, ``[S, 16]``.
        last: an index's last layer, ``[S, A, 16]``.
        ends: its bias, ``[S, 16]``.
        row: of a state, scratch.
    """

    first: Any
    second: Any
    out: Any
    shift: Any
    last: Any
    ends: Any
    row: Any


@compiled
def dense(units: Any, count: Any, bias: Any, w: Any, start: Any) -> Any:
    """``w[start] + Σ_k units_k w[bias + k]`` of rows of 16, from ``w[bias]`` on."""
    made = load(w, start * WIDTH)
    for k in range(count):
        made = fma(splat(units[np.uintp(k)]), load(w, (bias + k) * WIDTH), made)
    return made


@compiled
def prior_values(found: Any, count: Any, n: Any, priors: Any, row: Any) -> Any:
    """The prior networks' values of a state, a place each: ``[A, 16]`` of ``row``; their first."""
    first, second, last = priors
    hidden, made = n.prior_first * WIDTH, (n.prior_first + n.prior_second) * WIDTH
    for u in range(n.prior_first):
        x = load(first, (n.pixels * n.prior_first + u) * WIDTH)
        for k in range(count):
            x = add(x, load(first, (found[np.uintp(k)] * n.prior_first + u) * WIDTH))
        store(row, u * WIDTH, rectified(x, x))
    for u in range(n.prior_second):
        x = load(second, (n.prior_first * n.prior_second + u) * WIDTH)
        for k in range(n.prior_first):
            w = load(second, (k * n.prior_second + u) * WIDTH)
            x = fma(load(row, k * WIDTH), w, x)
        store(row, hidden + u * WIDTH, rectified(x, x))
    for a in range(n.actions):
        x = load(last, (n.prior_second * n.actions + a) * WIDTH)
        for k in range(n.prior_second):
            w = load(last, (k * n.actions + a) * WIDTH)
            x = fma(load(row, hidden + k * WIDTH), w, x)
        store(row, made + a * WIDTH, x)
    return made


@compiled_once(**PACKAGES)
def epinet_values(
    words: Any, slots: Any, numbers: Any, base: Any, learned: Any, priors: Any, scale: Any, z: Any,
    each: Any, apart: Any, found: Any, pairs: Any,
) -> None:  # fmt: skip
    """Q of observations and indices, ``[M, each, A]``, and what is between the layers.

    Indices ``z`` are the first ``each`` of all states, or, if ``apart``, one state's after
    another's.
    """
    n, base, at = Numbers(*numbers), Layers(*base), Pairs(*pairs)
    seen, second, last, ends = learned
    own = n.pixels + n.features
    for i in range(slots.size * each if apart else each):
        shift = splat(np.float32(0))
        for d in range(n.size):
            shift = fma(splat(z[i * WIDTH + d]), load(seen, (own + d) * WIDTH), shift)
        store(at.shift, i * WIDTH, shift)
        for a in range(n.actions):
            row, end = splat(np.float32(0)), np.float32(0)
            for d in range(a * n.size, (a + 1) * n.size):
                factor = z[i * WIDTH + d - a * n.size]
                row = fma(splat(factor), load(last, d * WIDTH), row)
                end += factor * ends[d]
            store(at.last, (i * n.actions + a) * WIDTH, row)
            at.ends[i * WIDTH + a] = end
    step, n_words = step_of(n.actions), n.pixels // planes.BYTES
    for s in range(slots.size):
        count = planes.set_pixels(words, slots[s] * n_words, n_words, found)
        x = load(seen, (own + n.size) * WIDTH)
        for k in range(count):
            x = add(x, load(seen, found[np.uintp(k)] * WIDTH))
        for j in range(n.features):
            feature = splat(base.z[np.uintp(s * Z_STEP + j)])
            x = fma(feature, load(seen, (n.pixels + j) * WIDTH), x)
        prior = prior_values(found, count, n, priors, at.row)
        for pair in range(s * each, (s + 1) * each):
            i = pair if apart else pair - s * each
            y = add(x, load(at.shift, i * WIDTH))
            store(at.first, pair * WIDTH, rectified(y, y))
            y = load(second, n.first * WIDTH)
            for k in range(n.first):
                y = fma(splat(at.first[np.uintp(pair * WIDTH + k)]), load(second, k * WIDTH), y)
            y = rectified(y, y)
            store(at.second, pair * WIDTH, y)
            for a in range(n.actions):
                value = total(multiply(y, load(at.last, (i * n.actions + a) * WIDTH)))
                fixed = total(multiply(load(z, i * WIDTH), load(at.row, prior + a * WIDTH)))
                mean = base.out[np.uintp(s * step + a)]
                at.out[pair * WIDTH + a] = mean + (value + at.ends[i * WIDTH + a]) + scale * fixed


@compiled_once(**PACKAGES)
def epinet_losses(
    words: Any, slots: Any, ring: Any, numbers: Any, features: Any, turned: Any, z: Any, each: Any,
    settings: Any, found: Any, pairs: Any, targets: Any, back: Any, gradients: Any, g: Any,
    mean: Any,
) -> None:  # fmt: skip
    """Huber losses over indices, of :class:`uqbench_posteriors.epinet.EpinetDQN`.

    Gradients of the learned part go to ``gradients``, of the base network's outputs to ``g``.
    """
    n, at, (action, reward, terminated, valid) = Numbers(*numbers), Pairs(*pairs), ring
    (discount, kappa), (shift, row, end), (seen, second, last, ends) = settings, back, gradients
    for array in (shift, row, end, seen, second, last, ends):
        for j in range(array.size):
            array[j] = np.float32(0)
    own, n_words = n.pixels + n.features, n.pixels // planes.BYTES
    share, loss = np.float32(slots.size * each), np.float32(0)
    for s in range(slots.size):
        slot, dx, summed = slots[s], splat(np.float32(0)), np.float32(0)
        a, continues = action[slot], np.float32(0) if terminated[slot] else discount
        for i in range(each):
            pair, own_last = (s * each + i) * WIDTH, (i * n.actions + a) * WIDTH
            best = best_of(targets, pair, valid, slot, n.actions)
            error = at.out[pair + a] - (reward[slot] + continues * targets[pair + best])
            size = abs(error)
            if size > kappa:
                loss += kappa * (size - np.float32(0.5) * kappa)
                d = (kappa if error > 0 else -kappa) / share
            else:
                loss += np.float32(0.5) * error * error
                d = error / share
            summed += d
            end[i * WIDTH + a] += d
            y = load(at.second, pair)
            store(row, own_last, fma(splat(d), y, load(row, own_last)))
            dy = rectified(y, multiply(splat(d), load(at.last, own_last)))
            store(at.row, 0, dy)
            below = splat(np.float32(0))
            for k in range(n.second):
                below = fma(splat(at.row[np.uintp(k)]), load(turned, k * WIDTH), below)
            for k in range(n.first):
                w = load(second, k * WIDTH)
                store(second, k * WIDTH, fma(splat(at.first[np.uintp(pair + k)]), dy, w))
            store(second, n.first * WIDTH, add(load(second, n.first * WIDTH), dy))
            below = rectified(load(at.first, pair), below)
            store(shift, i * WIDTH, add(load(shift, i * WIDTH), below))
            dx = add(dx, below)
        g[s] = summed
        count = planes.set_pixels(words, slot * n_words, n_words, found)
        for k in range(count):
            pixel = found[np.uintp(k)] * WIDTH
            store(seen, pixel, add(load(seen, pixel), dx))
        for j in range(n.features):
            w = load(seen, (n.pixels + j) * WIDTH)
            feature = splat(features[np.uintp(s * Z_STEP + j)])
            store(seen, (n.pixels + j) * WIDTH, fma(feature, dx, w))
        bias = (own + n.size) * WIDTH
        store(seen, bias, add(load(seen, bias), dx))
    for i in range(each):
        for d in range(n.size):
            factor, of_index = z[i * WIDTH + d], (own + d) * WIDTH
            w = load(seen, of_index)
            store(seen, of_index, fma(splat(factor), load(shift, i * WIDTH), w))
            for a in range(n.actions):
                k = a * n.size + d
                dy = load(row, (i * n.actions + a) * WIDTH)
                store(last, k * WIDTH, fma(splat(factor), dy, load(last, k * WIDTH)))
                ends[k] += factor * end[i * WIDTH + a]
    mean[0] = loss / share


class Padded:
    """A learned part's parameters, or gradients of them, in rows of 16.

    Args:
        shapes: of the parameters, a weight and a bias for each of three layers.
    """

    def __init__(self, shapes: Sequence[torch.Size]) -> None:
        (seen, first), (_, second), (_, outputs) = shapes[0], shapes[2], shapes[4]
        parts = [torch.zeros(n, WIDTH) for n in (seen + 1, first + 1, outputs)]
        ends = torch.zeros(1, outputs)
        self.turned = torch.zeros(second, WIDTH)
        self.arrays = (*(flat(part) for part in parts), flat(ends))
        self._parts = [
            *(parts[0][:-1, :first], parts[0][-1:, :first]),
            *(parts[1][:-1, :second], parts[1][-1:, :second], parts[2][:, :second].mT, ends),
        ]

    def read(self, parameters: Sequence[Tensor]) -> Arrays:
        """Copy parameters here; the arrays."""
        for part, parameter in zip(self._parts, parameters, strict=True):
            part.copy_(parameter)
        self.turned[:, : self._parts[2].shape[0]] = self._parts[2].mT
        return self.arrays

    def write(self, to: Sequence[Tensor]) -> None:
        """Copy from here."""
        for part, own in zip(self._parts, to, strict=True):
            own.copy_(part)


class EpinetSteps(Steps):
    """The native methods of DQN with an epinet."""

    def __init__(self, agent: Any) -> None:
        config, online = agent.config, agent.online
        numbers = agent.discount, config.kappa
        networks = online.base, agent.target.base
        super().__init__(agent, huber_loss, outputs_themselves, numbers, networks=networks)
        batch, _, width, actions, _ = self.sizes
        pixels, size = agent.replay.memory["obs"][0, 0, 0].numel(), config.index_size
        hidden = *config.epinet_hidden, *config.prior_hidden
        self._numbers = pixels, width, size, actions, *hidden
        self._own, self._target = (_parameters(net.learned) for net in (online, agent.target))
        self._learned = Trained(self._own, agent.optimizer)
        shapes = [parameter.shape[1:] for parameter in self._own]
        self._padded, self._gradients = Padded(shapes), Padded(shapes)
        self._descents = [torch.zeros(shape) for shape in shapes]
        self._flat_descents = tuple(flat(x) for x in self._descents)
        units = [pixels, *config.prior_hidden, actions]
        self._priors = [torch.zeros(n + 1, above, WIDTH) for n, above in pairwise(units)]
        indices = max(config.indices, config.samples, CHUNK)  # an actor's each, too
        rows = sum(config.prior_hidden) + actions
        by_index = zeros(indices, WIDTH), zeros(indices, actions, WIDTH), zeros(indices, WIDTH)
        self._back = tuple(np.zeros_like(x) for x in by_index)
        self._most = max(batch * config.indices, config.samples, CHUNK)
        self._pairs, self._next = (
            (*(zeros(self._most, WIDTH) for _ in range(3)), *by_index, zeros(rows, WIDTH))
            for _ in range(2)  # what is an index's is the last evaluated network's
        )
        slots, z = np.zeros(batch, np.int64), zeros(1, WIDTH)
        at = self._evaluation(self.words, slots, self.own, self._padded, z, 1, False, self._pairs)
        compile_for(epinet_values, at)
        compile_for(epinet_losses, self._descent(slots, z, 1, flat(self.means[0])))

    def _evaluation(
        self, words: Any, slots: Any, base: Arrays, learned: Padded, z: Any, each: int,
        apart: bool, pairs: Arrays,
    ) -> Arrays:  # fmt: skip
        priors, scale = tuple(map(flat, self._priors)), np.float32(self.agent.config.prior_scale)
        network = self._numbers, base, learned.arrays, priors, scale
        return words, slots, *network, z, each, apart, self.reach[3], pairs

    def _descent(self, slots: Any, z: Any, each: int, mean: Any) -> Arrays:
        network = self._numbers, self.own[1], flat(self._padded.turned), z, each, self.settings
        back = self._pairs, self._next[2], self._back, self._gradients.arrays, self.g, mean
        return self.words, slots, self.fields, *network, self.reach[3], *back

    def _read(self, lane: int, parameters: Sequence[Tensor]) -> None:
        """Pad a run's learned part, and its priors."""
        self._padded.read([parameter.detach()[lane] for parameter in parameters])
        for layer, to in zip(self.agent.online.prior.layers, self._priors, strict=True):
            own = cast(Any, layer)
            for part, tensor in ((to[:-1], own.weight), (to[-1:], own.bias)):
                part[..., : tensor.shape[1]] = tensor[lane].permute(1, 2, 0)

    @torch.no_grad()
    def learn(self, index: Tensor) -> Tensor:
        """One gradient step on the buffer's transitions ``index`` ``[L, B]``.

        Returns:
            The mean of the objective before the step, ``[L, 1]``.
        """
        self._z = self.agent._scale * self.agent._learning.at(self.agent.updates.draws)
        return super().learn(index)

    def step(self, lane: int, slots: NDArray[np.int64], rates: Arrays) -> None:
        """One gradient step of a run on the ring's rows ``slots`` ``[B]``."""
        weights, z, each = self.online.weights[lane], _rows(self._z[lane]), self._z.shape[1]
        for words, base, own, learned, pairs in (
            (self.following, self.other, self.target[lane], self._target, self._next),
            (self.words, self.own, weights, self._own, self._pairs),
        ):
            self._read(lane, learned)
            layers.evaluate(*self.evaluation(words, slots, own, base))
            at = self._evaluation(words, slots, base, self._padded, z, each, False, pairs)
            epinet_values(*at)
        epinet_losses(*self._descent(slots, z, each, flat(self.means[lane])))
        self._gradients.write(self._descents)
        layers.all_gradients(*self.descent(slots, weights))
        layers.adam(*self.adam(self.online, lane, rates))
        moments = self._learned.means[lane], self._learned.squares[lane]
        layers.adam(self._learned.weights[lane], self._flat_descents, *moments, rates)

    def of_indices(self, obs: Tensor, index: Tensor, *, apart: bool) -> Tensor:
        """Q ``[L, M, A]`` in ``[L, M, *obs]``, each with its own index, or the mean over all.

        Args:
            obs: observations.
            index: ``[L, M, D]`` if ``apart``, or ``[L, S, D]``.
            apart: which.
        """
        each, actions = 1 if apart else index.shape[1], self.agent.n_actions
        made, most = torch.empty(*obs.shape[:2], actions), min(CHUNK, self._most // each)
        for lane in range(len(obs)):
            self._read(lane, self._own)
            for first in range(0, obs.shape[1], most):
                part = slice(first, first + most)
                few, z = obs[lane, part].contiguous(), _rows(index[lane, part if apart else ...])
                slots, words = np.arange(len(few)), flat(few, np.uint32)
                self.evaluated(few, self.online.weights[lane])
                at = self.acting, self._padded, z, each, apart, self._pairs
                epinet_values(*self._evaluation(words, slots, *at))
                out = torch.from_numpy(self._pairs[2])[: len(few) * each * WIDTH]
                made[lane, part] = out.view(len(few), each, WIDTH)[..., :actions].mean(1)
        return made

    @torch.no_grad()
    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions, of the index that plays each actor's episode."""
        chosen = greedy(self.of_indices(obs, self.agent._index, apart=True), valid)
        actions: Tensor = self.agent.exploration.explore(chosen, noise, valid)
        return actions

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of the mean over the stated indices, ``[L, M]``."""
        return greedy(self.of_indices(obs, self.agent._stated, apart=False), valid)


def _parameters(network: Any) -> list[Tensor]:
    return [tensor for layer in network.layers for tensor in (layer.weight, layer.bias)]


def _rows(index: Tensor) -> NDArray[Any]:
    """Indices ``[S, D]`` in rows of 16, flat."""
    padded = torch.zeros(len(index), WIDTH)
    padded[:, : index.shape[1]] = index
    return flat(padded)


def native(agent: Any) -> str:
    """Let DQN with an epinet take native steps; the reason why not, or none."""
    config = agent.config
    if len(config.epinet_hidden) != 2 or len(config.prior_hidden) != 2:
        return "its parts have not two hidden layers each"
    if max(*config.epinet_hidden, config.index_size, agent.n_actions) > WIDTH:
        return f"its index, actions or hidden layers have more than {WIDTH} numbers"
    if config.noise_std > 0:
        return "targets are perturbed"
    if reason := why_not(agent.online.base, agent.replay, agent.optimizer):
        return reason
    return replace(agent, EpinetSteps(agent))
