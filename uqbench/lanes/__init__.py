"""A torch toolkit for batches of independent runs: one lane a run, the leading dimension.

Nothing here mixes lanes, so that a lane's numbers do not depend on which others run beside it.
On a CPU this holds bit for bit with one torch thread a process for elementwise operations and
batched products, given ``MKL_CBWR`` (workers set it: without, MKL chooses kernels by address, and
sizes that are no multiple of four floats differ). It does not hold for ``torch.linalg.solve``, for
the weight gradients of grouped convolutions, nor for sums over a *leading* dimension: move that to
the end. Compiled, it does not hold for sums of few numbers per lane either, such as the mean over a
batch: take them outside.
"""

from uqbench.lanes.clock import Clock
from uqbench.lanes.explore import epsilon_greedy, epsilon_random, greedy, linear_schedule
from uqbench.lanes.networks import LaneConv2d, LaneLinear, initialise, lane_generators
from uqbench.lanes.optimisers import Adam, RMSProp
from uqbench.lanes.random import DistinctIntegers, Draws, Normal, Uniform, generators
from uqbench.lanes.replay import Replay
from uqbench.lanes.targets import copy_parameters, target_copy

__all__ = [
    "Adam",
    "Clock",
    "DistinctIntegers",
    "Draws",
    "LaneConv2d",
    "LaneLinear",
    "Normal",
    "RMSProp",
    "Replay",
    "Uniform",
    "copy_parameters",
    "epsilon_greedy",
    "epsilon_random",
    "generators",
    "greedy",
    "initialise",
    "lane_generators",
    "linear_schedule",
    "target_copy",
]
