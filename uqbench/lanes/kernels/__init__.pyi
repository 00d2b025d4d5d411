"""Types of :mod:`uqbench_lanes.kernels`, the module of this name."""

from uqbench_lanes.kernels import *
