"""Bootstrapped DQN with randomized prior functions (Osband, Aslanides & Cassirer 2018).

Heads that have seen the same data agree, and where there are no data they say what their initial
weights say: a bootstrap has no uncertainty that does not come from data. A prior function per head,
drawn once and never trained, is that uncertainty: a head learns the difference between its targets
and its prior, and away from data it keeps the prior.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.contract.agent import EnvironmentInfo
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.bootstrapped_network import RandomizedPriors
from uqbench_dqn.config import RandomizedPriorConfig


class RandomizedPriorDQN(BootstrappedDQN):
    """Bootstrapped DQN whose heads have fixed random prior functions; no dithering.

    Head k learns toward ``r + γ max_a (f_{θ⁻_k} + β p_k)(s', a)`` (Algorithm 2).

    Source: Osband et al. 2018, "Randomized prior functions for deep reinforcement learning"
    """

    config: RandomizedPriorConfig
    native = "uqbench_dqn.native.heads:native"

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: RandomizedPriorConfig,
        device: torch.device,
    ) -> None:
        network = RandomizedPriors(len(seeds), info, config)
        super().__init__(info, seeds, config, device, network=network)
