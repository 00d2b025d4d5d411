"""Query states: where an environment's agents are asked how uncertain they are.

They are frozen, so that all runs of a task answer the same questions, and ship as the seeds and
actions of a few trajectories that pass through them, not as arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.environment import LaneEnv
from uqbench.contract.truth import Climatology


@dataclass(frozen=True)
class QueryStates:
    """States of recorded trajectories, and observations that no trajectory reaches.

    Attributes:
        seeds: of the environments, one a trajectory.
        actions: of each trajectory, from its first step on; episodes follow each other.
        places: of each state, its trajectory and the number of steps taken before.
        unseen: turns observations ``[*, *obs]`` into ones that no trajectory reaches; None where
            the environment names none. They should have the norm of those they are made of, since
            an agent's novelty is what exceeds the norm's.
        climatology: of these states, measured by ``benchmarks/climatology.py``; None where it is
            not known, and nothing is scored against it.
    """

    seeds: tuple[int, ...]
    actions: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, int], ...]
    unseen: Callable[[Tensor], Tensor] | None = None
    climatology: Climatology | None = None

    def first(self, count: int) -> QueryStates:
        """The first ``count`` states.

        Raises:
            ValueError: there are not so many.
        """
        if count > len(self.places):
            raise ValueError(f"expected at most {len(self.places)} query states, got {count}")
        return replace(self, places=self.places[:count])


def read_trajectories(
    file: Traversable, unseen: Callable[[Tensor], Tensor] | None = None
) -> QueryStates:
    """Query states from JSON: ``{"trajectories": [{"seed", "actions"}], "states": [[i, t]]}``.

    ``actions`` is a string of digits, an action each. ``climatology``, where the file has it, is a
    table of its ``mean``, ``std`` and ``return_std``.
    """
    table = json.loads(file.read_text(encoding="utf-8"))
    return QueryStates(
        seeds=tuple(one["seed"] for one in table["trajectories"]),
        actions=tuple(tuple(int(a) for a in one["actions"]) for one in table["trajectories"]),
        places=tuple((i, t) for i, t in table["states"]),
        unseen=unseen,
        climatology=Climatology(**table["climatology"]) if "climatology" in table else None,
    )


def trajectory_table(
    seeds: Sequence[int], actions: NDArray[np.int64], places: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Recorded trajectories, and states drawn from them, as :func:`read_trajectories` reads them.

    Args:
        seeds: of the environments, one a trajectory.
        actions: ``[trajectories, steps]``.
        places: states drawn from each trajectory, one from each of as many parts.
        rng: draws the step within a part.
    """
    steps = actions.shape[1]
    return {
        "trajectories": [
            {"seed": seed, "actions": "".join(map(str, taken))}
            for seed, taken in zip(seeds, actions.tolist(), strict=True)
        ],
        # one of each trajectory, at another part of it, then the next of each
        "states": [
            [i, int((((part + i) % places) + rng.random()) * steps / places)]
            for part in range(places)
            for i in range(len(seeds))
        ],
    }


def visit(states: QueryStates, env: LaneEnv) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Follow the trajectories, one a lane of ``env``, and stop wherever a state is reached.

    Yields:
        the numbers of the states reached ``[n]``, the lanes that are there, ``[n]``, and their
        observations ``[n, *obs]``.
    """
    due: dict[int, list[int]] = {}
    for number, (_, step) in enumerate(states.places):
        due.setdefault(step, []).append(number)
    obs, _ = env.reset()
    for step in range(max(due) + 1):
        if step in due:
            numbers = torch.tensor(due[step])
            lanes = torch.tensor([states.places[number][0] for number in due[step]])
            yield numbers, lanes, obs[lanes].clone()
        taken = [actions[step] if step < len(actions) else 0 for actions in states.actions]
        obs = env.step(torch.tensor(taken)).obs
