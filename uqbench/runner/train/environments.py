"""Lanes of a registered environment, whatever it is written as."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from inspect import signature
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
    single = partial(make, config)
    if spec.makes_vector:
        from gymnasium.vector import VectorEnv

        from uqbench.adapters.vector import SEEDS, OnlyEnv, VectorLanes, steps_together

        seeded = "seeds" in signature(make).parameters

        def vector(seeds: list[int]) -> VectorEnv[Any, Any, Any]:
            given = {"seeds": [seed % SEEDS for seed in seeds]} if seeded else {}
            env = make(config, len(seeds), **given)
            if not isinstance(env, VectorEnv):
                raise _wrong(spec, "vector=True", env, "gymnasium.vector.VectorEnv")
            return env

        env = vector(list(seeds))
        if steps_together(env):
            return VectorLanes(env, seeds, limit, spec.events, device)
        env.close()
        single = partial(OnlyEnv, vector, seeded=seeded)
    if spec.makes_lanes:
        lanes = make(config, seeds, limit, device)
        if not isinstance(lanes, LaneEnv):
            raise _wrong(spec, "lanes=True", lanes, "uqbench.environment.LaneEnv")
        return lanes
    saved = spec.has_state_dict
    return GymnasiumLanes(single, seeds, limit, spec.events, device, has_state_dict=saved)


def _wrong(spec: EnvironmentSpec, says: str, made: object, expected: str) -> UqbenchError:
    return UqbenchError(
        f"the environment {spec.name!r} says {says} and made a {type(made).__name__}; expected a "
        f"{expected}"
    )
