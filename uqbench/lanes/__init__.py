"""A torch toolkit for batches of independent runs: one lane per run, the leading dimension.

Nothing here mixes lanes, so a lane's numbers do not depend on the other lanes of its batch. What
that requires of sums, products and exponentials is in :mod:`uqbench.lanes.numerics`. Read
``random`` and ``networks`` first, then ``replay_buffer``, ``exploration``, and ``clock``
(steps as CUDA graphs).
"""

from uqbench.lanes.clock import Capturable, Clock
from uqbench.lanes.exploration import (
    EpsilonGreedy,
    Exploration,
    epsilon_greedy,
    greedy,
    linear_schedule,
)
from uqbench.lanes.networks import (
    LaneConv2d,
    LaneLinear,
    initialize,
    initialize_uniform,
    lane_generators,
    sync_target,
    target_copy,
)
from uqbench.lanes.optimizers import Adam
from uqbench.lanes.random import DistinctIntegers, Normal, Uniform, generators
from uqbench.lanes.replay_buffer import ReplayBuffer, TransitionBuffer

__all__ = [
    "Adam", "Capturable", "Clock", "DistinctIntegers", "EpsilonGreedy", "Exploration",
    "LaneConv2d", "LaneLinear", "Normal", "ReplayBuffer", "TransitionBuffer", "Uniform",
    "epsilon_greedy", "generators", "greedy", "initialize", "initialize_uniform",
    "lane_generators", "linear_schedule", "sync_target", "target_copy",
]  # fmt: skip
