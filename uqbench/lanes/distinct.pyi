"""Types of :mod:`uqbench_lanes.distinct`, the module of this name."""

from uqbench_lanes.distinct import *
