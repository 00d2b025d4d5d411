"""An agent as pure functions on pytrees: one run's functions, compiled once and used by each lane.

An author writes :class:`Functions`; :class:`JaxAgent` is the harness's side of them. A state
belongs to one lane, observations have the actors first, ``[K, *obs]``: there is no dimension of
lanes. Lanes run one after another through the same executable, so that a lane's bits do not depend
on the others; a program vmapped over lanes is another program for every number of them, and
rounds differently.

JAX computes in the calling thread, on the CPU. It is given large arrays by DLPack.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

# before JAX makes its first array: workers are as many as cores, each with one thread
os.environ["NPROC"] = "1"  # threads of XLA

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import Array
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty

jax.config.update("jax_cpu_enable_async_dispatch", False)  # in the calling thread
jax.config.update("jax_platforms", "cpu")


SMALL = 1 << 18
"""Bytes below which a copy takes less time than sharing does."""


class Transition(NamedTuple):
    """One transition of every actor of a run: :class:`uqbench.contract.agent.Step` without lanes.

    Attributes:
        t: environment steps of the run before this one, ``[]`` int32.
        obs: ``[K, *obs]``, observed before the action.
        action: ``[K]`` int32.
        reward: ``[K]``.
        terminated: ``[K]`` bool.
        truncated: ``[K]`` bool.
        next_obs: ``[K, *obs]``, the final observation where an episode ended.
        next_valid: ``[K, A]`` bool, actions for ``next_obs``; all where there are no masks.
    """

    t: Array
    obs: Array
    action: Array
    reward: Array
    terminated: Array
    truncated: Array
    next_obs: Array
    next_valid: Array


@dataclass(frozen=True)
class Functions(ABC):
    """What an agent does, as pure functions of one run's state, a pytree of arrays.

    They are compiled once for all agents of equal config and environment, so that ``self`` holds
    nothing else. ``key`` is a function of (seed, t), of another stream in ``act`` than in
    ``learn``; the time is a traced number, so that it is branched on by ``jax.lax.cond``.

    Attributes:
        config: the method's, hashable.
        info: the environment.
    """

    config: Any
    info: EnvironmentInfo

    def __hash__(self) -> int:
        """The hash of the config: a space has no hash."""
        return hash((type(self), self.config))

    @abstractmethod
    def init(self, key: Array) -> Any:
        """The state before the first step."""

    @abstractmethod
    def act(self, state: Any, key: Array, obs: Array, valid: Array) -> Array:
        """Training actions ``[K]`` for ``obs`` ``[K, *obs]`` among ``valid`` ``[K, A]``."""

    @abstractmethod
    def learn(self, state: Any, key: Array, step: Transition) -> Any:
        """The state after a step."""

    @abstractmethod
    def q(self, state: Any, obs: Array) -> Array:
        """Q ``[M, A]`` of ``obs`` ``[M, *obs]``; the evaluated policy is greedy in it."""

    def uncertainty(self, state: Any, obs: Array) -> Mapping[str, Array]:
        """Fields of :class:`uqbench.contract.agent.Uncertainty` by name, ``[M, A, …]``."""
        return {"mean": self.q(state, obs)}

    def metrics(self, state: Any) -> Mapping[str, Array]:
        """Diagnostics ``[]`` by name."""
        return {}


class JaxAgent(Agent):
    """Lanes of an agent that is given as :class:`Functions`.

    Attributes:
        functions: the method.
        not_exported: parts of the state, by name, that it acts without.

    Raises:
        ValueError: the device is no CPU.
    """

    functions: ClassVar[type[Functions]]
    not_exported: ClassVar[tuple[str, ...]] = ("replay",)

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: Any, device: torch.device
    ) -> None:
        if device.type != "cpu":
            raise ValueError(f"agents in JAX run on the CPU, got {device}; use --device cpu")
        self.config, self.info, self.t = config, info, 0
        self._functions = self.functions(config, info)
        self._seeds = [np.uint32(seed) for seed in seeds]
        self._states = [_init(self._functions, seed) for seed in self._seeds]

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Training actions ``[L, K]``."""
        t = np.int32(self.t)
        return self._stacked(
            _act(self._functions, state, seed, t, *lane)
            for state, seed, *lane in self._each(obs, self._valid(obs, valid))
        ).long()

    def observe(self, step: Step) -> None:
        """One call of ``learn`` a lane; the state's memory is reused."""
        t, valid = np.int32(self.t), self._valid(step.next_obs, step.valid_actions)
        ends = step.terminated, step.truncated
        lanes = self._each(step.obs, step.action, step.reward, *ends, step.next_obs, valid)
        self._states = [
            _learn(self._functions, state, seed, Transition(t, *lane))
            for state, seed, *lane in lanes
        ]
        self.t += self.info.actors

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy actions ``[L, M]``."""
        return self._stacked(
            _greedy(self._functions, state, *lane)
            for state, _, *lane in self._each(obs, self._valid(obs, valid))
        ).long()

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """What the method states, ``[L, M, A, …]``."""
        stated = [_uncertainty(self._functions, state, lane) for state, _, lane in self._each(obs)]
        return Uncertainty(
            **{name: self._stacked(one[name] for one in stated) for name in stated[0]}
        )

    def metrics(self) -> dict[str, Tensor]:
        """Its diagnostics ``[L]``."""
        found = [_metrics(self._functions, state) for state in self._states]
        return {name: self._stacked(one[name] for one in found) for name in found[0]}

    def state_dict(self) -> dict[str, Any]:
        """The step, and each array of the state by its path, ``[L, …]``."""
        leaves = [jax.tree_util.tree_flatten_with_path(state)[0] for state in self._states]
        named = {
            jax.tree_util.keystr(lanes[0][0], simple=True, separator="."): self._stacked(
                _data(leaf) for _, leaf in lanes
            )
            for lanes in zip(*leaves, strict=True)
        }
        return {"t": self.t, "state": named}

    def exported_state(self) -> dict[str, Any]:
        """The same without what ``not_exported`` names."""
        saved = self.state_dict()
        kept = {
            name: tensor
            for name, tensor in saved["state"].items()
            if name.partition(".")[0] not in self.not_exported
        }
        return {**saved, "state": kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``; what an exported state lacks stays as it is."""
        self.t = state["t"]

        def restored(lane: int, path: Any, leaf: Array) -> Array:
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            if name not in state["state"]:
                return leaf
            data = jnp.array(state["state"][name][lane].numpy(), copy=True)
            return jax.random.wrap_key_data(data) if _is_key(leaf) else data

        self._states = [
            jax.tree_util.tree_map_with_path(partial(restored, lane), own)
            for lane, own in enumerate(self._states)
        ]

    def _each(self, *tensors: Tensor) -> Any:
        """Each lane's state and seed, and its part of each tensor."""
        return zip(self._states, self._seeds, *map(by_lane, tensors), strict=True)

    def _valid(self, obs: Tensor, valid: Tensor | None) -> Tensor:
        """Valid actions ``[L, M, A]``."""
        if valid is None:
            return torch.ones(*obs.shape[:2], self.info.n_actions, dtype=torch.bool)
        return valid

    @staticmethod
    def _stacked(lanes: Any) -> Tensor:
        """One array of each lane as a tensor ``[L, …]`` of its own."""
        return torch.from_numpy(np.stack([np.asarray(array) for array in lanes]))


def greedy(values: Array, valid: Array) -> Array:
    """The best of the valid actions: ``[..., A]`` twice → ``[...]``."""
    return jnp.where(valid, values, -jnp.inf).argmax(-1)


def by_lane(tensor: Tensor) -> Sequence[Array | np.ndarray[Any, Any]]:
    """A tensor's lanes for a compiled function; 64-bit integers are converted, JAX has 32 bits.

    Large ones are shared by DLPack, without a copy. That takes 25 µs, ten times what it takes
    to hand over a small one through NumPy, of which JAX makes a copy.
    """
    short = tensor.int() if tensor.dtype == torch.int64 else tensor
    if short[0].numel() * short.element_size() < SMALL:
        return list(short.numpy())
    return [jax.dlpack.from_dlpack(lane.contiguous()) for lane in short]


def _key(seed: Array, stream: int, t: Array | int = 0) -> Array:
    """A function of its arguments, whatever JAX's default generator is."""
    key = jax.random.key(seed, impl="threefry2x32")
    return jax.random.fold_in(jax.random.fold_in(key, stream), t)


def _compiled(*, donated: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    return partial(jax.jit, static_argnums=0, donate_argnums=donated)


@_compiled()
def _init(functions: Functions, seed: Array) -> Any:
    return functions.init(_key(seed, 0))


@_compiled()
def _act(functions: Functions, state: Any, seed: Array, t: Array, obs: Array, valid: Array) -> Any:
    return functions.act(state, _key(seed, 1, t), obs, valid).astype(jnp.int32)


@_compiled(donated=(1,))
def _learn(functions: Functions, state: Any, seed: Array, step: Transition) -> Any:
    return functions.learn(state, _key(seed, 2, step.t), step)


@_compiled()
def _greedy(functions: Functions, state: Any, obs: Array, valid: Array) -> Any:
    return greedy(functions.q(state, obs), valid)


@_compiled()
def _uncertainty(functions: Functions, state: Any, obs: Array) -> Any:
    return dict(functions.uncertainty(state, obs))


@_compiled()
def _metrics(functions: Functions, state: Any) -> Any:
    return dict(functions.metrics(state))


def _is_key(leaf: Array) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _data(leaf: Array) -> Array:
    """The array, or the numbers of random keys."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf
