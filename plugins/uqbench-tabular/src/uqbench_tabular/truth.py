"""Exact ground truth of the environments, as the harness asks for it.

Imports are inside: listing plugins does not wait for torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uqbench_tabular.config import (
    ChainOptions,
    DeepSeaOptions,
    PriorMDPOptions,
    WideNarrowOptions,
)

if TYPE_CHECKING:
    from uqbench.environment import OptimalQ
    from uqbench_tabular.planning import MDP

Options = ChainOptions | DeepSeaOptions | WideNarrowOptions | PriorMDPOptions


def optimal_reward(options: Options) -> float:
    """The highest reward per step, in the long run, of any policy."""
    from uqbench_tabular.planning import optimal_gain

    return optimal_gain(model(options)).item()


def optimal_q(options: Options, discount: float) -> OptimalQ:
    """Q* in every state, NaN for actions that are not available."""
    import torch

    from uqbench.environment import OptimalQ
    from uqbench_tabular.planning import policy_iteration

    mdp = model(options)
    values = policy_iteration(mdp, discount).masked_fill(~mdp.available, torch.nan)
    return OptimalQ(torch.arange(len(values)), values)


def model(options: Options) -> MDP:
    """The exact model of the environment that these are the options of."""
    from uqbench_tabular.chain import chain_mdp
    from uqbench_tabular.deep_sea import deep_sea
    from uqbench_tabular.prior_mdp import prior_mdp
    from uqbench_tabular.wide_narrow import wide_narrow

    match options:
        case ChainOptions():
            return chain_mdp(options)
        case DeepSeaOptions():
            return deep_sea(options).mdp
        case WideNarrowOptions():
            return wide_narrow(options).mdp
        case PriorMDPOptions():
            return prior_mdp(options).mdp
