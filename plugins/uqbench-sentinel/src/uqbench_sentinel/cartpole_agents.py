"""Baselines that know CartPole: a script and a controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Step, observation_shape
from uqbench.contract.errors import UqbenchError
from uqbench.lanes import Clock, EpsilonGreedy, Exploration
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_sentinel.cartpole import FORCE, N_ACTIONS, dynamics

STATES = 4
STEP = 1e-6  # of the central differences
ITERATIONS = 2_000  # of the Riccati recursion, which settles to 1e-12 within 1,200
EFFORT = 1e-3  # R: cost of a squared newton; Q is the identity


@dataclass(frozen=True, kw_only=True)
class CartPoleScriptConfig:
    """The exploration of a script: ε-greedy, as that of the methods it is compared with.

    Attributes:
        epsilon_final: ε after its decay from 1.
        epsilon_decay_steps: steps of the linear decay; 0 for a script that never explores.
    """

    epsilon_final: float = 0.0
    epsilon_decay_steps: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon_final <= 1 or self.epsilon_decay_steps < 0:
            raise ValueError(
                "expected an epsilon_final from 0 to 1 and epsilon_decay_steps of at least 0, got "
                f"{self.epsilon_final} and {self.epsilon_decay_steps}"
            )


class CartPoleScript(FixedPolicy):
    """A fixed policy for CartPole, which explores in training only."""

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: CartPoleScriptConfig,
        device: torch.device,
    ) -> None:
        _expect_cartpole(info)
        self._clock, steps = Clock(device, info.actors), config.epsilon_decay_steps
        self._exploration: Exploration = Exploration()
        if steps:
            self._exploration = EpsilonGreedy(
                seeds, info.n_actions, self._clock, initial=1.0, final=config.epsilon_final,
                start=0, decay_steps=steps,
            )  # fmt: skip

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The policy's actions, or random ones with probability ε."""
        action = self.policy(obs, valid)
        return self._exploration.explore(action, self._exploration.noise(), valid)

    def observe(self, step: Step) -> None:
        """Learn nothing; let ε decay."""
        self._clock.advance()


class PushToTheFall(CartPoleScript):
    """Push the cart to the side to which the pole leans.

    It ignores how fast the pole turns, so the swings grow until the pole falls.
    """

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """0 or 1, ``[L, M]``, for ``obs`` ``[L, M, 4]``."""
        return (obs[..., 2] > 0).long()


class LinearQuadratic(CartPoleScript):
    """The sign of the linear-quadratic regulator's force: an oracle that falls only by exploring.

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
        super().__init__(info, seeds, config, device)
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
