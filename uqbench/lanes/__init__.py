"""Batches of independent runs: one lane per run, the leading dimension of every tensor.

Nothing here mixes lanes, so a lane's numbers do not depend on the other lanes of its batch. Read
``random`` first, then ``clock`` (steps as CUDA graphs). Layers, replay buffers and exploration are
in the package uqbench-lanes, by the names that they have there: ``uqbench.lanes.LaneLinear``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from uqbench.lanes.clock import Capturable, Clock
from uqbench.lanes.random import Normal, Uniform, generators

if TYPE_CHECKING:
    from uqbench_lanes.toolkit import *  # noqa: F403

__all__ = ["Capturable", "Clock", "Normal", "Uniform", "generators"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.toolkit"), name)
    globals()[name] = value
    return value
