"""The LaneEnv contract, and the adapter that batches Gymnasium environments.

Autoreset happens in the same step: an :class:`Outcome` holds the last observation of an episode
(``next_obs``) and the first one of the next episode (``obs``).
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
from gymnasium.utils import EzPickle
from torch import Tensor

from uqbench.errors import CannotSaveError, UqbenchError


@dataclass(frozen=True)
class TimeLimit:
    """After how many steps an episode ends, and whether its last state counts as terminal."""

    steps: int
    kind: Literal["terminal", "truncation"]


@dataclass(frozen=True)
class Outcome:
    """What one step of all lanes gave.

    Attributes:
        reward: ``[L]`` float32.
        terminated: ``[L]`` bool.
        truncated: ``[L]`` bool.
        next_obs: ``[L, *obs]``, the final observation where an episode ended.
        obs: ``[L, *obs]`` to act on next: that of a fresh episode where one ended.
        next_valid: ``[L, A]`` bool, valid actions in ``next_obs``; None where all are.
        valid: ``[L, A]`` bool, valid actions in ``obs``; None where all are.
        events: ``[L]`` float32 by name, how often each event happened in this step.
    """

    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    next_obs: Tensor
    obs: Tensor
    next_valid: Tensor | None = None
    valid: Tensor | None = None
    events: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class OptimalQ:
    """Exact action values, where an environment knows them.

    Attributes:
        obs: ``[M, *obs]``, the observations that they are for: every state, or a choice of states.
        values: ``[M, A]`` float64, Q* under the task's discount; NaN where an action is not
            available.
        return_atoms: ``[M, A, N]`` float64, the law of the optimal policy's return, where that is
            known too; None where it is not.
        return_probs: ``[M, A, N]`` float64, its probabilities.
    """

    obs: Tensor
    values: Tensor
    return_atoms: Tensor | None = None
    return_probs: Tensor | None = None


class LaneEnv(ABC):
    """Independent copies of one environment that step together, lane ``i`` from ``seeds[i]``.

    Attributes:
        observation_space: of one lane.
        n_actions: A; actions are 0 to A − 1.
        capturable: whether ``step`` can be captured in a CUDA graph: it works on its device alone,
            never waits for it, and writes every outcome into the same tensors.
    """

    observation_space: gymnasium.Space[Any]
    n_actions: int
    capturable: bool = False

    @abstractmethod
    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Begin: observations ``[L, *obs]`` and valid actions ``[L, A]`` (None: all)."""

    @abstractmethod
    def step(self, action: Tensor) -> Outcome:
        """Take one action ``[L]`` in every lane."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that another copy needs to step on exactly as this one would.

        Called between two steps. Episodes under way, random streams, lengths: tensors, numbers,
        strings, bytes and None, in dictionaries and lists.

        Raises:
            CannotSaveError: it cannot be saved, as by default; runs then have no checkpoints.
        """
        raise CannotSaveError(f"{type(self).__name__} has no state_dict")

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` of a copy with the same seeds returned.

        Called instead of ``reset``.
        """
        raise CannotSaveError(f"{type(self).__name__} has no load_state_dict")


class GymnasiumLanes(LaneEnv):
    """One Gymnasium environment a lane, batched.

    Reads ``info["events"]`` (a mapping of name to count) for the declared ``events`` and
    ``info["action_mask"]`` (``[A]``, true where an action is valid) where the environment gives
    one.

    Raises:
        UqbenchError: the action space is not ``Discrete`` starting at 0.
    """

    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        events: Sequence[str] = (),
        device: torch.device | None = None,
    ) -> None:
        self._envs = [make() for _ in seeds]
        self._seeds = list(seeds)
        self._time_limit = time_limit
        self._events = tuple(events)
        self._device = device or torch.device("cpu")
        space = self._envs[0].action_space
        if not isinstance(space, gymnasium.spaces.Discrete) or space.start != 0:
            raise UqbenchError(
                f"expected an environment with Discrete actions from 0, got {space}; "
                f"wrap it so that its actions are numbered"
            )
        self.n_actions = int(space.n)
        self.observation_space = self._envs[0].observation_space
        lanes, shape = len(self._envs), self.observation_space.shape
        self._length = np.zeros(lanes, np.int64)
        self._valid: Tensor | None = None
        self._obs_shape = (lanes, *(shape or ()))

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Reset every lane with its own seed."""
        obs, infos = [], []
        for env, seed in zip(self._envs, self._seeds, strict=True):
            first, info = env.reset(seed=seed)
            obs.append(first)
            infos.append(info)
        self._length[:] = 0
        self._valid = self._masks(infos)
        return self._stack(obs), self._valid

    def step(self, action: Tensor) -> Outcome:
        """Step every lane; lanes whose episode ended are reset at once."""
        lanes = len(self._envs)
        reward = np.zeros(lanes, np.float32)
        terminated, truncated = np.zeros(lanes, bool), np.zeros(lanes, bool)
        events = {name: np.zeros(lanes, np.float32) for name in self._events}
        final_obs, final_infos, next_obs, next_infos = [], [], [], []
        for i, (env, a) in enumerate(zip(self._envs, action.tolist(), strict=True)):
            if not 0 <= a < self.n_actions or (self._valid is not None and not self._valid[i, a]):
                raise UqbenchError(
                    f"the agent chose action {a}; expected a valid one of 0 to {self.n_actions - 1}"
                )
            obs, reward[i], terminated[i], truncated[i], info = env.step(a)
            self._length[i] += 1
            if self._time_limit is not None and self._length[i] >= self._time_limit.steps:
                if self._time_limit.kind == "terminal":
                    terminated[i] = True
                elif not terminated[i]:
                    truncated[i] = True
            for name in self._events:
                events[name][i] = info.get("events", {}).get(name, 0)
            final_obs.append(np.array(obs))  # a copy: resetting may write to the same buffer
            final_infos.append(info)
            if terminated[i] or truncated[i]:
                obs, info = env.reset()
                self._length[i] = 0
            next_obs.append(obs)
            next_infos.append(info)
        self._valid = self._masks(next_infos)
        return Outcome(
            reward=self._tensor(reward),
            terminated=self._tensor(terminated),
            truncated=self._tensor(truncated),
            next_obs=self._stack(final_obs),
            obs=self._stack(next_obs),
            next_valid=self._masks(final_infos),
            valid=self._valid,
            events={name: self._tensor(count) for name, count in events.items()},
        )

    def state_dict(self) -> dict[str, Any]:
        """The environments, pickled one by one, their lengths and valid actions.

        Raises:
            CannotSaveError: one cannot be pickled, or its pickle would not hold its state.
        """
        return {
            "envs": [_pickled(env) for env in self._envs],
            "length": torch.from_numpy(self._length.copy()),
            "valid": self._valid,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        for env in self._envs:
            env.close()
        self._envs = [pickle.loads(env) for env in state["envs"]]
        self._length = state["length"].numpy().copy()
        self._valid = state["valid"]

    def _stack(self, observations: list[Any]) -> Tensor:
        stacked = np.empty(self._obs_shape, self.observation_space.dtype)
        for i, obs in enumerate(observations):
            stacked[i] = obs
        return self._tensor(stacked)

    def _masks(self, infos: list[dict[str, Any]]) -> Tensor | None:
        """Valid actions of each lane; a lane that gives no mask has all."""
        if all("action_mask" not in info for info in infos):
            return None
        masks = np.ones((len(infos), self.n_actions), bool)
        for mask, info in zip(masks, infos, strict=True):
            mask[:] = info.get("action_mask", True)
        return self._tensor(masks)

    def _tensor(self, array: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def _pickled(env: gymnasium.Env[Any, Any]) -> bytes:
    """An environment's pickle, where that holds its state."""
    layer: Any = env
    while layer is not None:
        if getattr(type(layer), "__getstate__", None) is EzPickle.__getstate__:
            raise CannotSaveError(
                f"{type(layer).__name__} is pickled without its state (gymnasium.utils.EzPickle); "
                f"give it a __getstate__ and a __setstate__ of its own"
            )
        layer = layer.env if isinstance(layer, gymnasium.Wrapper) else None
    try:
        return pickle.dumps(env)
    except Exception as error:  # what cannot be pickled raises whatever it likes
        name = type(env.unwrapped).__name__
        raise CannotSaveError(f"{name} cannot be pickled: {error}") from error
