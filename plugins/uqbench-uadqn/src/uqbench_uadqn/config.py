"""Settings of UA-DQN; the defaults are those of Clements et al. 2019, section 3.2 (MinAtar)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uqbench_dqn.config import DeepQConfig


@dataclass(frozen=True, kw_only=True)
class UADQNConfig(DeepQConfig):
    """UA-DQN's settings.

    Attributes:
        quantiles: N.
        kappa: κ of the quantile Huber loss; 0 is the loss of equation 1.
        epistemic_weight: β, on the epistemic standard deviation in the Thompson noise.
        aleatoric_weight: λ, on the aleatoric standard deviation in the penalty; 0 is risk-neutral.
        aleatoric: ``unbiased``, the covariance of the two posterior samples (equation 7), or
            ``biased``, the spread of the main network's quantiles (variant 1 of section 3.1).
        posterior_gain: of the initial weights of the posterior samples.
        noise_scale: standard deviation of the data noise in the anchored posterior.
    """

    quantiles: int = 50
    kappa: float = 0.0
    epistemic_weight: float = 0.2
    aleatoric_weight: float = 0.0
    aleatoric: Literal["unbiased", "biased"] = "unbiased"
    posterior_gain: float = 3.0
    noise_scale: float = 1.0
