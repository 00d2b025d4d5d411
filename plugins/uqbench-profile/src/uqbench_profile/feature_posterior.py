"""The posterior of the values of states that have features: closed, or by sampling.

Weights are standard normal and rewards have the noise σ. Where rewards are linear in the features,
so are values, and their posterior is normal; where they are not, weights are drawn by Hamiltonian
Monte Carlo. Shapes: ``K`` pairs of states and actions, state by state; ``S`` draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from uqbench.lanes import generators
from uqbench_profile.config import FeatureConfig
from uqbench_profile.feature_worlds import ACTIONS, SIGMA, FeatureWorld, mean_reward, slope

CHAINS, DRAWS, DROPPED = 16, 320, 20
"""The sampler's constants: chains, draws of each, and how many of these do not count."""
LEAPS, STRIDE = 6, (0.2, 0.4)
"""Steps of a trajectory, and their length, drawn between these, in standard deviations."""


@dataclass(frozen=True)
class Known:
    """The posterior of the values of K pairs.

    Attributes:
        mean: ``[L, K]`` float64.
        covariance: ``[L, K, K]``.
        draws: ``[L, S, K]``, chain by chain; None where the posterior is normal.
    """

    mean: Tensor
    covariance: Tensor
    draws: Tensor | None = None

    @property
    def std(self) -> Tensor:
        """``[L, K]``."""
        return self.covariance.diagonal(dim1=-2, dim2=-1).sqrt()


@dataclass(frozen=True)
class Seen:
    """What is known of a world: the data, in any order.

    Attributes:
        obs: ``[L, N, F]`` float64; zeros where there is no reward.
        action: ``[L, N]``.
        reward: ``[L, N]`` float64.
    """

    obs: Tensor
    action: Tensor
    reward: Tensor

    def of_actions(self) -> tuple[Tensor, Tensor]:
        """Features and rewards of each action, ``[L, A, n, F]`` and ``[L, A, n]``.

        n is the most that a lane has of an action; what it has less of is zero.
        """
        taken = torch.nn.functional.one_hot(self.action, ACTIONS).mT.bool()
        taken = taken & self.obs.any(-1)[:, None]
        most = int(taken.sum(-1).max())
        chosen, place = taken.to(torch.uint8).sort(dim=-1, descending=True, stable=True)
        chosen, place = chosen[..., :most].to(self.obs), place[..., :most]
        lane = torch.arange(len(place))[:, None, None]
        return self.obs[lane, place] * chosen[..., None], self.reward[lane, place] * chosen


def linear_posterior(seen: Seen, basis: Tensor) -> Known:
    """The posterior of values ``B w`` with the basis B ``[L, K, A · F]``.

    By Bishop 2006, equations 3.53 and 3.54.

    ``Σ_a = (I + Φ_aᵀ Φ_a / σ²)⁻¹``, ``m_a = Σ_a Φ_aᵀ r_a / σ²``.
    """
    phi, reward = seen.of_actions()
    identity = torch.eye(phi.shape[-1], dtype=phi.dtype)
    covariance = torch.linalg.inv(phi.mT @ phi / SIGMA**2 + identity)
    mean = covariance @ (phi.mT @ reward[..., None]) / SIGMA**2
    of_weights = torch.stack([torch.block_diag(*lane) for lane in covariance])
    flat = mean.flatten(1, 2)
    return Known((basis @ flat)[..., 0], basis @ of_weights @ basis.mT)


def basis(asked: Tensor, after: Tensor | None, policy: Tensor, discount: float) -> Tensor:
    """``B`` such that ``Q = B w``, ``[L, M · A, A · F]``.

    ``Q(s, a) = φ(s)ᵀ w_a + γ v(s')``, v linear in the policy's weights.

    Args:
        asked: φ, ``[L, M, F]``.
        after: what the policy's weights are multiplied by to be ``v(s')``, ``[L, M, F]``; None for
            bandits.
        policy: its action, ``[L]``.
        discount: γ.
    """
    lanes, states, width = asked.shape
    found = asked.new_zeros(lanes, states, ACTIONS, ACTIONS, width)
    for action in range(ACTIONS):
        found[:, :, action, action] = asked
    if after is not None:
        lane = torch.arange(lanes)
        for action in range(ACTIONS):
            found[lane, :, action, policy] += discount * after
    flat: Tensor = found.flatten(1, 2).flatten(2)
    return flat


def values_after(states: Tensor, turn: Tensor, discount: float) -> Tensor:
    """``φᵀ (I − γ T)⁻¹`` of states ``[L, M, F]``, where ``φ(s')ᵀ = φ(s)ᵀ T``, ``[L, F, F]``."""
    identity = torch.eye(turn.shape[-1], dtype=turn.dtype)
    found: Tensor = states @ torch.linalg.inv(identity - discount * turn)
    return found


def turn_of(obs: Tensor, following: Tensor) -> Tensor:
    """T of ``following = obs T``, ``[L, N, F]`` both, by least squares."""
    found: Tensor = torch.linalg.pinv(obs, rtol=1e-5) @ following
    return found


def sampled_posterior(
    config: FeatureConfig, seen: Seen, asked: Tensor, seeds: Sequence[int]
) -> Known:
    """The posterior of ``μ = g(φᵀ w_a)``, by draws of the weights; ``asked`` is ``[L, M, F]``."""
    weights = draws_of_weights(config, seen, seeds)  # [L, A, C, S, F]
    linear = torch.einsum("lmf,lacsf->lcsma", asked, weights)
    draws = mean_reward(config, linear).flatten(3).flatten(1, 2)
    mean = draws.mean(1)
    centered = draws - mean[:, None]
    return Known(mean, centered.mT @ centered / (draws.shape[1] - 1), draws)


def draws_of_weights(config: FeatureConfig, seen: Seen, seeds: Sequence[int]) -> Tensor:
    """Draws of the posterior of w_a, ``[L, A, CHAINS, DRAWS − DROPPED, F]``.

    Hamiltonian Monte Carlo (Neal 2011, section 3), in coordinates where a normal approximation of
    the posterior is standard normal.
    """
    phi, reward = seen.of_actions()
    center, root = laplace(config, phi, reward)
    shown = phi.any(-1)[:, :, None]
    shape = (DRAWS + 1, ACTIONS, CHAINS)
    drawn = [
        (rng.standard_normal((*shape, phi.shape[-1])), rng.random((*shape, 2)))
        for rng in generators(seeds, "trajectories", 0)
    ]
    normal, uniform = (torch.from_numpy(np.stack(part, 1)) for part in zip(*drawn, strict=True))

    def potential(z: Tensor) -> tuple[Tensor, Tensor]:
        """``−log p(w, data)`` but for a constant, ``[L, A, C]``, and its gradient in z."""
        w = center[:, :, None] + z @ root.mT
        linear = w @ phi.mT
        error = (reward[:, :, None] - mean_reward(config, linear)) * shown / SIGMA**2
        energy = 0.5 * SIGMA**2 * error.square().sum(-1) + 0.5 * w.square().sum(-1)
        return energy, (w - (error * slope(config, linear)) @ phi) @ root

    z, kept = 1.5 * normal[0], []
    energy, gradient = potential(z)
    for momentum, u in zip(normal[1:], uniform[1:], strict=True):
        stride = STRIDE[0] + (STRIDE[1] - STRIDE[0]) * u[..., :1]
        place, slopes, p = z, gradient, momentum - 0.5 * stride * gradient
        for leap in range(LEAPS):
            place = place + stride * p
            proposed, slopes = potential(place)
            p = p - (1.0 if leap < LEAPS - 1 else 0.5) * stride * slopes
        kinetic = 0.5 * (momentum.square() - p.square()).sum(-1)
        taken = u[..., 1].log() < energy - proposed + kinetic
        energy = torch.where(taken, proposed, energy)
        z, gradient = (
            torch.where(taken[..., None], new, old) for new, old in ((place, z), (slopes, gradient))
        )
        kept.append(center[:, :, None] + z @ root.mT)
    return torch.stack(kept[DROPPED:], 3)


def laplace(config: FeatureConfig, phi: Tensor, reward: Tensor) -> tuple[Tensor, Tensor]:
    """A normal approximation of the posterior of w_a: m ``[L, A, F]``, and a root of V.

    Fifty halved steps of Gauss and Newton from zero. It only has to be near: draws are exact
    whatever it is.
    """
    identity = torch.eye(phi.shape[-1], dtype=phi.dtype)
    w = torch.zeros(*phi.shape[:2], phi.shape[-1], dtype=phi.dtype)
    precision = identity.expand(*w.shape, -1)
    for _ in range(50):
        linear = (phi @ w[..., None])[..., 0]
        rows = phi * slope(config, linear)[..., None]
        error = reward - mean_reward(config, linear)
        precision = rows.mT @ rows / SIGMA**2 + identity
        gradient = (rows.mT @ error[..., None])[..., 0] / SIGMA**2 - w
        w = w + 0.5 * torch.linalg.solve(precision, gradient)
    return w, torch.linalg.cholesky(torch.linalg.inv(precision))


def posterior(
    config: FeatureConfig, world: FeatureWorld, discount: float, seeds: Sequence[int]
) -> Known:
    """Given all data of the worlds, of the values of the states that are asked about."""
    seen = Seen(world.obs, world.action, world.reward)
    if config.family == "softplus":
        return sampled_posterior(config, seen, world.asked, seeds)
    return linear_posterior(seen, _basis_of(config, world, discount))


def true_values(config: FeatureConfig, world: FeatureWorld, discount: float) -> Tensor:
    """Q, ``[L, M, A]``."""
    if config.family == "softplus":
        return mean_reward(config, world.asked @ world.weights.mT)
    weights = world.weights.flatten(1)[..., None]
    values = (_basis_of(config, world, discount) @ weights)[..., 0]
    of_states: Tensor = values.unflatten(-1, (-1, ACTIONS))
    return of_states


def prior_moments(config: FeatureConfig, discount: float) -> tuple[float, float]:
    """Mean and standard deviation of Q before any data, the same for all states and worlds."""
    if config.family == "softplus":
        points, weights = np.polynomial.hermite_e.hermegauss(99)
        values = mean_reward(config, torch.from_numpy(points))
        share = torch.from_numpy(weights / weights.sum())
        mean = float((share * values).sum())
        return mean, float((share * (values - mean).square()).sum().sqrt())
    of = _basis_of(config, FeatureWorld.drawn(config, [0]), discount)
    return 0.0, float(of.square().sum(-1).mean().sqrt())


def _basis_of(config: FeatureConfig, world: FeatureWorld, discount: float) -> Tensor:
    after = None
    if config.family == "ring":
        after = values_after(world.after, turn_of(world.obs, world.following), discount)
    return basis(world.asked, after, world.policy, discount)
