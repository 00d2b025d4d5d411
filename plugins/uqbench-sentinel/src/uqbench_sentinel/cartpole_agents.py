"""Baselines that know CartPole: a script and a controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, observation_shape
from uqbench.contract.errors import UqbenchError
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_sentinel.cartpole import FORCE, N_ACTIONS, dynamics

STATES = 4
STEP = 1e-6  # of the central differences
ITERATIONS = 2_000  # of the Riccati recursion, which settles to 1e-12 within 1,200
EFFORT = 1e-3  # R: cost of a squared newton; Q is the identity


@dataclass(frozen=True, kw_only=True)
class CartPoleScriptConfig:
    """Nothing to set."""


class PushToTheFall(FixedPolicy):
    """Push the cart to the side to which the pole leans.

    It ignores how fast the pole turns, so the swings grow until the pole falls.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: CartPoleScriptConfig,
        device: torch.device,
    ) -> None:
        _expect_cartpole(info)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """0 or 1, ``[L, M]``, for ``obs`` ``[L, M, 4]``."""
        return (obs[..., 2] > 0).long()


class LinearQuadratic(FixedPolicy):
    """The sign of the linear-quadratic regulator's force: the oracle, which never falls.

    It knows the dynamics, linearized at the upright position. A push has one strength, so only the
    regulator's sign counts.
    """

    shared_by_lanes = ("_gain",)

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: CartPoleScriptConfig,
        device: torch.device,
    ) -> None:
        _expect_cartpole(info)
        self._gain = torch.from_numpy(regulator()).to(device)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """0 or 1, ``[L, M]``, for ``obs`` ``[L, M, 4]``."""
        return (obs.double() @ self._gain < 0).long()


def linearized() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``A`` ``[4, 4]`` and ``B`` ``[4]`` (per newton) of a step at the upright position."""
    shifted = STEP * np.concatenate([np.eye(STATES), -np.eye(STATES)], 1)
    left, right = (dynamics(shifted, np.full(2 * STATES, push)) for push in range(N_ACTIONS))
    ahead, back = np.split((left + right) / 2, 2, 1)
    return (ahead - back) / (2 * STEP), (right - left).mean(1) / (2 * FORCE)


def regulator() -> NDArray[np.float64]:
    """``K`` ``[4]`` of the force ``−K s`` that minimizes ``Σ ‖s‖² + EFFORT · force²``.

    The Riccati recursion ``P ← I + Aᵀ P (A − B K)``, ``K = Bᵀ P A / (EFFORT + Bᵀ P B)``.
    """
    a, b = linearized()
    cost = np.eye(STATES)
    for _ in range(ITERATIONS):
        gain = b @ cost @ a / (EFFORT + b @ cost @ b)
        cost = np.eye(STATES) + a.T @ cost @ (a - np.outer(b, gain))
    return gain


def _expect_cartpole(info: EnvironmentInfo) -> None:
    """Check that the environment looks like ``cartpole``.

    Raises:
        UqbenchError: observations or actions differ from CartPole's.
    """
    shape = observation_shape(info)
    if info.n_actions != N_ACTIONS or shape != (STATES,):
        raise UqbenchError(
            f"expected the environment cartpole, with {N_ACTIONS} actions and observations of "
            f"shape ({STATES},); got {info.n_actions} actions and shape {shape}"
        )
