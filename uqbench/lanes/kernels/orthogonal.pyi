"""Types of :mod:`uqbench_lanes.kernels.orthogonal`, the module of this name."""

from uqbench_lanes.kernels.orthogonal import *
