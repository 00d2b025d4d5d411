"""Where agents are asked how uncertain they are: 256 states of the road.

They lie on 32 trajectories of 48 steps, eight on each, of random driving and of the planner; the
file next to this module holds seeds and actions, ``python -m uqbench_highway.tools.query_states``
made it.
"""

from __future__ import annotations

from importlib.resources import files

from torch import Tensor

from uqbench.queries import QueryStates, read_trajectories
from uqbench_highway.config import FEATURES, HighwayConfig
from uqbench_highway.simulation.observation import SIGHT

FURTHER = 20.0
"""Meters."""


def query_states(config: HighwayConfig) -> QueryStates | None:
    """The states; None for the package's backend, whose environments cannot be copied."""
    if config.backend == "oracle":
        return None
    return read_trajectories(files("uqbench_highway") / "queries.json", followed)


def followed(obs: Tensor) -> Tensor:
    """Observations ``[*, observed · 5]`` with all other cars behind, 20 m further away than before.

    No road shows them: of the cars behind only those within ten meters are observed.
    """
    cars = obs.unflatten(-1, (-1, FEATURES)).clone()
    cars[..., 1:, 0] = 1.0  # present
    cars[..., 1:, 1] = (
        -cars[..., 1:, 1].abs() - FURTHER / SIGHT
    )  # x, relative to the controlled car
    seen: Tensor = cars.flatten(-2)
    return seen
