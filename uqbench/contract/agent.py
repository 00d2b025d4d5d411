"""The Agent contract: a learning decision-maker, written for lanes.

Every tensor has the lanes as its leading dimension; one run is ``L = 1``. What lane ``i`` does
depends on ``seeds[i]`` alone, never on the other lanes. A run has K actors, copies of its
environment that step together and feed one learner: tensors of training are ``[L, K, …]``, and
steps are environment steps of a run, K in a vector step.

Shapes: ``L`` lanes, ``K`` actors, ``M`` observations per lane, ``A`` actions, ``N`` atoms of a
return distribution, ``S`` posterior samples, ``*obs`` one observation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.errors import CannotSaveError


class Agent(ABC):
    """A method that learns while it acts, one ``act`` and one ``observe`` per step.

    Constructed as ``factory(info, seeds, config, device)``, with one seed per lane. What compiling
    and CUDA graphs need is a mixin of its own, :class:`uqbench.lanes.Capturable`.
    """

    shared_by_lanes: ClassVar[tuple[str, ...]] = ()
    """What of ``exported_state()`` has no lanes, by name: ``support``, or ``net.scale`` in it."""

    @abstractmethod
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Training actions ``[L, K]`` for ``obs`` ``[L, K, *obs]`` among ``valid`` ``[L, K, A]``.

        Called exactly once between two calls of ``observe``.
        """

    @abstractmethod
    def observe(self, step: Step) -> None:
        """Learn from one transition of every actor, K environment steps.

        An agent that needs to know the step counts: ``self.t += info.actors``, or a
        :class:`uqbench.lanes.Clock`, which counts on the device, too.
        """

    @abstractmethod
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[L, M]`` of the evaluated policy among ``valid`` ``[L, M, A]``.

        Pure: changes no state and uses no training noise.
        """

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Predictions for ``obs`` ``[L, M, *obs]``, or None where the agent makes none."""
        return None

    def metrics(self) -> Mapping[str, Tensor]:
        """Diagnostics ``[L]`` by name, recorded at intervals."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs to equal an uninterrupted one.

        By default every attribute: tensors and numbers as they are, modules, optimizers, replay
        buffers and the like by their own ``state_dict``. Frozen dataclasses, devices and spaces
        have nothing to save.

        Raises:
            TypeError: an attribute is of another kind; override both methods then.
        """
        return self._state_of(vars(self))

    def _state_of(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        saved = {}
        for name, value in attributes.items():
            if callable(getattr(type(self), name, None)):
                continue  # a method, replaced by its compiled version
            if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
                saved[name] = value.state_dict()
            elif isinstance(value, Tensor):
                saved[name] = value.clone()
            elif isinstance(value, int | float | str | None):
                saved[name] = value
            elif not isinstance(value, torch.device | gymnasium.Space) and not _is_config(value):
                raise TypeError(
                    f"{type(self).__name__}.{name} is a {type(value).__name__}, which cannot be "
                    f"saved by default; override state_dict and load_state_dict"
                )
        return saved

    def exported_state(self) -> dict[str, Any]:
        """The part of ``state_dict()`` that acting needs, for ``--keep-agents``.

        By default all but the attributes that say ``exported = False``, such as replay buffers.

        From a batch, a run keeps its lane's part: tensors have the lanes first, ``[L, …]`` or
        ``[L·n, …]`` with the n rows of a lane together. What ``shared_by_lanes`` names, tensors
        without dimensions and whatever is no tensor are the same for all lanes.
        """
        kept = {n: value for n, value in vars(self).items() if getattr(value, "exported", True)}
        if type(self).state_dict is Agent.state_dict:  # a replay buffer is not even copied
            return self._state_of(kept)
        left_out = vars(self).keys() - kept
        return {name: part for name, part in self.state_dict().items() if name not in left_out}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, attributes in the order in which they were assigned."""
        for name, value in state.items():
            own = getattr(self, name)
            if hasattr(own, "load_state_dict"):
                own.load_state_dict(value)
            else:
                setattr(self, name, value.clone() if isinstance(value, Tensor) else value)


@dataclass(frozen=True)
class EnvironmentInfo:
    """Facts about the environment that an agent has before the first step.

    Attributes:
        observation_space: of one observation.
        n_actions: A.
        discount: γ.
        total_steps: environment steps of a run, of all its actors together.
        stacks_frames: whether observations ``[frames, *frame]`` are the last frames of an episode,
            the newest last, its first one repeated while there are fewer; a replay buffer can then
            keep every frame once.
        actors: K, of a run.
        runs: numbers of the runs, k of ``--seed k``, one a lane; seeds are derived from them.
    """

    observation_space: gymnasium.Space[Any]
    n_actions: int
    discount: float
    total_steps: int
    stacks_frames: bool = False
    actors: int = 1
    runs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """One transition of every actor.

    The tensors may be overwritten by the next step, so an agent that keeps one beyond ``observe``
    (an n-step window, a trace) keeps a copy, ``step.obs.clone()``, or stores the step in a
    :class:`uqbench.lanes.ReplayBuffer`. Nor may it write into them: in a run they are copies, so
    that nothing else would change, but ``uqbench plugin check`` refuses it.

    Attributes:
        obs: ``[L, K, *obs]``, observed before the action.
        action: ``[L, K]`` int64.
        reward: ``[L, K]`` float32.
        terminated: ``[L, K]`` bool, the episode ended in a terminal state.
        truncated: ``[L, K]`` bool, the episode was cut off; bootstrap from ``next_obs``.
        next_obs: ``[L, K, *obs]``, the final observation where an episode ended.
        valid_actions: ``[L, K, A]`` bool for ``next_obs``, or None where all are valid.
    """

    obs: Tensor
    action: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    next_obs: Tensor
    valid_actions: Tensor | None = None

    def of_actor(self, actor: int = 0) -> Step:
        """The transitions ``[L, …]`` of one actor; all there is where K = 1."""
        tensors = {name: x for name, x in vars(self).items() if isinstance(x, Tensor)}
        return replace(self, **{name: x[:, actor] for name, x in tensors.items()})


@dataclass(frozen=True)
class Uncertainty:
    """Predictions of an agent about its values; None where it predicts nothing.

    Variances are in squared return units. Shapes are ``[L, M, A]`` except for return distributions
    (``[L, M, A, N]``, probabilities summing to one) and posterior samples of Q (``[L, M, A, S]``).
    Where Q* is known, predictions are scored against it
    (:mod:`uqbench.uncertainty.interval_scores`).

    Attributes:
        mean: of Q.
        epistemic_var: the variance of Q that more data would reduce; of few networks divided by
            their number less one.
        epistemic_dof: degrees of freedom of ``epistemic_var`` about ``mean``, where it is the
            variance of few networks which are not predicted as ``value_samples``; infinite where
            it is no sample's and ``value_samples`` are few.
        quantile_epistemic_var: the same of the return distribution's quantiles, averaged over them;
            at least ``epistemic_var`` (Clements et al. 2019, equation 4).
        aleatoric_var: the variance of the return that remains when everything is known.
        return_atoms: values of the return distribution,
        return_probs: and their probabilities.
        value_samples: of the posterior of Q.
        oracle_var: where ``epistemic_var`` approximates a variance that can also be computed
            exactly or by sampling, that variance.
    """

    mean: Tensor | None = None
    epistemic_var: Tensor | None = None
    quantile_epistemic_var: Tensor | None = None
    aleatoric_var: Tensor | None = None
    return_atoms: Tensor | None = None
    return_probs: Tensor | None = None
    value_samples: Tensor | None = None
    oracle_var: Tensor | None = None
    epistemic_dof: Tensor | None = None


class LoopAgent(ABC):
    """A method that owns its training loop: a library, a script, a first attempt.

    Constructed as ``factory(info, config)``. Each run has its own process, so global random state
    is allowed here. There are no checkpoints: an interrupted run starts over.

    While it trains, valid actions are ``info["action_mask"]`` ``[A]``, where the environment has
    masks.
    """

    @abstractmethod
    def train(self, env: Any, total_steps: int, seed: int) -> None:
        """Learn from ``total_steps`` steps of ``env``, seeding everything with ``seed``.

        That is a number of its own for each suite, task, method and run; the run's number is
        ``info.runs[0]``.

        ``env`` is a ``gymnasium.Env``; where a run has K > 1 actors (``AgentSpec(vector=True)``), a
        ``gymnasium.vector.VectorEnv`` of K that begins a next episode in the step that ends one
        (``SAME_STEP``), and a step of it is K steps.

        ``env`` records the run and ends it: a step beyond ``total_steps`` raises an exception that
        ends the training. It is already seeded; reset it only between episodes, a vector
        environment only once.
        """

    @abstractmethod
    def policy(self, obs: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> int:
        """The evaluated policy's action for one observation ``[*obs]``; changes no state.

        One of the ``valid`` actions ``[A]``; of all where that is None.
        """

    def uncertainty(self, obs: NDArray[Any]) -> Uncertainty | None:
        """Predictions for ``obs`` ``[M, *obs]`` as of one lane: tensors ``[1, M, A, …]``.

        None where the method makes none; changes no state.
        """
        return None

    def metrics(self) -> Mapping[str, float]:
        """Diagnostics by name, recorded at intervals while it trains."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The state that ``policy`` and ``uncertainty`` need, for ``--keep-agents``.

        Tensors, numbers, strings, bytes and None, in dictionaries and lists.

        Raises:
            CannotSaveError: it cannot be saved, which is the default; the run keeps no agent.
        """
        raise CannotSaveError(f"{type(self).__name__} has no state_dict")

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, into a method that has not been trained."""
        raise CannotSaveError(f"{type(self).__name__} has no load_state_dict")


def observation_shape(info: EnvironmentInfo) -> tuple[int, ...]:
    """Shape of one observation.

    Raises:
        TypeError: the space has no fixed shape (a dictionary, a sequence, …).
    """
    space = info.observation_space
    if space.shape is None:
        raise TypeError(
            f"expected an observation space with a fixed shape, such as Box; got {space}"
        )
    return tuple(space.shape)


def observation_dtype(info: EnvironmentInfo) -> torch.dtype:
    """Dtype of an observation, that of its space."""
    name = str(info.observation_space.dtype)
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"torch has no dtype {name!r}, which {info.observation_space} asks for")
    return dtype


def _is_config(value: object) -> bool:
    """Whether it is a frozen dataclass of plain values, not of tensors."""
    parameters = getattr(value, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return False
    return not any(isinstance(held, Tensor) for held in vars(value).values())


class Policy(Protocol):
    """Something that acts: an ``Agent``, or what stands for a ``LoopAgent``."""

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[L, M]`` of the evaluated policy for observations ``[L, M, *obs]``."""


class Queried(Policy, Protocol):
    """A policy that is asked how uncertain it is."""

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Predictions for ``obs`` ``[L, M, *obs]``, or None where the agent makes none."""
