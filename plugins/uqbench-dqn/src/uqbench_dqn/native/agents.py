"""Lets an agent take native steps: its ring, weights and moments are read and written in place.

What a step leaves is in the agent's own tensors, so that checkpoints, syncs of the target network
and all that is not replaced go on as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.lanes import Adam, TransitionBuffer, greedy
from uqbench.lanes.kernels.cpu import compile_for
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.native import planes, products
from uqbench_dqn.native.layers import step_of
from uqbench_dqn.native.products import H_STEP, Z_STEP, whole
from uqbench_dqn.networks import QNetwork

FIELDS = ("action", "reward", "terminated", "next_valid")
CHUNK = 256
"""Observations that are evaluated at once."""

Arrays = tuple[Any, ...]


def why_not(network: QNetwork, replay: TransitionBuffer, optimizer: object) -> str:
    """The reason why there is no native step for a network of a method that has one; or none."""
    fields = replay.memory
    obs = fields.get("obs")
    if replay.memory["reward"].device.type != "cpu":
        return "native steps are a CPU's"
    if obs is None or obs.dtype != torch.bool or obs.dim() != 6 or obs[0, 0, 0].numel() % 4:
        return "observations are no planes of bits"
    if not isinstance(optimizer, Adam):
        return "the optimizer is not Adam"
    if len(network.convolutions) != 1 or network.convolutions[0].channels != planes.FILTERS:
        return f"the network has not one convolution with {planes.FILTERS} filters"
    inputs, *widths = (layer.weight.shape[-2] for layer in network.layers)
    strip, most = products.COLUMNS, (products.MOST_INPUTS, products.MOST_OUTPUTS)
    fits = len(widths) == 1 and inputs <= most[0] and widths[0] <= most[1]
    if not fits or inputs % strip or widths[0] % strip:
        return (
            f"the network has not one hidden layer of at most {most[0]} inputs and {most[1]} "
            f"units, multiples of {strip}"
        )
    return ""


def flat(tensor: Tensor, dtype: Any = None) -> NDArray[Any]:
    """A tensor's memory."""
    array: NDArray[Any] = tensor.detach().numpy().reshape(-1)
    return array if dtype is None else array.view(dtype)


def zeros(*shape: int) -> NDArray[np.float32]:
    """Floats, flat."""
    return np.zeros(int(np.prod(shape)), np.float32)


def parameters_of(network: QNetwork) -> list[Tensor]:
    """A network's parameters in the order of its layers, ``[L, *]`` each."""
    layers = (network.convolutions[0].product, *network.layers)
    return [tensor for layer in layers for tensor in (layer.weight, layer.bias)]


class Shapes:
    """Sizes of a network's arrays, and new ones.

    Args:
        network: whose.
        batch: B.
        actions: A.
        each: N, outputs of an action.
    """

    def __init__(self, network: QNetwork, batch: int, actions: int, each: int) -> None:
        inputs, width = network.layers[0].weight.shape[-2:]
        self.sizes = (batch, inputs, width, actions, each)
        self._block = step_of(actions * each)

    def layers(self, rows: int) -> Arrays:
        """Of ``rows`` observations: :class:`uqbench_dqn.native.layers.Layers`."""
        rows = whole(rows)
        return zeros(rows, H_STEP), zeros(rows, Z_STEP), zeros(rows, self._block)

    def pack(self, rows: int) -> NDArray[np.float32]:
        """A strip of weights, or all of Z's gradients."""
        return zeros(max(whole(rows), products.TERMS), Z_STEP)

    def gradients(self, like: Sequence[Tensor]) -> Arrays:
        """Of parameters; the hidden layer's in whole blocks of rows."""
        made = [zeros(tensor[0].numel()) for tensor in like]
        _, inputs, width, *_ = self.sizes
        made[2] = zeros(whole(inputs), width)
        return tuple(made)

    def scratch(self) -> Arrays:
        """Of the way back: :class:`uqbench_dqn.native.layers.Scratch`."""
        batch, _, width, actions, each = self.sizes
        turned, rows = (actions * each, width), whole(batch)
        backward = zeros(rows, H_STEP), zeros(rows, Z_STEP), zeros(batch, each), self.pack(batch)
        return (*backward, zeros(*turned), zeros(*turned), zeros(max(actions, 2 * each) + 64))


def by_lane(tensors: Sequence[Tensor]) -> list[Arrays]:
    """Each lane's part of tensors ``[L, *]``, flat."""
    return [tuple(flat(tensor[lane]) for tensor in tensors) for lane in range(len(tensors[0]))]


class Steps:
    """The native methods of an agent with one network; it gets them in place of its own.

    Args:
        agent: of the DQN family.
        learn: a method's step, of :mod:`uqbench_dqn.native.steps`.
        values: what it chooses actions by.
        settings: the numbers that both read.
    """

    def __init__(
        self,
        agent: DeepQ,
        learn: Callable[..., None],
        values: Callable[..., None],
        settings: Sequence[float],
    ) -> None:
        self._agent, self._learn, self._values = agent, learn, values
        network, ring, batch = agent.online, agent.replay.memory, agent.config.batch_size
        lanes, actions = len(agent.replay.memory["obs"][0]), agent.n_actions
        each = network.layers[-1].bias.shape[-1] // actions
        self._settings = tuple(np.float32(x) for x in settings)
        self._shapes = shapes = Shapes(network, batch, actions, each)
        shape, layer = tuple(ring["obs"].shape[3:]), network.convolutions[0]
        self._reach = tuple(planes.reach(shape, *layer.kernel_and_stride))
        own, target = parameters_of(network), parameters_of(agent.target)
        order = [
            next(i for i, p in enumerate(agent.optimizer.parameters) if p is one) for one in own
        ]
        means, squares = ([moment[i] for i in order] for moment in agent.optimizer.moments)
        self._online, self._loss = by_lane(own), torch.zeros(lanes, 1)
        fields = (flat(ring[name]) for name in FIELDS)
        observations = (flat(ring[name], np.uint32) for name in ("obs", "next_obs"))
        kept = tuple(x.view(np.uint8) if x.dtype == bool else x for x in fields)
        self._before = (*observations,), (kept, shapes.sizes)
        self._after = (
            *(shapes.gradients(own), by_lane(means), by_lane(squares), by_lane(target)),
            *(shapes.layers(batch), shapes.layers(batch), shapes.scratch()),
        )
        self._acting = shapes.layers(CHUNK), shapes.pack(CHUNK)
        slots = np.zeros(batch, np.int64)
        compile_for(learn, self._learning(0, slots, (np.float32(0),) * 5))
        obs = torch.zeros(1, 1, *shape, dtype=torch.bool)
        compile_for(values, self._evaluation(0, obs, zeros(actions)))

    def _learning(self, lane: int, slots: NDArray[np.int64], rates: Arrays) -> Arrays:
        """Arguments of a lane's gradient step."""
        gradients, means, squares, target, *rest = self._after
        layers, target_layers, scratch = rest
        (words, following), (kept, sizes) = self._before
        of_lane = self._online[lane], target[lane], gradients, means[lane], squares[lane]
        loss = flat(self._loss[lane])
        return (
            *(words, following, slots, kept, sizes, *of_lane, layers, target_layers, scratch),
            *(self._reach, self._settings, rates, loss),
        )

    def _evaluation(self, lane: int, obs: Tensor, values: NDArray[np.float32]) -> Arrays:
        """Arguments of the evaluation of a lane's observations ``[1, M, *obs]``."""
        slots, words = np.arange(obs.shape[1]), flat(obs, np.uint32)
        layers, pack = self._acting
        online, sizes = self._online[lane], self._shapes.sizes
        return words, slots, sizes, online, layers, pack, self._reach, self._settings, values

    @torch.no_grad()
    def learn(self, index: Tensor) -> Tensor:
        """One gradient step on the buffer's transitions ``index`` ``[L, B]``.

        Returns:
            The mean of the objective before the step, ``[L, 1]``.
        """
        optimizer = self._agent.optimizer
        slots = self._agent.replay.rows(index).numpy()
        rates = tuple(np.float32(x) for x in optimizer.rates())
        for lane in range(len(slots)):
            self._learn(*self._learning(lane, slots[lane], rates))
        optimizer.count()
        return self._loss

    def values(self, obs: Tensor) -> Tensor:
        """The values ``[L, M, A]`` that actions are chosen by in ``obs`` ``[L, M, *obs]``."""
        actions = self._agent.n_actions
        values = torch.empty(*obs.shape[:2], actions)
        for lane, first in np.ndindex(len(obs), -(-obs.shape[1] // CHUNK)):
            rows = slice(first * CHUNK, (first + 1) * CHUNK)
            few = obs[lane : lane + 1, rows].contiguous()
            self._values(*self._evaluation(lane, few, flat(values[lane, rows])))
        return values

    @torch.no_grad()
    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions, as :meth:`uqbench_dqn.deep_q.DeepQ.choose_action`."""
        return self._agent.exploration.explore(greedy(self.values(obs), valid), noise, valid)

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action in each of ``[L, M]`` observations."""
        return greedy(self.values(obs), valid)


def replace(agent: DeepQ, steps: Steps) -> None:
    """Let an agent learn and act by native steps."""
    for name in ("learn", "choose_action", "policy"):
        setattr(agent, name, getattr(steps, name))


def dqn(agent: Any) -> str:
    """Let DQN take native steps; the reason why not, or none."""
    from uqbench_dqn.native import steps

    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    settings = agent.discount, agent.kappa
    replace(agent, Steps(agent, steps.learn_dqn, steps.values_dqn, settings))
    return ""


def qr_dqn(agent: Any) -> str:
    """Let QR-DQN take native steps; the reason why not, or none."""
    from uqbench_dqn.native import steps

    if agent.config.kappa or agent.config.risk is not None:
        return "κ is not 0, or actions are chosen by a risk measure"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    replace(agent, Steps(agent, steps.learn_qr_dqn, steps.values_qr_dqn, [agent.discount]))
    return ""
