"""A torch toolkit for agents in batches of independent runs: one lane per run, leading dimension.

``uqbench.lanes`` has its names, beside those of the lanes' clock and random numbers, which are
uqbench's own. Nothing here mixes lanes, so a lane's numbers do not depend on the other lanes of its
batch. What that requires of sums, products and exponentials is in :mod:`uqbench_lanes.numerics`.
Read ``networks`` first, then ``replay_buffer`` and ``exploration``; ``kernels``: environments
compiled for lanes.
"""

from uqbench.contract.hookspecs import hookimpl


@hookimpl
def uqbench_suites() -> tuple[()]:
    """No suite: the package is a plugin so that runs record its digest, as they do uqbench's."""
    return ()
