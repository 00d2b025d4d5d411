"""Types of :mod:`uqbench_lanes.products`, the module of this name."""

from uqbench_lanes.products import *
