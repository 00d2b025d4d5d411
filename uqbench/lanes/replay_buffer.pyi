"""Types of :mod:`uqbench_lanes.replay_buffer`, the module of this name."""

from uqbench_lanes.replay_buffer import *
