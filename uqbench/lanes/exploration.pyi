"""Types of :mod:`uqbench_lanes.exploration`, the module of this name."""

from uqbench_lanes.exploration import *
