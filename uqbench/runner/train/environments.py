"""Lanes of a registered environment, whatever it is written as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import LaneEnv, TimeLimit
from uqbench.errors import UqbenchError
from uqbench.specs import EnvironmentSpec


def lanes_of(
    spec: EnvironmentSpec,
    config: Any,
    seeds: Sequence[int],
    limit: TimeLimit | None,
    device: torch.device,
) -> LaneEnv:
    """The environment, one lane per seed.

    Raises:
        UqbenchError: the factory made something else than the spec says.
    """
    make = spec.load_factory()
    if spec.makes_vector:
        from gymnasium.vector import VectorEnv

        from uqbench.adapters.vector import VectorLanes

        env = make(config, len(seeds))
        if not isinstance(env, VectorEnv):
            raise _wrong(spec, "vector=True", env, "gymnasium.vector.VectorEnv")
        return VectorLanes(env, seeds, limit, spec.events, device)
    if spec.makes_lanes:
        lanes = make(config, seeds, limit, device)
        if not isinstance(lanes, LaneEnv):
            raise _wrong(spec, "lanes=True", lanes, "uqbench.environment.LaneEnv")
        return lanes
    return GymnasiumLanes(
        lambda: make(config),
        seeds,
        limit,
        spec.events,
        device,
        has_state_dict=spec.has_state_dict,
    )


def _wrong(spec: EnvironmentSpec, says: str, made: object, expected: str) -> UqbenchError:
    return UqbenchError(
        f"the environment {spec.name!r} says {says} and made a {type(made).__name__}; expected a "
        f"{expected}"
    )
