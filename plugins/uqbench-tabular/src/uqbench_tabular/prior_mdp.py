"""PriorMDP (Markou & Rasmussen, app. PriorMDP; Osband et al. 2013): drawn from a prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from uqbench.environment import TimeLimit
from uqbench_tabular.config import PriorMDPOptions
from uqbench_tabular.planning import MDP
from uqbench_tabular.world import World, WorldLanes


def prior_mdp(options: PriorMDPOptions) -> World:
    """The exact model that a seed gives.

    ``p(s' | s, a) ~ Dirichlet(1)``; ``r | s, a, s' ~ N(μ, 1/τ)`` with ``(μ, τ)`` normal-gamma.
    Drawn from numpy's legacy generator, state by state and action by action, first the row of
    probabilities, then for each successor τ and μ: the MDPs of the published figures.
    """
    n, actions = options.states, options.actions
    generator = np.random.RandomState(options.seed)
    transitions = np.empty((n, actions, n))
    means, deviations = np.empty_like(transitions), np.empty_like(transitions)
    for state in range(n):
        for action in range(actions):
            transitions[state, action] = generator.dirichlet(np.ones(n))
            for following in range(n):
                tau = generator.gamma(options.alpha, 1 / options.beta)
                mean = generator.normal(options.mu0, (options.lam * tau) ** -0.5)
                means[state, action, following] = mean
                deviations[state, action, following] = tau**-0.5
    available = torch.ones(n, actions, dtype=torch.bool)
    mdp = MDP(torch.from_numpy(transitions), torch.from_numpy(means), available)
    return World(mdp, torch.from_numpy(deviations), options.oracle_discount)


def make_lanes(
    options: PriorMDPOptions, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
) -> WorldLanes:
    """A PriorMDP for the harness."""
    return WorldLanes(prior_mdp(options), seeds, limit, device)
