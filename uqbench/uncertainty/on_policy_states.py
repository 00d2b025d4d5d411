"""States of a run's own last tenth of training: its agent is asked there, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.environment import LaneEnv
from uqbench.identity import Run
from uqbench.lanes.random import generators
from uqbench.truth import Truth
from uqbench.uncertainty.query_sources import Asked, Rollouts

LATE = 0.1
"""Share of training from which states are kept."""


class OwnStates:
    """Copies of the training environment's lanes, at steps drawn in advance.

    Of the last tenth of training's steps, ``count`` are drawn for every lane without replacement,
    by the lane's seed alone: the same as a reservoir, since the length of a run is known. Nothing
    in training depends on it. With actors a step is one of them: the state that it acts on next.

    Args:
        rollouts: make the truth.
        runs: of the batch, one a lane.
        count: K, states of a lane.
        steps: of a run.
        actors: of a run.

    Attributes:
        name: stands before the names of the scores.
    """

    name = "own/"

    def __init__(
        self, rollouts: Rollouts, runs: Sequence[Run], count: int, steps: int, actors: int = 1
    ) -> None:
        first = steps - max(count + actors, round(LATE * steps))
        if first < 0:
            raise ValueError(f"expected a run of more than {count} steps, got {steps}")
        self._rollouts = rollouts
        self._steps, self._count, self._lanes = steps, count, len(runs)
        self._actors = actors
        self._due: dict[int, list[tuple[int, int]]] = {}
        for lane, run in enumerate(runs):
            (generator,) = generators([run.agent_seed], "own states", 0)
            drawn = generator.permutation(steps - first - actors)[:count]
            for slot, step in enumerate(sorted(drawn.tolist())):
                vector_step, actor = divmod(first + step, actors)
                place = lane * actors + actor, lane * count + slot
                self._due.setdefault((vector_step + 1) * actors, []).append(place)
        self._env = rollouts.make([0] * (count * len(runs)))
        obs, _ = self._env.reset()
        self._obs = torch.zeros_like(obs)

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Keep the lanes that are due after ``step`` steps.

        Args:
            step: steps taken.
            env: the training environment.
            obs: what its lanes are to act on next, ``[L, K, *obs]``.
        """
        due = self._due.get(step)
        if due is not None:
            lanes, slots = (torch.tensor(x, device=obs.device) for x in zip(*due, strict=True))
            self._env.copy_lanes(slots, env, lanes, random_numbers=True)
            self._obs[slots] = obs.flatten(0, 1)[lanes]

    def obs(self, agent: Asked, step: int) -> Tensor | None:
        """Of the states of each lane, at the end of training."""
        if step < self._steps:
            return None
        obs: Tensor = self._obs.unflatten(0, (self._lanes, self._count))
        return obs

    def truth(self, agent: Asked, step: int) -> Truth:
        """By rollouts."""
        place = torch.arange(self._lanes * self._count).view(self._lanes, -1)
        return self._rollouts.truth(agent, self._env, place, "own queries", step)

    def unseen(self, obs: Tensor) -> None:
        """None: what no trajectory reaches is asked next to the frozen states."""

    def visits(self) -> None:
        """None: training came to each of them by what they are."""

    def state_dict(self) -> dict[str, Any]:
        """What was kept so far."""
        return {"env": self._env.state_dict(), "obs": self._obs.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._env.load_state_dict(state["env"])
        self._obs.copy_(state["obs"])
