"""DQN's mean, and one width for all values: what a stated width must be worth more than."""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench_dqn.dqn import DQN


class OneWidth(DQN):
    """DQN that states a standard deviation of 1 of every Q, in units of return.

    Suites score it at the size that is best in the other worlds: the best constant, by what a
    method may know of it.

    Source: uqbench
    """

    native = DQN.native  # learning is the same

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values, a variance of 1, and no doubt about that."""
        mean = self.q_values(self.online(obs))
        one = torch.ones_like(mean)
        return Uncertainty(mean=mean, epistemic_var=one, epistemic_dof=one * torch.inf)
