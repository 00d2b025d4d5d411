"""Settings of SENTINEL-K; the defaults are those of Eriksson et al. 2022, Tables 5 to 7."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from uqbench.contract.config import LATER, Steps
from uqbench.contract.risk import CVaR, compose
from uqbench.contract.risk.config import CompositeRiskField
from uqbench.contract.updates import triangular_numbers

CARTPOLE_V_MAX = (1 - 0.99**200) / (1 - 0.99)
"""V_max of the paper's CartPole, (1 − γ²⁰⁰) / (1 − γ): the return of 200 rewards of 1."""


CVAR_OF_CVAR = compose(CVaR(0.25), CVaR(0.25))
"""CVaR 0.25 of the models, of CVaR 0.25 of each one's returns."""


@dataclass(frozen=True, kw_only=True)
class SentinelConfig:
    """SENTINEL-K's settings: Appendix E, with switches where it is silent or contradicts itself.

    Attributes:
        members: K.
        risk: ``Risk_E of Risk_A``: over the members, of one member's return. A single measure is
            additive: neutral about the members.
        ftrl_lambda: λ of equation 4; 0 weights all members equally.
        ftrl_kl: the loss l_i of a member, ``KL(P_i ‖ P̂)`` (which gives the numbers of example 4) or
            ``KL(P̂ ‖ P_i)`` (which is printed).
        ftrl_sign: of λ l_i in the exponent: −1 favors members near the marginal P̂, as the text
            says, +1 is printed and favors those far away.
        ftrl_use: the weights w_i as probabilities of the epistemic measure (``probability``), or,
            as line 20 of Algorithm 1 is written, as factors of the members' values
            (``scale``; ``scale-k`` with K w_i, which leaves equal weights without effect).
        mask_probability: p of the Bernoulli masks.
        minibatch: ``per_member``, one drawn from each member's own data (line 7), or ``shared``,
            one for all, with losses weighted by the masks.
        schedule: of updates: ``periodic`` at multiples of ``update_period``, or ``triangular`` at
            steps n (n + 1) / 2.
        update_period: steps between updates; periodic only.
        updates_per_event: gradient steps of an update: 100 samples in minibatches of 32.
        target_sync_updates: updates between syncs of the target networks.
        atoms: N of a categorical return distribution.
        v_min: lowest atom, in units of discounted return.
        v_max: highest atom.
        hidden: widths of the hidden layers of a network; there is one a member and action, or one a
            member where it has a convolution.
        channels: filters of a member's convolution of images; 0 for none, as in the paper.
        kernel: its side.
        gain: of the orthogonal initial weights.
        start: of the output layers: ``random`` as all others, or ``zero``: nearly all of a law's
            mass at the atom nearest to 0.
        learning_rate: Adam's α.
        adam_epsilon: Adam's ε.
        batch_size: transitions of a minibatch, drawn with repeats.
        replay_capacity: transitions kept.
        epsilon_initial: ε at the start.
        epsilon_final: ε at the end of its decay.
        epsilon_decay_steps: steps of the linear decay, from the first step on.
    """

    members: int = 4
    risk: CompositeRiskField = CVAR_OF_CVAR
    ftrl_lambda: float = 1.0
    ftrl_kl: Literal["member-to-mix", "mix-to-member"] = "member-to-mix"
    ftrl_sign: Literal[-1, 1] = -1
    ftrl_use: Literal["probability", "scale", "scale-k"] = "probability"
    mask_probability: float = 1 / 3
    minibatch: Literal["per_member", "shared"] = "per_member"
    schedule: Literal["periodic", "triangular"] = "periodic"
    update_period: Steps = 100
    updates_per_event: int = 4
    target_sync_updates: int = 10
    atoms: int = 51
    v_min: float = 0.0
    v_max: float = CARTPOLE_V_MAX
    hidden: tuple[int, ...] = (32, 32, 128)
    channels: int = field(default=0, metadata=LATER)
    kernel: int = field(default=3, metadata=LATER)
    gain: float = math.sqrt(2)
    start: Literal["random", "zero"] = field(default="random", metadata=LATER)
    learning_rate: float = 2.5e-4
    adam_epsilon: float = 1e-8
    batch_size: int = 32
    replay_capacity: int = 100_000
    epsilon_initial: float = 1.0
    epsilon_final: float = 0.05
    epsilon_decay_steps: Steps = 100_000

    def __post_init__(self) -> None:
        for name in (
            "members",
            "update_period",
            "updates_per_event",
            "target_sync_updates",
            "batch_size",
            "replay_capacity",
            "epsilon_decay_steps",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.mask_probability <= 1:
            raise ValueError(f"mask_probability must be in (0, 1], got {self.mask_probability}")
        if self.ftrl_lambda < 0:
            raise ValueError(f"ftrl_lambda must not be negative, got {self.ftrl_lambda}")
        if self.atoms < 2 or not self.v_min < self.v_max:
            raise ValueError(
                f"expected at least 2 atoms and v_min < v_max, got {self.atoms} atoms "
                f"from {self.v_min} to {self.v_max}"
            )
        for name in ("epsilon_initial", "epsilon_final"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a probability, got {getattr(self, name)}")

    def gradient_steps(self, steps: int) -> int:
        """How many gradient steps a run takes in its first ``steps`` environment steps."""
        triangular = self.schedule == "triangular"
        events = triangular_numbers(steps) if triangular else steps // self.update_period
        return self.updates_per_event * events
