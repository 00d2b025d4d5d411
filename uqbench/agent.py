"""The Agent contract: a learning decision-maker, written for lanes.

Every tensor has the lanes as its leading dimension; one run is ``L = 1``. What lane ``i`` does
depends on ``seeds[i]`` alone, never on how many lanes run beside it.

Shapes: ``L`` lanes, ``M`` observations of a lane, ``A`` actions, ``N`` atoms of a return law,
``S`` posterior samples, ``*obs`` one observation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import gymnasium
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.lanes.clock import Clock
from uqbench.lanes.random import Draws


@dataclass(frozen=True)
class EnvSpec:
    """What an agent knows about its environment before the first step."""

    observation: gymnasium.Space[Any]
    n_actions: int
    discount: float
    total_steps: int
    time_limit: int | None = None
    time_limit_is: Literal["terminal", "truncation"] = "truncation"


@dataclass(frozen=True)
class Step:
    """One transition of every lane.

    Attributes:
        t: host integer; lanes run in lock-step, so schedules cost no device synchronisation.
        obs: ``[L, *obs]``.
        action: ``[L]`` int64.
        reward: ``[L]`` float32.
        terminated: ``[L]`` bool, the episode ended in a terminal state.
        truncated: ``[L]`` bool, the episode was cut off; its value goes on.
        next_obs: ``[L, *obs]``, the final observation where an episode ended.
        valid_actions: ``[L, A]`` bool for ``next_obs``, or None where all are valid.
        events: counters of this step by name, each ``[L]``.
    """

    t: int
    obs: Tensor
    action: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    next_obs: Tensor
    valid_actions: Tensor | None = None
    events: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Uncertainty:
    """What an agent states about its values; whatever it does not know stays None.

    Variances are in squared return units. Shapes are ``[L, M, A]`` but for the laws of the return
    (``[L, M, A, N]``, probabilities summing to one) and posterior samples of Q (``[L, M, A, S]``).
    Where Q* is known, what is stated is scored against it (:mod:`uqbench.scoring.uncertainty`).

    Attributes:
        mean: of Q.
        epistemic_var: the variance of Q that more data would reduce.
        aleatoric_var: the variance of the return that remains when everything is known.
        return_atoms: the return's law: its values,
        return_probs: and their probabilities.
        value_samples: of the posterior of Q.
        reference_var: where ``epistemic_var`` approximates a variance that can also be had exactly
            or by sampling, that variance.
    """

    mean: Tensor | None = None
    epistemic_var: Tensor | None = None
    aleatoric_var: Tensor | None = None
    return_atoms: Tensor | None = None
    return_probs: Tensor | None = None
    value_samples: Tensor | None = None
    reference_var: Tensor | None = None


class Agent(ABC):
    """A method that learns while it acts, one ``act`` and one ``observe`` a step.

    Constructed as ``factory(spec, seeds, config, device)``, with one seed a lane.

    Attributes:
        compiled: names of methods from tensors to tensors, each called with tensors of one shape:
            where a budget's numerics say ``compiled``, they are.
        clock: the step, where the agent reads it from the clock's tensor; see ``phase``.
    """

    compiled: ClassVar[tuple[str, ...]] = ()
    clock: Clock | None = None

    @abstractmethod
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Choose training actions ``[L]`` for ``obs`` ``[L, *obs]`` among ``valid`` ``[L, A]``.

        Called exactly once between two ``observe``.
        """

    @abstractmethod
    def observe(self, step: Step) -> None:
        """Learn from one transition of every lane."""

    @abstractmethod
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[L, M]`` of the evaluated policy among ``valid`` ``[L, M, A]``.

        Pure: changes no state and draws no training noise.
        """

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """What the agent knows about ``obs`` ``[L, M, *obs]``, or None where it states nothing."""
        return None

    def phase(self, t: int) -> Hashable | None:
        """Which program step ``t`` is, or None, as by default, where it has to be run from Python.

        Steps of one phase differ in nothing but tensors, and the agent has a ``clock`` that it
        advances at the end of ``observe``. On a GPU they are captured once and replayed.
        """
        return None

    def metrics(self) -> Mapping[str, Tensor]:
        """Diagnostics ``[L]`` by name, pulled by the runner now and then."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs to equal an unbroken one.

        By default every attribute: tensors and numbers as they are, modules, optimisers and
        replays by their own ``state_dict``. Frozen dataclasses, devices, spaces and random draws
        (functions of the step) have nothing to save.

        Raises:
            TypeError: an attribute is of another kind; override both methods then.
        """
        saved = {}
        for name, value in vars(self).items():
            if name in self.compiled:
                continue
            if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
                saved[name] = value.state_dict()
            elif isinstance(value, Tensor | int | float | str | None):
                saved[name] = value
            elif not isinstance(value, _STATELESS) and not _is_settings(value):
                raise TypeError(
                    f"{type(self).__name__}.{name} is a {type(value).__name__}, which cannot be "
                    f"saved by default; override state_dict and load_state_dict"
                )
        return saved

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        for name, value in state.items():
            own = getattr(self, name)
            if hasattr(own, "load_state_dict"):
                own.load_state_dict(value)
            else:
                setattr(self, name, value.clone() if isinstance(value, Tensor) else value)


_STATELESS = (torch.device, gymnasium.Space, Draws)


def _is_settings(value: object) -> bool:
    """Whether it is a frozen dataclass of plain settings, not of tensors."""
    parameters = getattr(value, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return False
    return not any(isinstance(held, Tensor) for held in vars(value).values())


class LoopAgent(ABC):
    """A method that owns its training loop: a library, a script, a first attempt.

    Constructed as ``factory(spec, config)``. Each run has a process of its own, so global random
    state is allowed here. There are no checkpoints: an interrupted run starts again from its first
    step.
    """

    @abstractmethod
    def train(self, env: gymnasium.Env[Any, Any], total_steps: int, seed: int) -> None:
        """Learn from ``total_steps`` steps of ``env``, seeding everything with ``seed``.

        ``env`` records, and stops the run: a step beyond ``total_steps`` raises an exception that
        ends the training. It is seeded already and is reset only where an episode ended.
        """

    @abstractmethod
    def policy(self, obs: NDArray[Any]) -> int:
        """The evaluated policy's action for one observation ``[*obs]``; changes no state."""


def observation_shape(spec: EnvSpec) -> tuple[int, ...]:
    """Shape of one observation.

    Raises:
        TypeError: the space has no fixed shape (a dictionary, a sequence, …).
    """
    shape = spec.observation.shape
    if shape is None:
        raise TypeError(
            f"expected an observation space with a fixed shape, such as Box; got {spec.observation}"
        )
    return tuple(shape)


def observation_dtype(spec: EnvSpec) -> torch.dtype:
    """The dtype in which observations arrive: that of the space."""
    name = str(spec.observation.dtype)
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"torch has no dtype {name!r}, which {spec.observation} asks for")
    return dtype
