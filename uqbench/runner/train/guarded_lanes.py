"""Checks of what an environment returns in a run, where it enters: one sentence names the fault.

Forms are checked at every step, and so are the values of observations on a CPU, by one pass over
them, which costs microseconds. Elsewhere reading them would wait for the device: one step in
:data:`STRIDE` is looked at, and what is wrong between two looks passes. Masks are looked at as
seldom, and whenever the environment refuses an action, which may have been the mask's fault.
Rewards and counts are the recorder's: it checks each of them, a block at a time.
"""

from collections.abc import Collection

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import UqbenchError, see
from uqbench.runner.train.guards import form, named

STRIDE = 256
"""Vector steps between two looks at what is not looked at in every step."""
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
"""Dtypes of rewards, which are recorded in the first."""


class GuardedLanes:
    """An environment whose answers are checked.

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
        self.check(outcome, len(action), step)
        self._valid = outcome.valid
        return outcome

    def check(self, outcome: object, streams: int, step: int) -> None:
        """Check an outcome of so many lanes, L · K, as ``step`` does."""
        if not isinstance(outcome, Outcome):
            raise self._error(f"returned {form(outcome)}; expected an Outcome", step)
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
        if outcome.obs.device.type == "cpu":
            self._check_observations(outcome, step)

    def look(self, outcome: Outcome, step: int) -> None:
        """Check what ``step`` leaves alone; cheap but for one step in :data:`STRIDE`."""
        if step // self._actors % STRIDE:
            return
        self._check_observations(outcome, step)
        self._check_mask("valid", outcome.valid, step)
        # nothing is chosen in a terminal state
        self._check_mask("next_valid", outcome.next_valid, step, outcome.terminated)

    def _check_observations(self, outcome: Outcome, step: int) -> None:
        self._check_values("next_obs", outcome.next_obs, step)
        if outcome.obs is not outcome.next_obs:
            self._check_values("obs", outcome.obs, step)

    def _check_form(
        self, name: str, value: object, dtype: torch.dtype, shape: tuple[int, ...], step: int
    ) -> None:
        if not isinstance(value, Tensor) or value.shape != shape or value.dtype != dtype:
            what = f"returned {name} as {form(value)}; expected {dtype} of shape {shape}"
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
