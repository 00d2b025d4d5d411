"""Types of :mod:`uqbench_lanes.numerics`, the module of this name."""

from uqbench_lanes.numerics import *
