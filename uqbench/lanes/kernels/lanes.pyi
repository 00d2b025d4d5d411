"""Types of :mod:`uqbench_lanes.kernels.lanes`, the module of this name."""

from uqbench_lanes.kernels.lanes import *
