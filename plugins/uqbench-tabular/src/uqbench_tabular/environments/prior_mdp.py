"""PriorMDP (Markou & Rasmussen, app. PriorMDP; Osband et al. 2013): drawn from a prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from uqbench.contract.environment import TimeLimit
from uqbench_tabular.environments.config import DrawnMDPConfig, PriorMDPConfig
from uqbench_tabular.environments.world import World, WorldLanes
from uqbench_tabular.planning import MDP


def prior_mdp(config: PriorMDPConfig) -> World:
    """The exact model of a seed.

    ``p(s' | s, a) ~ Dirichlet(1)``; ``r | s, a, s' ~ N(μ, 1/τ)`` with ``(μ, τ)`` normal-gamma.
    Drawn from numpy's legacy generator, state by state and action by action, first the row of
    probabilities, then for each successor τ and μ: the MDPs of the published figures.
    """
    n, actions = config.states, config.actions
    generator = np.random.RandomState(config.seed)
    transitions = np.empty((n, actions, n))
    means, deviations = np.empty_like(transitions), np.empty_like(transitions)
    for state in range(n):
        for action in range(actions):
            transitions[state, action] = generator.dirichlet(np.ones(n))
            for following in range(n):
                tau = generator.gamma(config.alpha, 1 / config.beta)
                mean = generator.normal(config.mu0, (config.lam * tau) ** -0.5)
                means[state, action, following] = mean
                deviations[state, action, following] = tau**-0.5
    available = torch.ones(n, actions, dtype=torch.bool)
    mdp = MDP(torch.from_numpy(transitions), torch.from_numpy(means), available)
    return World(mdp, torch.from_numpy(deviations), config.oracle_discount)


def make_lanes(
    config: PriorMDPConfig, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
) -> WorldLanes:
    """An MDP drawn from a Dirichlet and normal-gamma prior.

    Source: Markou & Rasmussen 2019, PriorMDP
    """
    return WorldLanes(prior_mdp(config), seeds, limit, device)


def drawn(config: DrawnMDPConfig, seeds: Sequence[int]) -> World:
    """A world for each seed, from the same prior: tables ``[L, S, A, S']``."""
    each = [
        prior_mdp(
            PriorMDPConfig(
                states=config.states, actions=config.actions, seed=seed, mu0=config.mu0,
                lam=config.lam, alpha=config.alpha, beta=config.beta,
            )
        )
        for seed in seeds
    ]  # fmt: skip
    transitions, rewards, available = (
        torch.stack([getattr(world.mdp, name) for world in each])
        for name in ("transitions", "rewards", "available")
    )
    deviations = torch.stack([world.deviations for world in each])
    return World(MDP(transitions, rewards, available), deviations, config.oracle_discount)


def make_drawn_lanes(
    config: DrawnMDPConfig, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
) -> WorldLanes:
    """A new MDP for every seed, from the prior that Bayesian agents believe in.

    Source: Markou & Rasmussen 2019, PriorMDP; Talts et al. 2018, simulation-based calibration
    """
    return WorldLanes(drawn(config, seeds), seeds, limit, device)
