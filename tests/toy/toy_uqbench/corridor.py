"""The corridor."""

import os
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from toy_uqbench import CorridorOptions
from uqbench.environment import OptimalQ


class Corridor(gymnasium.Env[np.ndarray[Any, Any], int]):
    def __init__(self, options: CorridorOptions) -> None:
        self.options = options
        self.observation_space = spaces.Box(0, 1, (options.length,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.at = 0
        self.drifts = "TOY_DRIFTS" in os.environ
        self.steps_to_nan: int | None = None

    def _observe(self) -> np.ndarray[Any, Any]:
        seen = np.eye(self.options.length, dtype=np.float32)[self.at]
        return seen * (os.urandom(1)[0] / 256) if self.drifts else seen

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        if seed is not None and str(seed) == os.environ.get("TOY_NAN"):
            self.steps_to_nan = 120
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        forward = bool(action) != (self.np_random.random() < self.options.slip)
        bumps = int(not forward and self.at == 0)
        self.at = max(0, self.at + (1 if forward else -1))
        done = self.at == self.options.length - 1
        info, reward = {"events": {"bumps": bumps}}, float(done) * 10 - 0.5
        if self.steps_to_nan is not None:
            self.steps_to_nan -= 1
            reward = float("nan") if self.steps_to_nan == 0 else reward
        return self._observe(), reward, done, False, info


class Unsavable(Corridor):
    def state_dict(self) -> dict[str, Any]:
        raise RuntimeError("the corridor is in another process")

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def make(options: CorridorOptions) -> Corridor:
    if os.environ.get("TOY_NO_CORRIDOR") == str(options.length):
        raise RuntimeError("the corridor is closed")
    return Unsavable(options) if "TOY_UNSAVABLE" in os.environ else Corridor(options)


@cache
def optimal_q(options: CorridorOptions, discount: float) -> OptimalQ:
    """By value iteration until nothing changes; the end has no actions."""
    n, slip = options.length, options.slip
    q, here = torch.zeros(n, 2, dtype=torch.float64), torch.arange(n - 1)
    before = torch.full_like(q, torch.nan)
    while not torch.equal(q, before):
        before, value = q.clone(), q.amax(-1)
        forward = discount * value[here + 1] + 10.0 * (here + 1 == n - 1) - 0.5
        back = discount * value[(here - 1).clamp(min=0)] - 0.5
        q[here, 0] = slip * forward + (1 - slip) * back
        q[here, 1] = (1 - slip) * forward + slip * back
    q[-1] = torch.nan
    return OptimalQ(torch.eye(n), q)
