"""Config of the environments. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from uqbench_tabular.validation import require_positive, require_probability


@dataclass(frozen=True, kw_only=True)
class ChainConfig:
    """Config of the chain (Dearden et al. 1998), whose rewards 2 and 10 are 0.2 and 1 here.

    Attributes:
        slip: probability that the other action happens.
        back_reward: of every move back to the first state.
        end_reward: of every step forward at the far end.
    """

    slip: float = 0.2
    back_reward: float = 0.2
    end_reward: float = 1.0

    def __post_init__(self) -> None:
        require_probability(self, "slip")


@dataclass(frozen=True, kw_only=True)
class DeepSeaConfig:
    """Config of DeepSea.

    Attributes:
        states: N.
        oracle_discount: γ of the optimal policy that the regret compares with.
    """

    states: int = 8
    oracle_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.states < 3:
            raise ValueError(
                f"DeepSea needs states ≥ 3, or success and failure lead to the same state; "
                f"got {self.states}"
            )


@dataclass(frozen=True, kw_only=True)
class WideNarrowConfig:
    """Config of WideNarrow.

    Attributes:
        pairs: N, wide states, each followed by a narrow one; there are 2N + 1 states.
        width: W, actions of a wide state.
        high_reward: μ_h, of the first action of a wide state.
        low_reward: μ_l, of all other actions but that of the last state, which pays 0.
        deviation: σ, of every reward but the last state's.
        oracle_discount: γ of the optimal policy that the regret compares with.
    """

    pairs: int = 1
    width: int = 6
    high_reward: float = 0.5
    low_reward: float = 0.0
    deviation: float = 1.0
    oracle_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.pairs < 1 or self.width < 2:
            raise ValueError(
                f"WideNarrow needs pairs ≥ 1 and width ≥ 2; got {self.pairs} and {self.width}"
            )
        if self.deviation < 0:
            raise ValueError(f"deviation must not be negative; got {self.deviation}")


@dataclass(frozen=True, kw_only=True)
class DrawnMDPConfig:
    """Config of the MDPs that are drawn anew for every seed.

    The defaults are the agents' prior (:mod:`uqbench_tabular.agents.config`), so that an exact
    posterior is calibrated.

    Attributes:
        states: N_s.
        actions: N_a.
        mu0: μ₀ of the normal-gamma prior over rewards.
        lam: λ.
        alpha: α.
        beta: β.
        oracle_discount: γ of the optimal policy that the regret compares with.
    """

    states: int = 4
    actions: int = 2
    mu0: float = 0.0
    lam: float = 4.0
    alpha: float = 3.0
    beta: float = 3.0
    oracle_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.states < 1 or self.actions < 1:
            raise ValueError(
                f"an MDP has at least one state and action; got {self.states}, {self.actions}"
            )
        require_positive(self, "lam", "alpha", "beta")


@dataclass(frozen=True, kw_only=True)
class PriorMDPConfig(DrawnMDPConfig):
    """Config of a PriorMDP, one MDP of the paper's prior for all seeds.

    Attributes:
        seed: which MDP of the prior.
    """

    seed: int = 0
    lam: float = 1.0
    alpha: float = 4.0
    beta: float = 4.0


@dataclass(frozen=True, kw_only=True)
class GaussianValuesConfig:
    """Config of worlds whose values have a posterior in closed form.

    Attributes:
        sigma: σ, standard deviation of a reward given its mean, which is standard normal.
        fours: how often four rewards of every state and action are shown.
    """

    sigma: float = 1.0
    fours: int = 4

    def __post_init__(self) -> None:
        if self.sigma < 0 or self.fours < 1:
            raise ValueError(f"expected sigma >= 0, fours >= 1; got {self.sigma}, {self.fours}")

    @property
    def n(self) -> int:
        """Rewards of every state and action."""
        return 4 * self.fours
