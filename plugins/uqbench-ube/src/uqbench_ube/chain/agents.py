"""The two agents of Figure 2: they know the structure of the decision and learn its returns.

With an improper Gaussian prior the posterior of an action's value after n returns is
``N(their mean, σ² / n)``. Each action is tried once first, since before that its variance is
infinite.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Normal, greedy
from uqbench_ube.chain.process import bonus_per_visit, uncertainty_per_visit


@dataclass(frozen=True, kw_only=True)
class DecisionConfig:
    """What both agents know.

    Attributes:
        sigma: σ, standard deviation of returns.
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        if self.sigma <= 0:
            raise ValueError(f"sigma must be positive, got {self.sigma}")


@dataclass(frozen=True, kw_only=True)
class UBEDecisionConfig(DecisionConfig):
    """Settings of Thompson sampling by the uncertainty Bellman equation."""


@dataclass(frozen=True, kw_only=True)
class BonusDecisionConfig(DecisionConfig):
    """Settings of the exploration bonus.

    Attributes:
        beta: β, on the bonus times log t.
        compounds: ``deviations``, the bonus that adds up standard deviations along the chain; or
            ``variances``, the square root of the uncertainty Bellman equation's solution, which is
            calibrated.
    """

    beta: float = 0.1
    compounds: Literal["deviations", "variances"] = "deviations"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta <= 0:
            raise ValueError(f"beta must be positive, got {self.beta}")


class Decider(Agent):
    """Means and visits of the two actions; children say how to score them."""

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: DecisionConfig,
        device: torch.device,
    ) -> None:
        if info.n_actions != 2:
            raise ValueError(f"expected the decision between 2 actions, got {info.n_actions}")
        self.sigma = config.sigma
        self.visits = torch.zeros(len(seeds), 2, dtype=torch.float64, device=device)
        self.mean = torch.zeros_like(self.visits)
        self.t = 0

    @abstractmethod
    def score(self) -> Tensor:
        """The quantity to maximize, where both actions were tried, ``[L, 2]``."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """What was not tried yet, else the highest score."""
        best = torch.where(self.visits == 0, torch.inf, self.score())
        return greedy(best[:, None], valid)

    def observe(self, step: Step) -> None:
        """Update the mean of the action's return."""
        chosen = torch.nn.functional.one_hot(step.action[:, 0], 2).to(self.visits)
        self.visits = self.visits + chosen
        error = step.reward.double() - self.mean
        self.mean = self.mean + chosen * error / self.visits.clamp(min=1)
        self.t += 1

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The action with the higher mean."""
        return greedy(self.mean[:, None].expand(*obs.shape, 2), valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Posterior means."""
        return Uncertainty(mean=self.mean[:, None].expand(*obs.shape, 2))


class UBEDecider(Decider):
    """Thompson sampling by the uncertainty Bellman equation, for ube-chain.

    From ``N(Q̂, u)``, u being the equation's solution.

    Source: O'Donoghue et al. 2018, section 3.2
    """

    shared_by_lanes = ("per_visit",)

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: UBEDecisionConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device)
        self.per_visit = uncertainty_per_visit(config.sigma, info.discount).to(device)
        self._noise = Normal(seeds, "ube-chain/thompson", (2,), device)

    def score(self) -> Tensor:
        """Equation 3: ``Q̂_b + ζ_b u_b^½``."""
        return self.mean + self._noise.at(self.t) * (self.per_visit / self.visits).sqrt()

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Posterior means and variances; infinite for an action that was not tried."""
        shape = (*obs.shape, 2)
        return Uncertainty(
            mean=self.mean[:, None].expand(shape),
            epistemic_var=(self.per_visit / self.visits)[:, None].expand(shape),
        )


class BonusDecider(Decider):
    """Optimism by a bonus that shrinks with visits, for ube-chain.

    Source: O'Donoghue et al. 2018, section 3.2
    """

    shared_by_lanes = ("per_visit",)

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: BonusDecisionConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device)
        self.beta = config.beta
        self.per_visit = (
            bonus_per_visit(config.sigma, info.discount)
            if config.compounds == "deviations"
            else uncertainty_per_visit(config.sigma, info.discount).sqrt()
        ).to(device)

    def score(self) -> Tensor:
        """``Q̂_i + β log(t) Bonus_i`` in the t-th episode."""
        return self.mean + self.beta * math.log(self.t + 1) * self.per_visit / self.visits.sqrt()

    def metrics(self) -> Mapping[str, Tensor]:
        """Visits of the chain over visits of the single reward."""
        return {"visits_ratio": self.visits[:, 1] / self.visits[:, 0]}
