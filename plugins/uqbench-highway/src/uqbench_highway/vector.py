"""The simulation as an ordinary Gymnasium vector environment.

    import gymnasium
    envs = gymnasium.make_vec("uqbench_highway.vector:uqbench/Highway-v0", num_envs=64)

Importing this module registers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from uqbench.environment import TimeLimit
from uqbench_highway.config import FEATURES, N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import HighwayLanes

ID = "uqbench/Highway-v0"

Results = tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]


class HighwayVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` roads stepped by one compiled call.

    Observations ``[num_envs, observed_vehicles, 5]`` and the five meta-actions are highway-v0's.
    When an episode ends, the next one begins in the same step; ``infos`` then has ``final_obs``
    and, in ``final_info``, ``crashed``. Returned arrays are copies.

    Args:
        num_envs: number of environments.
        max_episode_steps: truncates episodes; None for no limit.
        config: fields of :class:`uqbench_highway.config.HighwayConfig`, by name.
    """

    metadata = {  # noqa: RUF012 (as Gymnasium has it)
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": [],
    }

    def __init__(
        self, num_envs: int = 1, max_episode_steps: int | None = 40, **config: Any
    ) -> None:
        made = HighwayConfig(**config)
        if made.backend != "lanes":
            raise ValueError(
                f"the backend of {ID} must be 'lanes'; got {made.backend!r}: make the package's "
                f"own environment with gymnasium.make_vec('highway-v0', …)"
            )
        self.num_envs = num_envs
        self._shape = made.observed_vehicles, FEATURES
        self.single_observation_space = spaces.Box(-np.inf, np.inf, self._shape, np.float32)
        self.single_action_space = spaces.Discrete(N_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        limit = None if max_episode_steps is None else TimeLimit(max_episode_steps, "truncation")
        drawn = np.random.SeedSequence().generate_state(num_envs).tolist()
        self._lanes = HighwayLanes(made, drawn, limit)
        self._lanes.seed(drawn)

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: environment ``i`` gets ``seed + i``, or ``seed[i]``; None continues the random
                streams, which start from fresh entropy.
            options: none are supported.

        Raises:
            ValueError: the number of seeds is wrong, or an option is given.
        """
        if options:
            raise ValueError(f"reset takes no options; got {', '.join(options)}")
        if seed is not None:
            seeds = range(seed, seed + self.num_envs) if isinstance(seed, int) else seed
            if len(seeds) != self.num_envs:
                raise ValueError(
                    f"expected {self.num_envs} seeds, one per environment; got {seeds}"
                )
            self._lanes.seed(seeds)
        return self._copied(self._lanes.begin()), {}

    def step(self, actions: NDArray[np.int64]) -> Results:
        """Take a meta-action in every environment."""
        outcome = self._lanes.step(torch.as_tensor(actions))
        terminated, truncated = outcome.terminated.numpy().copy(), outcome.truncated.numpy().copy()
        infos: dict[str, Any] = {}
        over = terminated | truncated
        if over.any():
            final = np.full(self.num_envs, None, object)
            final_obs = self._copied(outcome.next_obs)
            for i in np.flatnonzero(over):
                final[i] = final_obs[i]
            crashed = (outcome.events["crashes"].numpy() > 0) & over
            infos = {
                "final_obs": final,
                "_final_obs": over,
                "final_info": {"crashed": crashed, "_crashed": over.copy()},
                "_final_info": over.copy(),
            }
        rewards = outcome.reward.numpy().astype(np.float64)
        return self._copied(outcome.obs), rewards, terminated, truncated, infos

    def _copied(self, obs: torch.Tensor) -> NDArray[np.float32]:
        return obs.numpy().reshape(self.num_envs, *self._shape).copy()


gymnasium.register(
    ID,
    vector_entry_point="uqbench_highway.vector:HighwayVectorEnv",
    max_episode_steps=40,
)
