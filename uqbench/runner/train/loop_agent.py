"""Training a method that owns its loop."""

import copy
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, SupportsInt

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import LoopAgent, Uncertainty
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import UqbenchError
from uqbench.lanes.adapters.vector import LaneVectorEnv
from uqbench.runner.train.guards import GuardedLanes
from uqbench.runner.train.recorder import Recorder


class StepsExhaustedError(Exception):
    """Raised by the environment's step after the run's last one."""


class RecordedLanes(LaneEnv):
    """The environment of one run, a lane an actor, that records every step and stops the run.

    Args:
        lanes: K lanes.
        steps: length of the run, of all its actors together.
        recorder: takes in every outcome.
        after_step: called with the number of steps taken, after each vector step but the last: the
            caller does that once the method has learned from it.

    Attributes:
        steps: the same.
        taken: steps so far.
        obs: what the method is to act on next, ``[K, *obs]``.
    """

    def __init__(
        self, lanes: LaneEnv, steps: int, recorder: Recorder, after_step: Callable[[int], None]
    ) -> None:
        self.observation_space = copy.deepcopy(lanes.observation_space)
        self.n_actions = lanes.n_actions
        self._lanes = GuardedLanes(lanes, recorder.events, recorder.actors)
        self.taken, self.steps = 0, steps
        self._recorder, self._after_step = recorder, after_step
        self.obs, self._valid = self._lanes.reset()
        self._in_episode = False

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """The first observations of the next episodes; the run's own seed stays.

        Raises:
            UqbenchError: an episode is in progress: training does not cut episodes off.
        """
        if self._in_episode:
            raise UqbenchError(
                "the training environment was reset in the middle of an episode; step it until "
                "terminated or truncated, and evaluate in a separate environment"
            )
        return self.obs, self._valid

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane.

        Raises:
            StepsExhaustedError: the run's last step was taken before.
        """
        if self.taken == self.steps:
            raise StepsExhaustedError
        outcome = self._stepped(action)
        self._recorder.step(outcome)
        self.taken += len(action)
        if self.taken < self.steps:
            self._after_step(self.taken)
        return outcome

    def _stepped(self, action: Tensor) -> Outcome:
        outcome = self._lanes.step(action, self.taken)
        self._in_episode = not bool((outcome.terminated | outcome.truncated).all())
        self.obs, self._valid = outcome.obs, outcome.valid
        return outcome


class SingleEnv(gymnasium.Env[NDArray[Any], Any]):
    """One lane as a Gymnasium environment, whose next episode begins with ``reset``."""

    def __init__(self, lane: LaneEnv) -> None:
        self.observation_space = lane.observation_space
        self.action_space = spaces.Discrete(lane.n_actions)
        self._lane = lane

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """The first observation of the next episode; the lane has its own seed."""
        obs, valid = self._lane.reset()
        return _single(obs), _mask_info(valid)

    def step(self, action: SupportsInt) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Take one action."""
        outcome = self._lane.step(torch.tensor([chosen(action, "the loop")]))
        return (
            _single(outcome.next_obs),
            float(outcome.reward[0]),
            bool(outcome.terminated[0]),
            bool(outcome.truncated[0]),
            _mask_info(outcome.next_valid),
        )


class SinglePolicy:
    """A ``LoopAgent`` as an agent of one lane; its policy is asked one observation at a time.

    Raises:
        UqbenchError: its policy takes no valid actions.
    """

    def __init__(self, agent: LoopAgent) -> None:
        self.stands_for = agent
        try:
            signature(agent.policy).bind(None, valid=None)
        except TypeError as error:
            raise UqbenchError(
                f"{type(agent).__name__}.policy is defined as policy{signature(agent.policy)}; "
                f"expected policy(self, obs, valid=None), valid actions [A] or None: add valid=None"
            ) from error

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[1, M]`` for observations ``[1, M, *obs]``, among ``valid`` ``[1, M, A]``."""
        asked = obs[0].cpu().numpy()
        masks = [None] * len(asked) if valid is None else valid[0].cpu().numpy()
        pairs = zip(asked, masks, strict=True)
        name = f"{type(self.stands_for).__name__}.policy"
        said = [self.stands_for.policy(one, valid=m) for one, m in pairs]
        return torch.tensor([[chosen(action, name) for action in said]])

    def metrics(self) -> dict[str, Tensor]:
        """Its own metrics, ``[1]`` by name.

        Raises:
            UqbenchError: a metric is not a number.
        """
        metrics = {}
        for name, value in self.stands_for.metrics().items():
            try:
                metrics[name] = torch.tensor([float(value)])
            except (TypeError, ValueError) as error:
                raise UqbenchError(
                    f"{type(self.stands_for).__name__}.metrics returned {name!r} as {value!r}; "
                    f"expected a number"
                ) from error
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """The method's own."""
        return self.stands_for.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.stands_for.load_state_dict(state)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Predictions for observations ``[1, M, *obs]``."""
        return self.stands_for.uncertainty(obs[0].cpu().numpy())


def train(
    agent: LoopAgent, recorded: RecordedLanes, steps: int, seed: int, actors: int = 1
) -> None:
    """Let a method train until the environment stops it.

    Raises:
        UqbenchError: it returned before taking all its steps.
    """
    env: Any = SingleEnv(recorded)
    if actors > 1:
        env = LaneVectorEnv(lambda _: recorded, actors)
    try:
        agent.train(env, steps, seed)
    except StepsExhaustedError:
        return  # the normal end of a loop that never returns
    if recorded.taken < steps:
        raise UqbenchError(f"train returned after {recorded.taken} of {steps} steps")


def chosen(action: Any, who: str) -> int:
    """The action that somebody chose for one observation.

    Raises:
        UqbenchError: it is no whole number, or not one alone.
    """
    array = np.asarray(action.detach().cpu() if isinstance(action, Tensor) else action)
    if array.size == 1 and array.dtype.kind in "biuf" and float(array.item()).is_integer():
        return int(array.item())
    raise UqbenchError(
        f"{who} chose {ascii(action)[:80]} for one observation: expected one action, "
        f"a whole number."
    )


def _single(obs: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = obs[0].cpu().numpy().copy()  # the method may write into it
    return array


def _mask_info(valid: Tensor | None) -> dict[str, Any]:
    return {} if valid is None else {"action_mask": valid[0].cpu().numpy().copy()}
