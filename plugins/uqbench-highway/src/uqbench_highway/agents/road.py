"""The road that the agents know: the suite's, which is the config's default."""

from __future__ import annotations

from uqbench.contract.agent import EnvironmentInfo, observation_shape
from uqbench.contract.errors import UqbenchError
from uqbench_highway.config import FEATURES, N_ACTIONS, HighwayConfig

ROAD = HighwayConfig()


def expect_kinematics(info: EnvironmentInfo) -> None:
    """Check that the environment looks like ``highway``.

    Raises:
        UqbenchError: observations or actions differ from highway-v0's.
    """
    shape = observation_shape(info)
    if info.n_actions != N_ACTIONS or len(shape) != 1 or shape[0] % FEATURES:
        raise UqbenchError(
            f"expected the environment highway, with {N_ACTIONS} meta-actions and flat "
            f"observations of {FEATURES} numbers per vehicle; "
            f"got {info.n_actions} actions and shape {shape}"
        )
