"""Checks of what a plugin returns in a run, where it enters: one sentence names the fault.

Forms are checked at every step, which costs microseconds; values where the device is read anyway.
``uqbench plugin check`` finds the same before any run, and says how to repair it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.agent import Policy, Queried, Uncertainty
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import UqbenchError, see
from uqbench.uncertainty.plain import PLAIN, check_uncertainty, form_of, plain_parts
from uqbench.uncertainty.scores import PREFIXES
from uqbench.uncertainty.validity import Speaker

MEASURED = ("reward", "evaluation_return")
SCORED = ("events/", *PREFIXES)
"""Names of what the harness records itself, and what such names begin with."""


def named(thing: object) -> str:
    """The class of an object and the package that it is from: ``Walker of toy_uqbench``."""
    while (inner := getattr(thing, "stands_for", None)) is not None:
        thing = inner  # a method that owns its loop, or an environment of another library
    kind = type(thing)
    return f"{kind.__name__} of {kind.__module__.partition('.')[0]}"


def check_action(agent: object, action: object, shape: tuple[int, ...], step: int, by: str) -> None:
    """Refuse actions of another shape or dtype.

    Raises:
        UqbenchError: names the class, the step and what was expected.
    """
    if type(action) is not Tensor or action.shape != shape or action.dtype != torch.int64:
        raise UqbenchError(
            f"the agent's {by} returned {form_of(action)}; expected torch.int64 of shape {shape}, "
            f"a tensor with an action for each observation ({named(agent)}, step {step})"
            f"{see('wrong-action')}"
        )


def check_range(
    agent: object, action: Tensor, n_actions: int, step: int, valid: Tensor | None = None
) -> None:
    """Refuse actions that there are not, or that a mask forbids; waits for the device.

    Raises:
        UqbenchError: names the action, the lane, the step and the class.
    """
    if not action.numel():
        return
    least, most = action.aminmax()
    if not (least.item() >= 0 and most.item() < n_actions):
        wrong = ((action < 0) | (action >= n_actions)).nonzero()[0].tolist()
        raise UqbenchError(
            f"the agent chose action {int(action[tuple(wrong)])}; expected a valid one of 0 to "
            f"{n_actions - 1} (lane {wrong[0]}, step {step}, {named(agent)})"
            f"{see('wrong-action')}"
        )
    if valid is None:
        return
    allowed = valid.gather(-1, action[..., None])[..., 0]
    allowed = allowed | ~valid.any(-1)  # the mask's own fault
    if not allowed.all():
        wrong = (~allowed).nonzero()[0].tolist()
        known = valid[tuple(wrong)].nonzero().flatten().tolist()
        raise UqbenchError(
            f"the agent chose action {int(action[tuple(wrong)])}, which its mask forbids; expected "
            f"one of {known} (lane {wrong[0]}, step {step}, {named(agent)}){see('wrong-action')}"
        )


def check_metrics(agent: object, metrics: Mapping[str, object], lanes: int) -> None:
    """Refuse metrics that are not one number a lane, or are named as what is measured.

    Raises:
        UqbenchError: names the metric and the class.
    """
    for name, value in metrics.items():
        if name in MEASURED or name.startswith(SCORED):
            raise UqbenchError(
                f"the agent reports a metric {name!r}, which is measured here, not by agents; "
                f"expected another name ({named(agent)}){see('wrong-metric')}"
            )
        if type(name) is not str or not name.isprintable() or name.strip() != (name or None):
            raise UqbenchError(
                f"the agent reports a metric named {name!r:.100}; expected a word of printable "
                f"characters without spaces at its ends ({named(agent)}){see('wrong-metric')}"
            )
        form = form_of(value)
        if type(value) is Tensor and not value.is_complex():
            form = str(tuple(value.shape))
        if form != str((lanes,)):
            raise UqbenchError(
                f"the agent's metric {name!r} is {form}; expected a tensor of shape ({lanes},), a "
                f"number for each lane ({named(agent)}){see('wrong-metric')}"
            )


@overload
def copied(values: Tensor) -> Tensor: ...


@overload
def copied(values: None) -> None: ...


def copied(values: Tensor | None) -> Tensor | None:
    """A copy of the values, in memory that nobody else holds."""
    return None if values is None else values.clone()


def in_place(buffer: Tensor | None, values: Tensor | None) -> Tensor | None:
    """The values, in the buffer where there is one."""
    return copied(values) if buffer is None or values is None else buffer.copy_(values)


def chosen(agent: Policy, obs: Tensor, valid: Tensor | None, n_actions: int, step: int) -> Tensor:
    """A copy of the actions ``[L, M]`` that an agent chooses for copies of ``[L, M, *obs]``.

    Their range is looked at on a CPU alone: elsewhere that would wait for the device.

    Raises:
        UqbenchError: they are no actions, there are no such, or the mask forbids them.
    """
    action = agent.policy(obs.clone(), copied(valid))
    check_action(agent, action, tuple(obs.shape[:2]), step, "policy")
    if action.device.type == "cpu":
        check_range(agent, action, n_actions, step, valid)
    return action.clone()


@dataclass(frozen=True)
class Checked:
    """An agent that, when it is asked, can write into nothing that others read.

    Neither into the states that it is asked about, nor, later, into an answer that it gave. It is
    refused where its answer is none.

    Attributes:
        stands_for: the agent that answers.
        n_actions: A.
        step: steps taken.
    """

    stands_for: Queried
    n_actions: int
    step: int

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Its actions ``[L, M]`` for observations ``[L, M, *obs]``."""
        return chosen(self.stands_for, obs, valid, self.n_actions, self.step)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Its predictions for observations ``[L, M, *obs]``.

        Raises:
            UqbenchError: they are not valid.
        """
        stated, when = self.stands_for.uncertainty(obs.clone()), f"after {self.step} steps"
        by = Speaker("agent", named(self.stands_for), when, see("wrong-uncertainty"))
        if stated is None:
            return None
        said = plain_parts(stated, Uncertainty, by)
        check_uncertainty(said, (obs.shape[0], obs.shape[1]), self.n_actions, by)
        return said


STRIDE = 256
"""Vector steps between two looks at what is not looked at in every step."""
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
"""Dtypes of rewards, which are recorded in the first."""


class GuardedLanes:
    """An environment whose answers are checked.

    Forms are checked at every step, and so are the values of observations and masks on a CPU, by
    one pass over them, which costs microseconds. Elsewhere reading them would wait for the device:
    one step in :data:`STRIDE` is looked at, and what is wrong between two looks passes; masks also
    whenever the environment refuses an action, which may have been the mask's fault.
    Rewards and counts are the recorder's: it checks each of them, a block at a time.

    Args:
        env: ``[L · K]`` lanes.
        events: names that its plugin declares.
        actors: K.

    Raises:
        UqbenchError: its observations have no fixed shape; from the methods: names the class, the
            step, of values the lane, what was expected and what to do.
    """

    def __init__(self, env: LaneEnv, events: Collection[str] = (), actors: int = 1) -> None:
        self._env, self._events, self._actors = env, events, actors
        self._low, self._high = _bounds(env)
        self._lowest, self._highest = float(self._low.min()), float(self._high.max())
        self._uniform = bool(
            (self._low == self._lowest).all() & (self._high == self._highest).all()
        )
        dtype, ends = self._low.dtype, (self._lowest, self._highest)
        limits = None if dtype.is_floating_point or dtype == torch.bool else torch.iinfo(dtype)
        full = limits is not None and self._uniform and ends == (limits.min, limits.max)
        self._valid: Tensor | None = None  # in what is acted on
        self._any_is_inside = dtype == torch.bool or full

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """The first observations ``[L · K, *obs]``, and the valid actions."""
        obs, valid = self._env.reset()
        lanes = len(obs) if isinstance(obs, Tensor) and obs.dim() else 0
        self._check_form("obs", obs, self._low.dtype, (lanes, *self._low.shape), 0)
        self._check_values("obs", obs, 0)
        self._check_mask("valid", valid, 0)
        self._valid = valid
        return obs, valid

    def step(self, action: Tensor, step: int) -> Outcome:
        """Take one action ``[L · K]`` in every lane, after so many steps of each run."""
        try:
            outcome = self._env.step(action)
        except Exception:
            self._check_mask("valid", self._valid, step)
            raise
        if type(outcome) is Outcome and type(outcome.events) is not dict:
            outcome = replace(outcome, events={**outcome.events})  # looked into once
        self.check(outcome, len(action), step)
        self._valid = outcome.valid
        return outcome

    def check(self, outcome: object, streams: int, step: int) -> None:
        """Check an outcome of so many lanes, L · K, as ``step`` does."""
        if type(outcome) is not Outcome:
            raise self._error(f"returned {form_of(outcome)}; expected an Outcome itself", step)
        lanes, reward = (streams,), getattr(outcome.reward, "dtype", None)
        float_of_any_size = reward if reward in FLOATS else FLOATS[0]
        observation = self._low.dtype, (*lanes, *self._low.shape)
        self._check_form("reward", outcome.reward, float_of_any_size, lanes, step)
        self._check_form("terminated", outcome.terminated, torch.bool, lanes, step)
        self._check_form("truncated", outcome.truncated, torch.bool, lanes, step)
        self._check_form("obs", outcome.obs, *observation, step)
        self._check_form("next_obs", outcome.next_obs, *observation, step)
        for name in self._events:
            if name not in outcome.events:
                raise UqbenchError(
                    f"the environment did not count the event {name!r}, which its plugin declares; "
                    f"it counted {sorted(outcome.events)} ({named(self._env)}, step {step})"
                    f"{see('undeclared-event')}"
                )
            count = outcome.events[name]
            if type(count) not in PLAIN or count.shape != lanes or count.is_complex():
                what = f"returned event {name!r} as {form_of(count)}; expected counts {lanes}"
                raise self._error(what, step)
        if outcome.obs.device.type == "cpu":
            self._check_observations(outcome, step)

    def look(self, outcome: Outcome, step: int) -> None:
        """Check what ``step`` leaves alone; cheap but for one step in :data:`STRIDE`."""
        if not step // self._actors % STRIDE:
            self._check_observations(outcome, step)

    def _check_observations(self, outcome: Outcome, step: int) -> None:
        self._check_values("next_obs", outcome.next_obs, step)
        if outcome.obs is not outcome.next_obs:
            self._check_values("obs", outcome.obs, step)
        self._check_mask("valid", outcome.valid, step)
        # nothing is chosen in a terminal state
        self._check_mask("next_valid", outcome.next_valid, step, outcome.terminated)

    def _check_form(
        self, name: str, value: Any, dtype: torch.dtype, shape: tuple[int, ...], step: int
    ) -> None:
        if type(value) not in PLAIN or value.shape != shape or value.dtype != dtype:
            what = f"returned {name} as {form_of(value)}; expected {dtype} of shape {shape}"
            raise self._error(what, step)

    def _check_values(self, name: str, obs: Tensor, step: int) -> None:
        if self._any_is_inside or self._is_inside(obs := obs.cpu()):
            return
        lane, *at = (~((obs >= self._low) & (obs <= self._high))).nonzero()[0].tolist()
        low, high = (end[tuple(at)].item() for end in (self._low, self._high))
        what = (
            f"returned {obs[(lane, *at)].item():.6g} in {name}{at or ''}; expected a finite number "
            f"from {low:.6g} to {high:.6g}, as its observation_space says: mend or clip it, or "
            f"widen the space"
        )
        raise self._error(what, step, lane)

    def _is_inside(self, obs: Tensor) -> bool:
        if self._uniform:
            least, most = obs.aminmax()  # NaN where one is
            return self._lowest <= least.item() and most.item() <= self._highest
        return obs.equal(obs.clamp(self._low, self._high))  # NaN equals nothing

    def _check_mask(
        self, name: str, valid: Tensor | None, step: int, unless: Tensor | None = None
    ) -> None:
        if valid is None:
            return
        self._check_form(name, valid, torch.bool, (len(valid), self._env.n_actions), step)
        none = ~valid.any(-1) if unless is None else ~(valid.any(-1) | unless)
        if none.any():
            what = f"returned a {name} that allows no action; expected one at least in every state"
            raise self._error(what, step, int(none.nonzero()[0]))

    def _error(self, what: str, step: int, lane: int | None = None) -> UqbenchError:
        where = "" if lane is None else f"lane {lane // self._actors}, "
        return UqbenchError(
            f"the environment {what} ({named(self._env)}, {where}step {step}){see('wrong-outcome')}"
        )


def _bounds(env: LaneEnv) -> tuple[Tensor, Tensor]:
    """The least and greatest values of an observation, finite, in its dtype and shape."""
    space = env.observation_space
    if isinstance(space, spaces.Box):
        low, high = space.low, space.high
        if np.issubdtype(low.dtype, np.floating):
            largest = np.finfo(low.dtype).max
            low, high = low.clip(-largest, largest), high.clip(-largest, largest)
    elif isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        several = space.n if isinstance(space, spaces.Discrete) else 2
        count = space.nvec if isinstance(space, spaces.MultiDiscrete) else several
        low = np.full(space.shape or (), getattr(space, "start", 0), space.dtype)
        high = low + np.asarray(count - 1, space.dtype)
    else:
        raise UqbenchError(
            f"the observation space of {named(env)} is {space}; expected a Box, Discrete, "
            f"MultiDiscrete or MultiBinary{see('wrong-outcome')}"
        )
    return torch.tensor(low), torch.tensor(high)
