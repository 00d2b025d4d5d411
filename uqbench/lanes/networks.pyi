"""Types of :mod:`uqbench_lanes.networks`, the module of this name."""

from uqbench_lanes.networks import *
