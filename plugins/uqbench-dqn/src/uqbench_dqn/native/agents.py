"""Lets an agent take native steps: its ring, weights and moments are read and written in place.

What a step leaves is in the agent's own tensors, so that checkpoints, syncs of the target network
and all that is not replaced go on as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.lanes import Adam, EpsilonGreedy, TransitionBuffer, greedy
from uqbench.lanes.kernels.cpu import compile_for
from uqbench_dqn.native import layers, planes, products
from uqbench_dqn.native.exploring import NativeExploration
from uqbench_dqn.native.products import H_STEP, TERMS, Z_STEP, whole
from uqbench_dqn.networks import QNetwork

FIELDS = ("action", "reward", "terminated", "next_valid")
CHUNK = 256
"""Observations that are evaluated at once."""

Arrays = tuple[Any, ...]


def why_not(
    network: QNetwork, replay: TransitionBuffer, optimizer: object, stacked: int = 2
) -> str:
    """The reason why there is no native step for a network of a method that has one; or none.

    Its layers after the convolution are ``stacked``: 2, or 1 where the last is the method's own.
    """
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
    first: Any = network.layers[0]
    inputs, width = first.weight.shape[-2:]
    strip, most = products.COLUMNS, (products.MOST_INPUTS, products.MOST_OUTPUTS)
    fits = len(network.layers) == stacked and inputs <= most[0] and width <= most[1]
    if not fits or inputs % strip or width % strip:
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
    """Floats, flat, from the beginning of a cache line on: as torch has all memory."""
    return flat(torch.zeros(shape))


def parameters_of(network: QNetwork) -> list[Tensor]:
    """A network's parameters in the order of its layers, ``[L, *]`` or ``[L · E, *]`` each."""
    stacked = (network.convolutions[0].product, *network.layers)
    return [tensor for layer in stacked for tensor in (layer.weight, layer.bias)]


def rows_of(tensors: Sequence[Tensor]) -> list[Arrays]:
    """Each network's part of stacked tensors ``[S, *, *]``, flat; of ``[L, E, *, *]``, too."""
    stacks = [tensor.detach().flatten(0, -3) for tensor in tensors]
    return [tuple(flat(stack[row]) for stack in stacks) for row in range(len(stacks[0]))]


class Trained:
    """Networks of one shape that an optimizer trains: their weights and Adam's moments, by row.

    Args:
        own: their parameters, stacked.
        optimizer: whose parameters these are among.
    """

    def __init__(self, own: Sequence[Tensor], optimizer: Adam) -> None:
        known = {id(p): i for i, p in enumerate(optimizer.parameters)}
        places = [known[id(parameter)] for parameter in own]
        self.weights = rows_of(own)
        self.means, self.squares = (
            rows_of([moment[place] for place in places]) for moment in optimizer.moments
        )


class Steps:
    """The native methods of an agent with one network; it gets them in place of its own.

    A gradient step of a run is five calls: of the target network, of the online one, of the loss,
    of the gradients and of Adam, which all methods share but for the loss.

    Args:
        agent: of the DQN family.
        loss: of :mod:`uqbench_dqn.native.steps`.
        values: what it chooses actions by, of the same.
        settings: the numbers, and arrays of them, that both read.
        last: an output layer that is not trained, of one number an action; none of its own.
        networks: the online one and its target, where they are parts of the agent's.
    """

    def __init__(
        self,
        agent: Any,
        loss: Callable[..., None],
        values: Callable[..., None],
        settings: Sequence[Any],
        last: Arrays = (),
        networks: Sequence[QNetwork] = (),
    ) -> None:
        self.agent, self._loss, self._values = agent, loss, values
        numbers = (x if isinstance(x, np.ndarray) else np.float32(x) for x in settings)
        self.settings = tuple(numbers)
        network, target = networks or (agent.online, agent.target)
        ring, batch, actions = agent.replay.memory, agent.config.batch_size, agent.n_actions
        first, final = (cast(Any, network.layers[n]) for n in (0, -1))
        inputs, width = first.weight.shape[-2:]
        each = 1 if last else final.bias.shape[-1] // actions
        self.sizes = (batch, inputs, width, actions, each)
        layer: Any = network.convolutions[0]
        self.reach = tuple(planes.reach(tuple(ring["obs"].shape[3:]), *layer.kernel_and_stride))
        self.words, self.following = (flat(ring[name], np.uint32) for name in ("obs", "next_obs"))
        fields = (flat(ring[name]) for name in FIELDS)
        self.fields = tuple(x.view(np.uint8) if x.dtype == bool else x for x in fields)
        self.online = Trained(parameters_of(network), agent.optimizer)
        self.target = rows_of(parameters_of(target))
        rows, block = whole(batch), layers.step_of(actions * each)
        h, dh = zeros(rows, H_STEP), zeros(rows, H_STEP)
        self.pack = zeros(max(rows, CHUNK) + TERMS, Z_STEP)
        self.own = h, zeros(rows, Z_STEP), zeros(rows, block)
        self.other = dh, zeros(rows, Z_STEP), zeros(rows, block)  # needed before dh is
        self.acting = (
            *(zeros(whole(CHUNK), H_STEP), zeros(whole(CHUNK), Z_STEP)),
            zeros(whole(CHUNK), block),
        )
        turned = actions * each, width
        self.g, self.row = zeros(batch, each), zeros(actions + 2, whole(each, 16))
        self.back = dh, zeros(rows, Z_STEP), self.g, self.pack, zeros(*turned), zeros(*turned)
        self.gradients = tuple(
            np.zeros_like(weights) for weights in (*self.online.weights[0], *last)
        )
        example = (*self.target[0], *last)
        lanes = len(self.target)
        self.means = torch.zeros(lanes, 1)
        self.mean_of = [flat(mean) for mean in self.means]
        slots = np.zeros(batch, np.int64)
        for kernel, *arguments in (
            (layers.evaluate, *self.evaluation(self.words, slots, example, self.own)),
            (loss, *self.losses(slots, self.mean_of[0])),
            (layers.all_gradients, *self.descent(slots, example)),
            (layers.adam, *self.adam(self.online, 0, (np.float32(0),) * 5)),
            (values, *self.valuation(1, self.own[2], zeros(actions))),
        ):
            compile_for(kernel, tuple(arguments))

    def evaluation(self, words: Any, slots: Any, weights: Arrays, out: Arrays) -> Arrays:
        """Arguments of a network's evaluation."""
        return words, slots, self.sizes, weights, out, self.pack, self.reach

    def losses(self, slots: Any, mean: Any) -> Arrays:
        """Arguments of the loss."""
        outputs = self.own[2], self.other[2]
        return (slots, self.fields, self.sizes, *outputs, self.settings, self.row, self.g, mean)

    def descent(self, slots: Any, weights: Arrays) -> Arrays:
        """Arguments of the gradients."""
        before = self.words, slots, self.fields[0], self.sizes, weights
        return (*before, self.own, self.gradients, self.back, self.reach)

    def adam(self, trained: Trained, row: int, rates: Arrays) -> Arrays:
        """Arguments of Adam's step."""
        moments = trained.means[row], trained.squares[row]
        return (trained.weights[row], self.gradients, *moments, rates)

    def valuation(self, rows: int, out: Any, values: Any) -> Arrays:
        """Arguments of what actions are chosen by."""
        return self.sizes, rows, out, self.settings, self.row, values

    def step(self, lane: int, slots: NDArray[np.int64], rates: Arrays) -> None:
        """One gradient step of a run on the ring's rows ``slots`` ``[B]``."""
        layers.evaluate(*self.evaluation(self.following, slots, self.target[lane], self.other))
        self.update(lane, slots, rates)

    def update(self, row: int, slots: NDArray[np.int64], rates: Arrays) -> None:
        """Move a network by its loss, whose target network's outputs are there."""
        weights = self.online.weights[row]
        layers.evaluate(*self.evaluation(self.words, slots, weights, self.own))
        self._loss(*self.losses(slots, self.mean_of[row]))
        layers.all_gradients(*self.descent(slots, weights))
        layers.adam(*self.adam(self.online, row, rates))

    def rows(self, index: Tensor) -> NDArray[np.int64]:
        """Rows of the ring at slots ``[L, B]``, as :meth:`uqbench.lanes.ReplayBuffer.rows`.

        By NumPy: after a kernel has filled the caches each call of torch's costs 20 µs.
        """
        slots: NDArray[np.int64] = np.ascontiguousarray(index.numpy())
        lanes, actors = len(slots), self.agent.clock.actors
        if lanes > 1:
            time, actor = np.divmod(slots, actors)
            slots = (time * lanes + np.arange(lanes)[:, None]) * actors + actor
        return slots

    def learn(self, index: Tensor) -> Tensor:
        """One gradient step on the buffer's transitions ``index`` ``[L, B]``.

        Returns:
            The mean of the objective before the step, ``[L, 1]``.
        """
        optimizer, slots = self.agent.optimizer, self.rows(index)
        rates = tuple(np.float32(x) for x in optimizer.rates())
        for lane in range(len(slots)):
            self.step(lane, slots[lane], rates)
        optimizer.count()
        return self.means

    def evaluated(self, obs: Tensor, weights: Arrays) -> NDArray[np.float32]:
        """A network's outputs in observations ``[M, *obs]``, at most ``CHUNK``; overwritten."""
        slots, words = np.arange(len(obs)), flat(obs.contiguous(), np.uint32)
        layers.evaluate(*self.evaluation(words, slots, weights, self.acting))
        out: NDArray[np.float32] = self.acting[2]
        return out

    def values(self, obs: Tensor, weights: Sequence[Arrays] = ()) -> Tensor:
        """The values ``[L, M, A]`` that actions are chosen by in ``obs`` ``[L, M, *obs]``.

        By the weights of each lane, the online network's if there are none.
        """
        weights = weights or self.online.weights
        lanes, each = obs.shape[:2]
        words, out = flat(obs.contiguous(), np.uint32), self.acting[2]
        made = np.empty((lanes * each, self.agent.n_actions), np.float32)
        for lane, first in product(range(lanes), range(0, each, CHUNK)):
            slots = np.arange(lane * each + first, lane * each + min(each, first + CHUNK))
            layers.evaluate(*self.evaluation(words, slots, weights[lane], self.acting))
            to = made[slots[0] : slots[-1] + 1].reshape(-1)
            self._values(*self.valuation(len(slots), out, to))
        return torch.from_numpy(made).view(lanes, each, -1)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions, as :meth:`uqbench_dqn.deep_q.DeepQ.choose_action`."""
        chosen = greedy(self.values(obs), valid)
        actions: Tensor = self.agent.exploration.explore(chosen, noise, valid)
        return actions

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action in each of ``[L, M]`` observations."""
        return greedy(self.values(obs), valid)


METHODS = ("learn", "choose_action", "policy")


def keep(agent: Any, means: Tensor) -> None:
    """Keep means ``[L, 1]``, as :meth:`uqbench_dqn.deep_q.DeepQ.note`."""
    agent._loss.numpy()[:] = means.numpy()[:, 0]


def replace(agent: Any, steps: object, names: Sequence[str] = METHODS) -> str:
    """Let native steps take the place of an agent's methods; an empty string."""
    if type(agent.exploration) is EpsilonGreedy:
        native = NativeExploration(agent.exploration, agent.n_actions)
        setattr(agent.exploration, "explore", native.explore)  # noqa: B010
    if hasattr(agent, "note"):
        agent.note = partial(keep, agent)
    for name in names:
        setattr(agent, name, getattr(steps, name))
    return ""


def dqn(agent: Any) -> str:
    """Let DQN take native steps; the reason why not, or none."""
    from uqbench_dqn.native.steps import huber_loss, outputs_themselves

    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    settings = agent.discount, agent.kappa
    return replace(agent, Steps(agent, huber_loss, outputs_themselves, settings))


def qr_dqn(agent: Any) -> str:
    """Let QR-DQN take native steps; the reason why not, or none."""
    from uqbench_dqn.native.steps import means_of_quantiles, quantile_losses

    if agent.config.kappa or agent.config.risk is not None:
        return "κ is not 0, or actions are chosen by a risk measure"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    return replace(agent, Steps(agent, quantile_losses, means_of_quantiles, [agent.discount]))


def c51(agent: Any) -> str:
    """Let C51 take native steps; the reason why not, or none."""
    from uqbench_dqn.native.steps import cross_entropies, means_of_atoms

    if agent.config.risk is not None:
        return "actions are chosen by a risk measure"
    if reason := why_not(agent.online, agent.replay, agent.optimizer):
        return reason
    support = zeros(whole(len(agent.support), 16))
    support[: len(agent.support)] = agent.support.numpy()
    return replace(agent, Steps(agent, cross_entropies, means_of_atoms, (agent.discount, support)))
