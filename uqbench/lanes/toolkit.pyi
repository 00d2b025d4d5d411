"""Types of :mod:`uqbench_lanes.toolkit`, the module of this name."""

from uqbench_lanes.toolkit import *
