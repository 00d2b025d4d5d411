"""Types of :mod:`uqbench_lanes.optimizers`, the module of this name."""

from uqbench_lanes.optimizers import *
