"""A replay buffer as a pytree: a ring of the latest transitions of a run, of all its actors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from uqbench.contract.agent import EnvironmentInfo, observation_shape

Ring = dict[str, Array]
"""Fields ``[capacity, …]`` by name."""


def empty(capacity: int, info: EnvironmentInfo, **more: tuple[tuple[int, ...], Any]) -> Ring:
    """A ring of ``obs``, ``action``, ``reward``, ``terminated``, ``next_obs``, ``next_valid``.

    Args:
        capacity: transitions kept, of all actors; what is no multiple of K is left out.
        info: the environment.
        more: further fields by name, each as (shape, dtype).
    """
    size = min(capacity, info.total_steps) // info.actors * info.actors
    obs = observation_shape(info), info.observation_space.dtype
    fields = {
        "obs": obs,
        "action": ((), jnp.int32),
        "reward": ((), jnp.float32),
        "terminated": ((), jnp.bool_),
        "next_obs": obs,
        "next_valid": ((info.n_actions,), jnp.bool_),
        **more,
    }
    return {name: jnp.zeros((size, *shape), dtype) for name, (shape, dtype) in fields.items()}


def add(ring: Ring, t: Array, **transition: Array) -> Ring:
    """The ring with a transition of each actor, ``[K, …]`` by field, at step ``t``."""
    size = len(next(iter(ring.values())))
    return {
        name: lax.dynamic_update_slice_in_dim(
            values, transition[name].astype(values.dtype), t % size, 0
        )
        for name, values in ring.items()
    }


def sample(ring: Ring, key: Array, stored: Array, shape: tuple[int, ...]) -> Ring:
    """Transitions ``[*shape, …]``, drawn with repeats from those of ``stored`` steps.

    Draw before a loop, not in it: XLA copies a ring that is read in a loop and kept.
    """
    size = len(next(iter(ring.values())))
    index = jax.random.randint(key, shape, 0, jnp.minimum(stored, size))
    return {name: values[index] for name, values in ring.items()}
