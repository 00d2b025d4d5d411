"""QUAM-DQN by native steps: learning is DQN's, and a search of one action moves its own weights.

Transitions of other actions have no part in it, and are left out of its products, where eager
multiplies them by zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_dqn.native import layers
from uqbench_dqn.native.agents import CHUNK, Arrays, Steps, flat, replace, why_not, zeros
from uqbench_dqn.native.layers import step_of
from uqbench_dqn.native.products import Z_STEP, whole
from uqbench_dqn.native.steps import best_of, huber_loss, outputs_themselves
from uqbench_dqn.native.vectors import WIDTH, fma, load, multiply, splat, store, total

from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compile_for, compiled_once
from uqbench_quam.agents.quam_dqn import ADAM_EPSILON, BETAS

PACKAGES: dict[str, Any] = {"package": "uqbench_quam", "uses": ["uqbench_dqn"]}


@compiled
def dot(x: Any, i: Any, y: Any, j: Any, width: Any) -> Any:
    """The product of two rows, in whole vectors from ``i`` and ``j`` on."""
    summed = splat(np.float32(0))
    for k in range(0, width, WIDTH):
        summed = fma(load(x, i + k), load(y, j + k), summed)
    return total(summed)


@compiled_once(**PACKAGES)
def bellman_targets(slots: Any, ring: Any, actions: Any, discount: Any, out: Any, y: Any) -> None:
    """``r + γ max_a Q⁻(s', a)`` of the transitions ``slots``, from the target network's outputs."""
    (_, reward, terminated, valid), step = ring, step_of(actions)
    for s in range(slots.size):
        i = slots[np.uintp(s)]
        continues = np.float32(0) if terminated[np.uintp(i)] else discount
        best = best_of(out, s * step, valid, i, actions)
        y[np.uintp(s)] = reward[np.uintp(i)] + continues * out[np.uintp(s * step + best)]


@compiled
def losses_of(
    taken: Any, action: Any, evidence: Any, targets: Any, w: Any, at: Any, width: Any, errors: Any
) -> Any:
    """Temporal-difference errors of an action's own transitions; the sum of their squares."""
    summed = np.float32(0)
    for s in range(targets.size):
        if taken[np.uintp(s)] == action:
            error = dot(evidence, s * width, w, at, width) - targets[np.uintp(s)]
            errors[np.uintp(s)] = error
            summed += error * error
    return summed


@compiled_once(**PACKAGES)
def searches(
    rows: Any, actions: Any, width: Any, taken: Any, evidence: Any, targets: Any, weights: Any,
    features: Any, numbers: Any, slack: Any, epsilon: Any, errors: Any, work: Any, values: Any,
    bonus: Any,
) -> None:  # fmt: skip
    """Values and bonuses ``[rows, A]``, as :func:`uqbench_quam.agents.quam_dqn.bonuses` has them.

    ``numbers`` are those of each step: the penalty ``2 c / B``, and Adam's rate and root scale.
    ``work`` has the moved weights, their moments and the gradient, a row each.
    """
    penalties, rates, roots = numbers
    size, mean_at, square_at, g_at = np.float32(targets.size), width, 2 * width, 3 * width
    first, second = np.float32(BETAS[0]), np.float32(BETAS[1])
    for a in range(actions):
        least = losses_of(taken, a, evidence, targets, weights, a * width, width, errors) / size
        for m in range(rows):
            reference = dot(features, m * width, weights, a * width, width)
            best = np.float32(0)
            for k in range(0, width, WIDTH):
                store(work, k, load(weights, a * width + k))
                store(work, mean_at + k, splat(np.float32(0)))
                store(work, square_at + k, splat(np.float32(0)))
            losses_of(taken, a, evidence, targets, work, 0, width, errors)
            for step in range(penalties.size):
                for k in range(0, width, WIDTH):
                    store(
                        work,
                        g_at + k,
                        multiply(splat(np.float32(-1)), load(features, m * width + k)),
                    )
                for s in range(targets.size):
                    if taken[np.uintp(s)] == a:
                        scale = splat(penalties[np.uintp(step)] * errors[np.uintp(s)])
                        for k in range(0, width, WIDTH):
                            row = load(evidence, s * width + k)
                            store(work, g_at + k, fma(scale, row, load(work, g_at + k)))
                rate, root = rates[np.uintp(step)], roots[np.uintp(step)]
                for k in range(width):
                    g = work[np.uintp(g_at + k)]
                    mean = work[np.uintp(mean_at + k)] * first + (np.float32(1) - first) * g
                    square = work[np.uintp(square_at + k)] * second
                    square += (np.float32(1) - second) * (g * g)
                    work[np.uintp(mean_at + k)], work[np.uintp(square_at + k)] = mean, square
                    work[np.uintp(k)] -= rate * mean / (np.sqrt(square * root) + epsilon)
                loss = losses_of(taken, a, evidence, targets, work, 0, width, errors) / size
                if loss <= least + slack:
                    gain = dot(features, m * width, work, 0, width) - reference
                    if gain > best or gain != gain:
                        best = gain
            values[np.uintp(m * actions + a)] = reference
            bonus[np.uintp(m * actions + a)] = best


class QuamSteps(Steps):
    """The native methods of QUAM-DQN."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent, huber_loss, outputs_themselves, (agent.discount, agent.kappa))
        config, (_, _, hidden, actions, _) = agent.config, self.sizes
        size, steps = config.search_batch, range(config.search_steps)
        self._width = width = whole(hidden + 1, WIDTH)
        self._rows, self._found, self._targets = (
            zeros(size, width),
            zeros(CHUNK, width),
            zeros(size),
        )
        self._last, self._errors, self._work = zeros(actions, width), zeros(size), zeros(4, width)
        numbers = (
            [2 * config.penalty * config.growth ** (k // config.period) / size for k in steps],
            [config.search_rate / (1 - BETAS[0] ** (k + 1)) for k in steps],
            [1 / (1 - BETAS[1] ** (k + 1)) for k in steps],
        )
        self._numbers = tuple(np.array(each, np.float32) for each in numbers)
        slots, out = np.zeros(size, np.int64), zeros(actions)
        compile_for(bellman_targets, self._target(slots))
        compile_for(searches, self._search(1, slots, out, zeros(actions)))

    def _target(self, slots: NDArray[np.int64]) -> Arrays:
        discount = np.float32(self.agent.discount)
        return slots, self.fields, self.sizes[3], discount, self.acting[2], self._targets

    def _search(self, rows: int, taken: Any, values: Any, bonus: Any) -> Arrays:
        numbers = self._numbers, np.float32(self.agent.config.slack), np.float32(ADAM_EPSILON)
        given = self._rows, self._targets, self._last, self._found
        sizes = rows, self.sizes[3], self._width
        return *sizes, taken, *given, *numbers, self._errors, self._work, values, bonus

    def _features(self, words: Any, slots: Any, weights: Arrays, to: NDArray[np.float32]) -> None:
        """The last hidden layer of the observations ``slots``, with a one appended, in ``to``."""
        layers.evaluate(*self.evaluation(words, slots, weights, self.acting))
        hidden, made = self.sizes[2], to.reshape(-1, self._width)[: len(slots)]
        made[:, :hidden] = self.acting[1].reshape(-1, Z_STEP)[: len(slots), :hidden]
        made[:, hidden] = 1

    @torch.no_grad()
    def searched(self, obs: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """Q-values and bonuses of ``obs`` ``[L, M, *obs]``, ``[L, M, A]`` each."""
        agent, (_, _, hidden, actions, _) = self.agent, self.sizes
        stored = agent.clock.tensor.clamp(max=agent.replay.capacity)
        chosen = agent.replay.rows((drawn * stored).long()).numpy()
        values, bonus = torch.empty(2, *obs.shape[:2], actions).unbind()
        for lane, slots in enumerate(chosen):
            weights, part = self.online.weights[lane], self.acting
            layers.evaluate(*self.evaluation(self.following, slots, self.target[lane], part))
            bellman_targets(*self._target(slots))
            self._features(self.words, slots, weights, self._rows)
            last = self._last.reshape(actions, -1)
            last[:, :hidden] = weights[4].reshape(hidden, actions).T
            last[:, hidden] = weights[5]
            for first in range(0, obs.shape[1], CHUNK):
                few = slice(first, first + CHUNK)
                seen, to = obs[lane, few].contiguous(), (values[lane, few], bonus[lane, few])
                places = np.arange(len(seen))
                self._features(flat(seen, np.uint32), places, weights, self._found)
                searches(*self._search(len(seen), self.fields[0][slots], *map(flat, to)))
        return values, bonus


def native(agent: Any) -> str:
    """Let QUAM-DQN take native steps; the reason why not, or none."""
    if agent.config.search_batch > CHUNK:
        return f"a search has more than {CHUNK} transitions"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    return replace(agent, QuamSteps(agent), ("learn", "policy", "searched"))
