"""The row of the suite that knows more than a method may."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.contract.agent import Agent, EnvironmentInfo, observation_shape
from uqbench.contract.specs import NoConfig
from uqbench_profile.bandit_agents import Bayes
from uqbench_profile.bandit_table import BanditTable
from uqbench_profile.psrl import DeepSeaPSRL
from uqbench_profile.risk_bets import BestForCVaR, RiskBets


def oracle(
    info: EnvironmentInfo, seeds: Sequence[int], config: NoConfig, device: torch.device
) -> Agent:
    """In each world who knows it best: posterior sampling, exact Bayes, the best policy."""
    known = {
        BanditTable.observation_space.shape: Bayes,
        RiskBets.observation_space.shape: BestForCVaR,
    }
    return known.get(observation_shape(info), DeepSeaPSRL)(info, seeds, config, device)
