"""UBE-DQN by native steps: Q-learning's, Thompson sampling's network and the uncertainty head's."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from uqbench_dqn.native import products
from uqbench_dqn.native.agents import CHUNK, Arrays, Steps, flat, replace, rows_of, why_not, zeros
from uqbench_dqn.native.layers import (
    Layers,
    Scratch,
    Sizes,
    Weights,
    hidden,
    output,
    output_gradients,
    step_of,
)
from uqbench_dqn.native.products import (
    COLUMNS,
    H_STEP,
    MOST_OUTPUTS,
    TERMS,
    Z_STEP,
    whole,
)
from uqbench_dqn.native.steps import huber_loss, outputs_themselves

from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compile_for, compiled_once
from uqbench_ube.deep.ube_dqn import Sampled

PACKAGES: dict[str, Any] = {"package": "uqbench_ube", "uses": ["uqbench_dqn"]}


@compiled
def roots_of(rows: Any, sizes: Any, head: Any, layers: Any, pack: Any) -> None:
    """The head's outputs, whose squares are u, from the trunk's features in ``layers.h``."""
    w, bias, last, last_bias = head
    hidden(rows, sizes, w, bias, layers.h, layers.z)
    output(rows, sizes.hidden, sizes.actions, last, last_bias, layers.z, layers.out, pack)


@compiled_once(**PACKAGES)
def uncertainties(rows: Any, sizes: Any, head: Any, layers: Any, pack: Any, u: Any) -> None:
    """Uncertainty of each action, ``[rows, A]``."""
    sizes, layers = Sizes(*sizes), Layers(*layers)
    roots_of(rows, sizes, head, layers, pack)
    step = step_of(sizes.actions)
    for s in range(rows):
        for a in range(sizes.actions):
            root = layers.out[s * step + a]
            u[s * sizes.actions + a] = root * root


@compiled_once(**PACKAGES)
def learn_head(
    slots: Any, action: Any, target: Any, ready: Any, sizes: Any, head: Any, squares: Any,
    layers: Any, gradients: Any, scratch: Any, rates: Any, error: Any,
) -> None:  # fmt: skip
    """A gradient step of the head on the mean of ``(y − u_sa)²`` over the actors that are ready.

    RMSProp, not centered: ``s ← ρ s + (1−ρ) g²``, ``θ ← θ − α g / √(s + ε)``.
    """
    sizes, layers, back = Sizes(*sizes), Layers(*layers), Scratch(*scratch)
    to, (rate, decay, epsilon) = Weights(*gradients), rates
    products.mark_rows(layers.h, sizes.batch, sizes.inputs, products.MOST_INPUTS)
    roots_of(sizes.batch, sizes, head, layers, back.pack)
    step, count = step_of(sizes.actions), 0
    for s in range(sizes.batch):
        count += ready[s]
    for s in range(sizes.batch):
        root = layers.out[s * step + action[s]]
        error[s], back.g[s] = np.float32(np.nan), np.float32(0)
        if ready[s]:
            error[s] = target[s] - root * root
            back.g[s] = np.float32(-4) * error[s] * root / np.float32(count)
    output_gradients(sizes, slots, action, layers.z, head[2], to, back)
    h, dz, pack = layers.h, back.dz, back.pack
    products.to_weights(h, sizes.batch, sizes.inputs, dz, sizes.hidden, to.hidden, pack)
    for n in range(4):
        p, s, g = head[n], squares[n], gradients[n + 2]
        for i in range(p.size):
            square = s[i] + (np.float32(1) - decay) * (g[i] * g[i] - s[i])
            s[i] = square
            p[i] -= rate * g[i] / np.sqrt(square + epsilon)


class UBEDQNSteps(Steps):
    """The native methods of UBE-DQN."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent, huber_loss, outputs_themselves, (agent.discount, agent.kappa))
        head, config, actors = agent.head, agent.config, agent.clock.actors
        _, inputs, _, actions, _ = self.sizes
        own = [p for layer in (head.hidden, head.output) for p in (layer.weight, layer.bias)]
        places = [[one is p for p in agent.head_optimizer.parameters].index(True) for one in own]
        self._head = rows_of(own)
        self._squares = rows_of([agent.head_optimizer.squares[place] for place in places])
        width, rows, block = own[0].shape[-1], whole(actors), step_of(actions)
        self._head_sizes = (actors, inputs, width, actions, 1)
        self._head_acting = self.acting[0], zeros(whole(CHUNK), Z_STEP), zeros(whole(CHUNK), block)
        self._examples = zeros(rows, H_STEP), zeros(rows, Z_STEP), zeros(rows, block)
        none = np.zeros(0, np.float32)
        few = tuple(np.zeros_like(x) for x in self._head[0])
        self._head_gradients = none, none, *few
        turned = actions, width
        self._head_back = (
            *(none, zeros(rows, Z_STEP), zeros(actors), zeros(max(rows, CHUNK) + TERMS, Z_STEP)),
            *(zeros(*turned), zeros(*turned)),
        )
        numbers = config.uncertainty_learning_rate, config.uncertainty_decay
        self._rates = tuple(np.float32(x) for x in (*numbers, config.uncertainty_epsilon))
        compile_for(uncertainties, self._uncertainty(0, 1, zeros(actions)))
        ready, action = np.zeros(actors, np.uint8), np.zeros(actors, np.int64)
        compile_for(learn_head, self._lesson(0, action, zeros(actors), ready, zeros(actors)))

    def _uncertainty(self, lane: int, rows: int, u: Any) -> Arrays:
        return rows, self._head_sizes, self._head[lane], self._head_acting, self.pack, u

    def _lesson(self, lane: int, action: Any, target: Any, ready: Any, error: Any) -> Arrays:
        weights = self._head_sizes, self._head[lane], self._squares[lane]
        arrays = self._examples, self._head_gradients, self._head_back
        slots = np.arange(self._head_sizes[0])
        return slots, action, target, ready, *weights, *arrays, self._rates, error

    @torch.no_grad()
    def thompson_sample(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Sampled:
        """Equation 3, as :meth:`uqbench_ube.deep.ube_dqn.UBEDQN.thompson_sample`."""
        _, inputs, width, actions, _ = self.sizes
        values, u = torch.empty(2, *obs.shape[:2], actions).unbind()
        trunk, features = (torch.empty(*obs.shape[:2], n) for n in (inputs, width))
        h, z = (
            torch.from_numpy(x).view(-1, step)
            for x, step in zip(self.acting, (H_STEP, Z_STEP), strict=False)
        )
        for lane, first in np.ndindex(len(obs), -(-obs.shape[1] // CHUNK)):
            rows = slice(first * CHUNK, (first + 1) * CHUNK)
            few, to = obs[lane, rows], flat(values[lane, rows])
            out = self.evaluated(few, self.online.weights[lane])
            outputs_themselves(*self.valuation(len(few), out, to))
            uncertainties(*self._uncertainty(lane, len(few), flat(u[lane, rows])))
            trunk[lane, rows] = h[: len(few), :inputs]
            features[lane, rows] = z[: len(few), :width]
        action = self.agent.thompson.choose(values, u.sqrt(), noise, valid)
        of_action = u.gather(-1, action[..., None]).squeeze(-1)
        return Sampled(action, of_action, trunk, features)

    @torch.no_grad()
    def learn_uncertainty(
        self, trunk: Tensor, action: Tensor, target: Tensor, ready: Tensor
    ) -> Tensor:
        """As :meth:`uqbench_ube.deep.ube_dqn.UBEDQN.learn_uncertainty`."""
        error = torch.full_like(target, torch.nan)
        examples = torch.from_numpy(self._examples[0]).view(-1, H_STEP)
        for lane in ready.any(-1).nonzero().flatten().tolist():
            examples[: trunk.shape[1], : trunk.shape[2]] = trunk[lane]
            taken, y, has = (flat(x[lane].contiguous()) for x in (action, target, ready))
            learn_head(*self._lesson(lane, taken, y, has.view(np.uint8), flat(error[lane])))
        return error


def native(agent: Any) -> str:
    """Let UBE-DQN take native steps; the reason why not, or none."""
    width = agent.head.hidden.bias.shape[-1]
    if width > MOST_OUTPUTS or width % COLUMNS:
        return f"the head's hidden layer has {width} units, not at most {MOST_OUTPUTS} in strips"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    names = "learn", "policy", "thompson_sample", "learn_uncertainty"
    return replace(agent, UBEDQNSteps(agent), names)
