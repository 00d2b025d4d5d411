"""Names of ``uqbench.lanes`` that are this package's; the others are uqbench's own."""

from uqbench_lanes.distinct import DistinctIntegers
from uqbench_lanes.exploration import (
    EpsilonGreedy,
    Exploration,
    epsilon_greedy,
    greedy,
    linear_schedule,
)
from uqbench_lanes.networks import (
    LaneConv2d,
    LaneLinear,
    initialize,
    initialize_uniform,
    lane_generators,
    sync_target,
    target_copy,
)
from uqbench_lanes.optimizers import Adam
from uqbench_lanes.replay_buffer import ReplayBuffer, TransitionBuffer

__all__ = [
    "Adam", "DistinctIntegers", "EpsilonGreedy", "Exploration", "LaneConv2d", "LaneLinear",
    "ReplayBuffer", "TransitionBuffer", "epsilon_greedy", "greedy", "initialize",
    "initialize_uniform", "lane_generators", "linear_schedule", "sync_target", "target_copy",
]  # fmt: skip
