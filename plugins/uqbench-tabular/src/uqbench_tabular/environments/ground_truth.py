"""Exact ground truth of the environments: the optimal gain, Q*, and what any policy is worth.

Imports are local, so that listing plugins does not import torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from uqbench_tabular.environments.config import (
    ChainConfig,
    DeepSeaConfig,
    DrawnMDPConfig,
    PriorMDPConfig,
    WideNarrowConfig,
)

if TYPE_CHECKING:
    from torch import Tensor

    from uqbench.contract.environment import OptimalQ
    from uqbench.contract.truth import ExactTruth, Truth
    from uqbench_tabular.planning import MDP

PRIOR_WORLDS = 1_000
"""MDPs of which a prior's climatology is measured."""

Config = ChainConfig | DeepSeaConfig | WideNarrowConfig | PriorMDPConfig


def optimal_reward(config: Config) -> float:
    """The highest long-run reward per step of any policy."""
    from uqbench_tabular.planning import optimal_gain

    return optimal_gain(model(config)).item()


def optimal_q(config: Config, discount: float) -> OptimalQ:
    """Q* in every state, NaN where an action is not available."""
    import torch

    from uqbench.contract.environment import OptimalQ
    from uqbench_tabular.planning import policy_iteration

    mdp = model(config)
    values = policy_iteration(mdp, discount).masked_fill(~mdp.available, torch.nan)
    return OptimalQ(torch.arange(len(values)), values)


def exact_truth(config: Config, discount: float, _seeds: Sequence[int]) -> ExactTruth:
    """Values and variances of the return of any policy, in every state, whatever the seeds."""
    import torch

    from uqbench.contract.truth import ExactTruth

    mdp = model(config)
    evaluate = truth_of_policies(mdp, reward_variance(config), discount)
    return ExactTruth(torch.arange(len(mdp.available)), mdp.available, evaluate)


def truth_of_policies(mdp: MDP, reward_var: Tensor, discount: float) -> Callable[[Tensor], Truth]:
    """From the actions ``[L, S]`` of policies in an MDP to what they are worth, exactly."""
    import torch

    from uqbench.contract.truth import Truth
    from uqbench_tabular.planning import MDP, action_values, evaluate_policy, return_variance

    def evaluate(actions: Tensor) -> Truth:
        tables = (mdp.transitions, mdp.rewards, mdp.available)
        same = MDP(*(table.expand(len(actions), *table.shape) for table in tables))
        q = action_values(same, evaluate_policy(same, actions, discount), discount)
        var = return_variance(same, reward_var, actions, discount)
        q = q.masked_fill(~mdp.available, torch.nan)
        return Truth(q, torch.zeros_like(q), return_var=var)

    return evaluate


def drawn_optimal_truth(
    config: DrawnMDPConfig, discount: float, seeds: Sequence[int]
) -> ExactTruth:
    """Q* of every seed's own MDP, whatever an agent's policy.

    A posterior over MDPs is one over Q*, and is calibrated about that.
    """
    import torch

    from uqbench.contract.truth import Climatology, ExactTruth, Truth
    from uqbench_tabular.environments.prior_mdp import drawn
    from uqbench_tabular.planning import policy_iteration

    best, of_prior = (
        policy_iteration(drawn(config, of).mdp, discount) for of in (seeds, range(PRIOR_WORLDS))
    )
    truth = Truth(best, torch.zeros_like(best))
    climatology = Climatology.of([(of_prior, torch.zeros_like(of_prior))])
    return ExactTruth(torch.arange(config.states), None, lambda _: truth, climatology=climatology)


def model(config: Config) -> MDP:
    """The exact model of the environment that ``config`` belongs to."""
    from uqbench_tabular.environments.chain import chain_mdp
    from uqbench_tabular.environments.deep_sea import deep_sea
    from uqbench_tabular.environments.prior_mdp import prior_mdp
    from uqbench_tabular.environments.wide_narrow import wide_narrow

    match config:
        case ChainConfig():
            return chain_mdp(config)
        case DeepSeaConfig():
            return deep_sea(config).mdp
        case WideNarrowConfig():
            return wide_narrow(config).mdp
        case PriorMDPConfig():
            return prior_mdp(config).mdp


def reward_variance(config: Config) -> Tensor:
    """Variance of a reward given state, action and successor, ``[S, A, S']``."""
    import torch

    from uqbench_tabular.environments.deep_sea import deep_sea
    from uqbench_tabular.environments.prior_mdp import prior_mdp
    from uqbench_tabular.environments.wide_narrow import wide_narrow

    match config:
        case ChainConfig():
            return torch.zeros_like(model(config).rewards)
        case DeepSeaConfig():
            return deep_sea(config).deviations.square()
        case WideNarrowConfig():
            return wide_narrow(config).deviations.square()
        case PriorMDPConfig():
            return prior_mdp(config).deviations.square()
