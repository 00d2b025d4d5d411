"""Where agents are asked how uncertain they are: 256 states of the road.

They lie on 32 trajectories of 48 steps, eight on each, of random driving and of the planner; the
file next to this module holds seeds and actions, ``python -m uqbench_highway.tools.query_states``
made it.
"""

from __future__ import annotations

from importlib.resources import files

from torch import Tensor

from uqbench.contract.queries import QueryStates, read_trajectories
from uqbench_highway.config import HighwayConfig


def query_states(config: HighwayConfig) -> QueryStates | None:
    """The states; None for the package's backend, whose environments cannot be copied."""
    if config.backend == "oracle":
        return None
    return read_trajectories(files("uqbench_highway") / "queries.json", negated)


def negated(obs: Tensor) -> Tensor:
    """Observations ``[*, observed · 5]`` with every sign turned: of the same norm.

    No road shows them: the controlled car is present, 1, and not −1.
    """
    return -obs
