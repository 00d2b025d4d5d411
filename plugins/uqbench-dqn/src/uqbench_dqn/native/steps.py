"""The gradient steps of methods: their losses are their own.

``learn`` of a method takes one step of one run on the transitions ``slots`` ``[B]`` of the ring and
leaves the mean of the objective in ``loss``; ``values`` is what actions are chosen by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compiled_once
from uqbench_dqn.native.layers import (
    Layers,
    Rates,
    Scratch,
    Sizes,
    Weights,
    adam,
    better,
    evaluate,
    mean_of,
    output_gradients,
    step_of,
    trunk_gradients,
)
from uqbench_dqn.native.vectors import (
    WIDTH,
    add,
    load,
    rectified,
    splat,
    subtract,
    total,
)

PACKAGE = "uqbench_dqn"


@compiled
def best_of(values: Any, first: Any, valid: Any, slot: Any, actions: Any) -> int:
    """The valid action with the highest of the values from ``first`` on; ties go to the lowest."""
    best, most = 0, np.float32(-np.inf)
    for a in range(actions):
        value = values[np.uintp(first + a)]
        if valid[np.uintp(slot * actions + a)] and better(value, most):
            best, most = a, value
    return best


@compiled
def huber_losses(
    slots: Any, ring: Any, sizes: Any, out: Any, target: Any, settings: Any, g: Any
) -> float:
    """Gradients of DQN's loss with respect to the Q-values of the actions taken; its mean."""
    action, reward, terminated, valid = ring
    discount, kappa = settings
    actions, batch = sizes.actions, np.float32(sizes.batch)
    step, loss = step_of(actions), np.float32(0)
    for s in range(sizes.batch):
        i = slots[np.uintp(s)]
        continues = np.float32(0) if terminated[np.uintp(i)] else discount
        best = best_of(target, s * step, valid, i, actions)
        y = reward[np.uintp(i)] + continues * target[np.uintp(s * step + best)]
        error = out[np.uintp(s * step + action[np.uintp(i)])] - y
        size = abs(error)
        if size > kappa:
            loss += kappa * (size - np.float32(0.5) * kappa)
            g[np.uintp(s)] = (kappa if error > 0 else -kappa) / batch
        else:
            loss += np.float32(0.5) * error * error
            g[np.uintp(s)] = error / batch
    return loss / batch


@compiled_once(PACKAGE)
def learn_dqn(
    words: Any, next_words: Any, slots: Any, ring: Any, sizes: Any, online: Any, target: Any,
    gradients: Any, means: Any, squares: Any, layers: Any, target_layers: Any, scratch: Any,
    reach: Any, settings: Any, rates: Any, loss: Any,
) -> None:  # fmt: skip
    """One gradient step of DQN."""
    sizes, online, gradients = Sizes(*sizes), Weights(*online), Weights(*gradients)
    layers, target_layers, scratch = Layers(*layers), Layers(*target_layers), Scratch(*scratch)
    pack = scratch.pack
    evaluate(next_words, slots, sizes.batch, sizes, Weights(*target), target_layers, pack, reach)
    evaluate(words, slots, sizes.batch, sizes, online, layers, pack, reach)
    out = layers.out
    loss[0] = huber_losses(slots, ring, sizes, out, target_layers.out, settings, scratch.g)
    output_gradients(sizes, slots, ring[0], layers.z, online.last, gradients, scratch)
    trunk_gradients(words, slots, sizes, online.hidden, layers.h, gradients, scratch, reach)
    adam(online, gradients, means, squares, Rates(*rates))


@compiled_once(PACKAGE)
def values_dqn(
    words: Any, slots: Any, sizes: Any, online: Any, layers: Any, pack: Any, reach: Any,
    settings: Any, values: Any,
) -> None:  # fmt: skip
    """Q-values ``[rows, A]``, the outputs."""
    sizes, layers = Sizes(*sizes), Layers(*layers)
    evaluate(words, slots, slots.size, sizes, Weights(*online), layers, pack, reach)
    step = step_of(sizes.actions)
    for s in range(slots.size):
        for a in range(sizes.actions):
            values[np.uintp(s * sizes.actions + a)] = layers.out[np.uintp(s * step + a)]


@compiled
def quantile_means(out: Any, s: Any, sizes: Any, values: Any, first: Any) -> None:
    """Q-values of a row of quantiles, ``[A]`` from ``first`` on."""
    at = s * step_of(sizes.actions * sizes.each)
    for a in range(sizes.actions):
        values[np.uintp(first + a)] = mean_of(out, at + a * sizes.each, sizes.each)


@compiled
def quantile_targets(
    slots: Any, ring: Any, sizes: Any, target: Any, settings: Any, s: Any, row: Any
) -> float:
    """Targets ``[N]`` of a transition, in ``row``, infinite up to whole vectors; their mean."""
    _, reward, terminated, valid = ring
    actions, each, i = sizes.actions, sizes.each, slots[np.uintp(s)]
    quantile_means(target, s, sizes, row, 0)
    best = best_of(row, 0, valid, i, actions)
    at = s * step_of(actions * each) + best * each
    continues = np.float32(0) if terminated[np.uintp(i)] else settings[0]
    for j in range(each):
        row[np.uintp(j)] = reward[np.uintp(i)] + continues * target[np.uintp(at + j)]
    mean = mean_of(row, 0, each)
    for j in range(each, (each + WIDTH - 1) // WIDTH * WIDTH):
        row[np.uintp(j)] = np.float32(np.inf)  # above all, NaN aside
    return mean


@compiled
def quantile_loss(
    out: Any, at: Any, each: Any, row: Any, mean: Any, batch: Any, g: Any, to: Any
) -> float:
    """A transition's loss, κ = 0, and its gradients with respect to the N quantiles from ``at``.

    ``Σ_i τ_i (E z − q_i) + E max(q_i − z, 0)``, as :func:`uqbench_dqn.quantiles.quantile_loss`.
    """
    count, loss = np.float32(each), np.float32(0)
    for k in range(each):
        q = out[np.uintp(at + k)]
        level = (np.float32(k) + np.float32(0.5)) / count
        wide, one = splat(q), splat(np.float32(1))
        above, below = splat(np.float32(0)), splat(np.float32(0))
        for j in range(0, each, WIDTH):
            excess = subtract(wide, load(row, j))
            below = add(below, rectified(excess, excess))
            above = add(above, rectified(excess, one))
        loss += level * (mean - q) + total(below) / count
        g[np.uintp(to + k)] = (total(above) / count - level) / batch
    return loss


@compiled_once(PACKAGE)
def learn_qr_dqn(
    words: Any, next_words: Any, slots: Any, ring: Any, sizes: Any, online: Any, target: Any,
    gradients: Any, means: Any, squares: Any, layers: Any, target_layers: Any, scratch: Any,
    reach: Any, settings: Any, rates: Any, loss: Any,
) -> None:  # fmt: skip
    """One gradient step of QR-DQN."""
    sizes, online, gradients = Sizes(*sizes), Weights(*online), Weights(*gradients)
    layers, target_layers, scratch = Layers(*layers), Layers(*target_layers), Scratch(*scratch)
    pack = scratch.pack
    evaluate(next_words, slots, sizes.batch, sizes, Weights(*target), target_layers, pack, reach)
    evaluate(words, slots, sizes.batch, sizes, online, layers, pack, reach)
    batch, each, summed = np.float32(sizes.batch), sizes.each, np.float32(0)
    step, row, out = step_of(sizes.actions * each), scratch.row, layers.out
    for s in range(sizes.batch):
        mean = quantile_targets(slots, ring, sizes, target_layers.out, settings, s, row)
        at = s * step + ring[0][np.uintp(slots[np.uintp(s)])] * each
        summed += quantile_loss(out, at, each, row, mean, batch, scratch.g, s * each)
    loss[0] = summed / batch
    output_gradients(sizes, slots, ring[0], layers.z, online.last, gradients, scratch)
    trunk_gradients(words, slots, sizes, online.hidden, layers.h, gradients, scratch, reach)
    adam(online, gradients, means, squares, Rates(*rates))


@compiled_once(PACKAGE)
def values_qr_dqn(
    words: Any, slots: Any, sizes: Any, online: Any, layers: Any, pack: Any, reach: Any,
    settings: Any, values: Any,
) -> None:  # fmt: skip
    """Q-values ``[rows, A]``, the quantiles' means."""
    sizes, layers = Sizes(*sizes), Layers(*layers)
    evaluate(words, slots, slots.size, sizes, Weights(*online), layers, pack, reach)
    for s in range(slots.size):
        quantile_means(layers.out, s, sizes, values, s * sizes.actions)
