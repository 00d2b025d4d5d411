"""Types of :mod:`uqbench_lanes.frame_stacks`, the module of this name."""

from uqbench_lanes.frame_stacks import *
