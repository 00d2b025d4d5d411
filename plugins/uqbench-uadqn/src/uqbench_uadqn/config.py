"""Settings of UA-DQN; the defaults are those of Clements et al. 2019 on MinAtar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uqbench_dqn.config import EpsilonGreedyConfig

from uqbench.contract.risk.config import DecisionRuleField


@dataclass(frozen=True, kw_only=True)
class UADQNConfig(EpsilonGreedyConfig):
    """UA-DQN's settings: section 3.2 and Appendix D; κ and the gains are the released code's.

    Attributes:
        quantiles: N.
        kappa: κ of the quantile Huber loss; 0 is the loss of equation 1.
        epistemic_weight: β, on the epistemic standard deviation in the Thompson noise.
        aleatoric_weight: λ, on the aleatoric standard deviation in the penalty; 0 is risk-neutral.
        aleatoric: ``unbiased``, the covariance of the two posterior samples (equation 7), or
            ``biased``, the spread of the main network's quantiles (variant 1 of section 3.1).
        posterior_gain: of the initial weights of the posterior samples.
        noise_scale: standard deviation of the data noise in the anchored posterior.
        risk: what takes the place of the mean less the penalty: a decision rule on the return
            distributions of the two posterior samples, equally likely; None for the paper's.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    quantiles: int = 50
    kappa: float = 0.0
    epistemic_weight: float = 0.2
    aleatoric_weight: float = 0.0
    aleatoric: Literal["unbiased", "biased"] = "unbiased"
    posterior_gain: float = 3.0
    noise_scale: float = 1.0
    risk: DecisionRuleField | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quantiles < 2:
            raise ValueError(f"an uncertainty needs at least 2 quantiles, got {self.quantiles}")
        for name in ("kappa", "noise_scale", "epistemic_weight", "aleatoric_weight"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.risk is not None and self.aleatoric_weight:
            raise ValueError(
                f"expected either a risk or an aleatoric_weight, got both: the penalty of weight "
                f"{self.aleatoric_weight} is what a risk replaces; set aleatoric_weight to 0"
            )
