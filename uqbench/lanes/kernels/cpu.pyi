"""Types of :mod:`uqbench_lanes.kernels.cpu`, the module of this name."""

from uqbench_lanes.kernels.cpu import *
