"""Types of :mod:`uqbench_lanes.kernels.cuda`, the module of this name."""

from uqbench_lanes.kernels.cuda import *
