"""Settings of UBE-DQN and of the intrinsic-motivation baseline.

The method's own settings are those of O'Donoghue et al. 2018, section 5.1; the Q-learning
underneath has the defaults of ``uqbench_dqn.config``. The paper leaves μ, the RMSProp's decay and
ε, and the initial uncertainty open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from uqbench_dqn.config import DeepQConfig, DQNConfig

from uqbench.contract.config import LATER


@dataclass(frozen=True, kw_only=True)
class UBEDQNConfig(DeepQConfig):
    """UBE-DQN's settings.

    Attributes:
        kappa: where the Huber loss of the Q-values turns from quadratic to linear.
        beta: β, on ``ζ u^½`` in Thompson sampling.
        prior: μ, what Σ_a is of the identity before any data.
        horizon: n, steps over which local uncertainties add up in a target before u takes over; 1
            and 150 in the paper.
        uncertainty_learning_rate: of the uncertainty head's RMSProp.
        uncertainty_decay: ρ of it.
        uncertainty_epsilon: ε of it, inside the root.
        uncertainty_hidden: units of the head's hidden layer; None for as many as the Q-values'
            last hidden layer has (512 both in the paper).
        stated: the variance that the agent states: ``scaled``, β² u, that of the posterior from
            which it samples; or ``u``, that of equation 2, with β for acting alone.
        initial_uncertainty: u before any data; None for the equation's solution under the prior,
            ``μ ‖φ(s₀)‖² / (1 − γ²)`` with the first observation s₀.
    """

    kappa: float = 1.0
    beta: float = 0.01
    prior: float = 1.0
    horizon: int = 1
    uncertainty_learning_rate: float = 1e-3
    uncertainty_decay: float = 0.9
    uncertainty_epsilon: float = 1e-8
    uncertainty_hidden: int | None = None
    initial_uncertainty: float | None = None
    stated: Literal["scaled", "u"] = field(default="scaled", metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon < 1:
            raise ValueError(f"horizon must be at least 1 step, got {self.horizon}")
        if self.beta < 0:
            raise ValueError(f"beta must not be negative, got {self.beta}")
        for name in ("prior", "uncertainty_hidden", "initial_uncertainty"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")


@dataclass(frozen=True, kw_only=True)
class IntrinsicDQNConfig(DQNConfig):
    """Settings of DQN with an exploration bonus in its rewards.

    Attributes:
        bonus: β of equation 4: what the square root of ``φᵀ Σ_a φ`` is multiplied by.
        prior: μ, what Σ_a is of the identity before any data.
    """

    bonus: float = 0.1
    prior: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bonus < 0 or self.prior <= 0:
            raise ValueError(
                f"expected bonus >= 0 and prior > 0, got {self.bonus} and {self.prior}"
            )
