"""The methods' losses, and what they choose actions by.

A loss reads the outputs of the transitions ``slots`` ``[B]`` of a ring, ``out`` of the network that
learns and ``target`` of the other one in the next observations. It leaves the gradients with
respect to the outputs of the actions taken in ``g`` ``[B, N]``, and the mean in ``loss``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compiled_once
from uqbench_dqn.native.layers import PACKAGE, Sizes, better, mean_of, step_of
from uqbench_dqn.native.vectors import (
    WIDTH,
    add,
    exponential,
    fma,
    greatest,
    highest,
    load,
    multiply,
    rectified,
    splat,
    store,
    subtract,
    total,
)


@compiled
def best_of(values: Any, first: Any, valid: Any, slot: Any, actions: Any) -> int:
    """The valid action with the highest of the values from ``first`` on; ties go to the lowest."""
    best, most = 0, np.float32(-np.inf)
    for a in range(actions):
        value = values[np.uintp(first + a)]
        if valid[np.uintp(slot * actions + a)] and better(value, most):
            best, most = a, value
    return best


@compiled_once(PACKAGE)
def huber_loss(
    slots: Any, ring: Any, sizes: Any, out: Any, target: Any, settings: Any, _row: Any, g: Any,
    mean: Any,
) -> None:  # fmt: skip
    """Huber loss of the temporal-difference error, of :class:`uqbench_dqn.dqn.DQN`."""
    sizes, (action, reward, terminated, valid), (discount, kappa) = Sizes(*sizes), ring, settings
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
    mean[0] = loss / batch


@compiled_once(PACKAGE)
def outputs_themselves(
    sizes: Any, rows: Any, out: Any, _settings: Any, _row: Any, values: Any
) -> None:
    """Q-values ``[rows, A]`` of a network that gives one number for each action."""
    sizes = Sizes(*sizes)
    step = step_of(sizes.actions)
    for s in range(rows):
        for a in range(sizes.actions):
            values[np.uintp(s * sizes.actions + a)] = out[np.uintp(s * step + a)]


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
    mean: float = mean_of(row, 0, each)
    for j in range(each, (each + WIDTH - 1) // WIDTH * WIDTH):
        row[np.uintp(j)] = np.float32(np.inf)  # above all, NaN aside
    return mean


@compiled
def quantile_loss(
    out: Any, at: Any, each: Any, row: Any, mean: Any, batch: Any, g: Any, to: Any
) -> Any:
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
def quantile_losses(
    slots: Any, ring: Any, sizes: Any, out: Any, target: Any, settings: Any, row: Any, g: Any,
    mean: Any,
) -> None:  # fmt: skip
    """Quantile regression loss, κ = 0, of :class:`uqbench_dqn.qr_dqn.QRDQN`."""
    sizes = Sizes(*sizes)
    batch, each, summed = np.float32(sizes.batch), sizes.each, np.float32(0)
    step = step_of(sizes.actions * each)
    for s in range(sizes.batch):
        middle = quantile_targets(slots, ring, sizes, target, settings, s, row)
        at = s * step + ring[0][np.uintp(slots[np.uintp(s)])] * each
        summed += quantile_loss(out, at, each, row, middle, batch, g, s * each)
    mean[0] = summed / batch


@compiled_once(PACKAGE)
def means_of_quantiles(
    sizes: Any, rows: Any, out: Any, _settings: Any, _row: Any, values: Any
) -> None:
    """Q-values ``[rows, A]``, the quantiles' means."""
    sizes = Sizes(*sizes)
    for s in range(rows):
        quantile_means(out, s, sizes, values, s * sizes.actions)


@compiled
def softmax(out: Any, at: Any, each: Any, p: Any, to: Any) -> tuple[float, float]:
    """Probabilities of N logits, in whole vectors from ``p[to]`` on; the greatest and the sum."""
    wide = (each + WIDTH - 1) // WIDTH * WIDTH
    for j in range(each):
        p[np.uintp(to + j)] = out[np.uintp(at + j)]
    for j in range(each, wide):
        p[np.uintp(to + j)] = np.float32(-1e30)
    most = load(p, to)
    for j in range(WIDTH, wide, WIDTH):
        most = greatest(load(p, to + j), most)
    top, summed = highest(most), splat(np.float32(0))
    for j in range(to, to + wide, WIDTH):
        x = exponential(subtract(load(p, j), splat(top)))
        store(p, j, x)
        summed = add(summed, x)
    whole = total(summed)
    share = splat(np.float32(1) / whole)
    for j in range(to, to + wide, WIDTH):
        store(p, j, multiply(load(p, j), share))
    return top, whole


@compiled
def categorical_means(
    out: Any, s: Any, sizes: Any, support: Any, row: Any, values: Any, first: Any
) -> None:
    """Q-values of a row of logits, ``[A]`` from ``first`` on; ``row`` has all probabilities."""
    at, wide = s * step_of(sizes.actions * sizes.each), support.size
    for a in range(sizes.actions):
        softmax(out, at + a * sizes.each, sizes.each, row, a * wide)
        mean = splat(np.float32(0))
        for j in range(0, wide, WIDTH):
            mean = fma(load(support, j), load(row, a * wide + j), mean)
        values[np.uintp(first + a)] = total(mean)


@compiled_once(PACKAGE)
def means_of_atoms(sizes: Any, rows: Any, out: Any, settings: Any, row: Any, values: Any) -> None:
    """Q-values ``[rows, A]`` of logits of distributions on a support."""
    sizes = Sizes(*sizes)
    for s in range(rows):
        categorical_means(out, s, sizes, settings[1], row, values, s * sizes.actions)


@compiled
def project(
    p: Any, at: Any, reward: Any, continues: Any, each: Any, support: Any, m: Any, to: Any
) -> None:
    """Masses of ``r + γ z`` on the support, from ``m[to]`` on (Bellemare et al. 2017, eq. 7)."""
    low, top = support[0], np.float32(each - 1)
    scale = top / (support[np.uintp(each - 1)] - low)
    for j in range(each):
        m[np.uintp(to + j)] = np.float32(0)
    for j in range(each):
        position = (reward + continues * support[np.uintp(j)] - low) * scale
        position = min(max(position, np.float32(0)), top)
        below = min(int(position), each - 2)
        above = (position - np.float32(below)) * p[np.uintp(at + j)]
        m[np.uintp(to + below)] += p[np.uintp(at + j)] - above
        m[np.uintp(to + below + 1)] += above


@compiled
def cross_entropy(
    s: Any, slots: Any, ring: Any, sizes: Any, out: Any, discount: Any, support: Any, row: Any,
    p: Any, g: Any,
) -> Any:  # fmt: skip
    """A transition's cross-entropy with its projected target, of probabilities from ``row[p]`` on.

    Its gradients with respect to the N logits go to ``g``.
    """
    (action, reward, terminated, _), each = ring, sizes.each
    i, masses = slots[np.uintp(s)], sizes.actions * support.size
    continues = np.float32(0) if terminated[np.uintp(i)] else discount
    project(row, p, reward[np.uintp(i)], continues, each, support, row, masses)
    at = s * step_of(sizes.actions * each) + action[np.uintp(i)] * each
    top, whole = softmax(out, at, each, row, 0)
    log = np.float32(np.log(np.float64(whole)))
    loss, mass = np.float32(0), np.float32(0)
    for j in range(each):
        m = row[np.uintp(masses + j)]
        loss -= m * (out[np.uintp(at + j)] - top - log)
        mass += m
    for j in range(each):
        m = row[np.uintp(masses + j)]
        g[np.uintp(s * each + j)] = (row[np.uintp(j)] * mass - m) / np.float32(sizes.batch)
    return loss


@compiled_once(PACKAGE)
def cross_entropies(
    slots: Any, ring: Any, sizes: Any, out: Any, target: Any, settings: Any, row: Any, g: Any,
    mean: Any,
) -> None:  # fmt: skip
    """Cross-entropy with the projected target, of :class:`uqbench_dqn.c51.C51`."""
    sizes, (discount, support) = Sizes(*sizes), settings
    actions, wide, summed = sizes.actions, support.size, np.float32(0)
    values = (actions + 1) * wide
    for s in range(sizes.batch):
        categorical_means(target, s, sizes, support, row, row, values)
        p = best_of(row, values, ring[3], slots[np.uintp(s)], actions) * wide
        summed += cross_entropy(s, slots, ring, sizes, out, discount, support, row, p, g)
    mean[0] = summed / np.float32(sizes.batch)
