"""Settings of the DQN family.

The defaults are those of Clements et al. 2019, section 3.2 and Appendix D (UA-DQN's MinAtar
experiments): the hyper-parameters of Young & Tian 2019, with Adam instead of RMSProp and a final ε
of 0.03. κ and the gain of the initial weights are not in the paper. κ is the released code's, and
so is the gain of √2, but for QR-DQN: it starts with 3 there, and as all others here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from uqbench.contract.config import LATER, Steps, WarmUpSteps
from uqbench.contract.risk.config import MarginalRuleField
from uqbench.contract.updates import triangular_numbers


@dataclass(frozen=True, kw_only=True)
class DeepQConfig:
    """Settings of every method of the family.

    Attributes:
        learning_rate: α of the optimizer.
        optimizer: Adam, or the centered RMSProp of Mnih et al. 2015.
        adam_epsilon: Adam's ε.
        rmsprop_decay: RMSProp's ρ.
        rmsprop_epsilon: RMSProp's ε, inside the root.
        batch_size: transitions of a gradient step, drawn without repeats if the schedule is
            periodic.
        replay_capacity: transitions kept.
        learning_starts: first step with a gradient step; never before ``batch_size`` steps where a
            batch has no repeats, since it must fit.
        schedule: of gradient steps: ``periodic``, one every ``learn_period`` steps, or
            ``triangular``, ``updates_per_event`` after n (n + 1) / 2 steps (Eriksson et al. 2022).
        learn_period: environment steps for each gradient step, 1/16 for sixteen of them after every
            step; periodic only.
        updates_per_event: gradient steps of an event; triangular only.
        reward_clip: learn from rewards clipped to ± this; None for no clipping.
        target_sync_period: C, steps between syncs of the target network; periodic only.
        target_sync_updates: events between syncs of the target network; triangular only.
        channels: filters of the convolution, or of each of several (image observations only).
        kernel: side of the convolution's kernel; one for all, or one for each.
        stride: step of the kernel, likewise.
        hidden: widths of the fully connected layers.
        gain: of the orthogonal initial weights.
        start: of the output layer of the network that acts: ``random`` as all others, or so that
            every return is 0 before any data, and so what targets are made of: ``zero`` by weights
            of zero, which keep the layers below from learning at first, or ``paired`` by hidden
            units that cancel each other.
    """

    learning_rate: float = 1e-4
    optimizer: Literal["adam", "rmsprop"] = "adam"
    adam_epsilon: float = 1e-8
    rmsprop_decay: float = 0.95
    rmsprop_epsilon: float = 0.01
    batch_size: int = 32
    replay_capacity: int = 100_000
    learning_starts: WarmUpSteps = 5_000
    schedule: Literal["periodic", "triangular"] = "periodic"
    learn_period: int | float = 1
    updates_per_event: int = 32
    reward_clip: float | None = None
    target_sync_period: Steps = 1_000
    target_sync_updates: int = 5
    channels: int | tuple[int, ...] = 16
    kernel: int | tuple[int, ...] = 3
    stride: int | tuple[int, ...] = 1
    hidden: tuple[int, ...] = (128,)
    gain: float = math.sqrt(2)
    start: Literal["random", "zero", "paired"] = field(default="random", metadata=LATER)

    def __post_init__(self) -> None:
        for name in (
            "batch_size",
            "learning_starts",
            "learn_period",
            "updates_per_event",
            "target_sync_period",
            "target_sync_updates",
        ):
            value = getattr(self, name)
            if value < 1 and not (name == "learn_period" and value > 0 and (1 / value) % 1 == 0):
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.reward_clip is not None and self.reward_clip <= 0:
            raise ValueError(f"reward_clip must be positive, got {self.reward_clip}")
        if self.replay_capacity < self.batch_size:
            raise ValueError(
                f"replay_capacity {self.replay_capacity} must hold a batch of {self.batch_size}"
            )

    @property
    def first_learning_step(self) -> int:
        """The step before which there is no gradient step: a batch without repeats must fit."""
        return max(self.learning_starts, self.batch_size if self.schedule == "periodic" else 1)

    def gradient_steps(self, steps: int) -> int:
        """How many gradient steps a run takes in its first ``steps`` environment steps."""
        first = self.first_learning_step
        if self.schedule == "periodic":
            return max(0, int(-(-steps // self.learn_period) - -(-first // self.learn_period)))
        events = triangular_numbers(steps) - triangular_numbers(first - 1)
        return self.updates_per_event * max(0, events)


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedyConfig(DeepQConfig):
    """Settings of a method that may explore by random actions of probability ε.

    Attributes:
        exploration: ``epsilon-greedy``: a random action instead of the method's own with
            probability ε; or ``none``.
        epsilon_initial: ε until ``learning_starts``.
        epsilon_final: ε at the end of its decay.
        epsilon_decay_steps: steps of the linear decay.
        epsilon_decay_from: where these are counted from: ``learning-starts`` (Young & Tian 2019),
            or ``first-step`` (the released code of Clements et al. 2019), where ε is below
            ``epsilon_initial`` as soon as learning starts.
    """

    exploration: Literal["epsilon-greedy", "none"] = "epsilon-greedy"
    epsilon_initial: float = 1.0
    epsilon_final: float = 0.03
    epsilon_decay_steps: Steps = 100_000
    epsilon_decay_from: Literal["learning-starts", "first-step"] = "learning-starts"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon_decay_steps < 1:
            raise ValueError(
                f"epsilon_decay_steps must be at least 1, got {self.epsilon_decay_steps}"
            )
        for name in ("epsilon_initial", "epsilon_final"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a probability, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class DQNConfig(EpsilonGreedyConfig):
    """DQN's settings.

    Attributes:
        kappa: where the Huber loss turns from quadratic to linear.
    """

    kappa: float = 1.0


@dataclass(frozen=True, kw_only=True)
class RNDConfig(DQNConfig):
    """Settings of DQN with random network distillation.

    Attributes:
        bonus: β, what the error of the predictor, over its running mean, is multiplied by.
        features: outputs of the random network for each action.
    """

    bonus: float = 0.1
    features: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bonus < 0 or self.features < 1:
            raise ValueError(
                f"expected bonus >= 0 and features >= 1, got {self.bonus} and {self.features}"
            )


@dataclass(frozen=True, kw_only=True)
class QRDQNConfig(EpsilonGreedyConfig):
    """QR-DQN's settings.

    Attributes:
        quantiles: N.
        kappa: κ of the quantile Huber loss; 0 is the plain quantile regression loss.
        risk: act by this measure of the return distribution, in the target too; None for its mean.
    """

    quantiles: int = 50
    kappa: float = 0.0
    risk: MarginalRuleField | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quantiles < 1 or self.kappa < 0:
            raise ValueError(
                f"expected quantiles >= 1 and kappa >= 0, got {self.quantiles} and {self.kappa}"
            )


@dataclass(frozen=True, kw_only=True)
class BootstrappedDQNConfig(EpsilonGreedyConfig):
    """Bootstrapped DQN's settings.

    Attributes:
        heads: K.
        mask_probability: p of the Bernoulli masks that say which transitions a head learns from;
            1 for masks of ones, all from all, as Clements et al. 2019 have it.
        kappa: where the Huber loss turns from quadratic to linear.
        head_weights: how heads start: ``orthogonal`` with ``gain`` and zero biases, as all other
            layers, or ``uniform`` within ±1/√inputs, biases too, as torch's own layers and as
            Clements et al.'s released code leaves them.
        noise_std: σ of a transition's perturbations of its target, one a head, drawn when it is
            stored, in units of return (Osband et al. 2018, section 3.2); 0 for none.
        risk: act by this measure of the heads' values; None for one head an episode, and for the
            heads' mean when evaluated.
        targets: what a head learns from: its ``own`` values in the next state (Osband et al. 2016,
            and MSG, Ghasemipour et al. 2022), or what all share, the heads' ``mean`` or their
            ``min`` (SAC-N and EDAC, An et al. 2021).
    """

    heads: int = 10
    mask_probability: float = field(default=1.0, metadata=LATER)
    kappa: float = 1.0
    head_weights: Literal["orthogonal", "uniform"] = "orthogonal"
    noise_std: float = field(default=0.0, metadata=LATER)
    risk: MarginalRuleField | None = None
    targets: Literal["own", "mean", "min"] = field(default="own", metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads < 2:
            raise ValueError(f"a bootstrap needs at least 2 heads, got {self.heads}")
        if not 0 < self.mask_probability <= 1:
            raise ValueError(f"mask_probability must be in (0, 1], got {self.mask_probability}")
        if self.noise_std < 0:
            raise ValueError(f"noise_std must not be negative, got {self.noise_std}")


@dataclass(frozen=True, kw_only=True)
class RandomizedPriorConfig(BootstrappedDQNConfig):
    """Settings of Bootstrapped DQN with randomized priors.

    Those of its own are of the authors' implementation in bsuite (``boot_dqn``, ``prior_scale``).

    Attributes:
        prior_scale: β, what the prior functions are multiplied by.
        prior_center: ``none``, or ``actions``: a prior's mean over a state's actions is zero, so
            that it prefers actions and not states.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    mask_probability: float = 0.5
    prior_scale: float = 3.0
    prior_center: Literal["none", "actions"] = field(default="none", metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior_scale <= 0:
            raise ValueError(
                f"prior_scale must be positive, got {self.prior_scale}; without priors it is "
                f"the agent bootstrapped-dqn"
            )


@dataclass(frozen=True, kw_only=True)
class C51Config(EpsilonGreedyConfig):
    """C51's settings; its own are those of Bellemare et al. 2017, section 5.

    Attributes:
        atoms: N.
        v_min: lowest atom, in units of discounted return.
        v_max: highest atom.
        risk: act by this measure of the return distribution, in the target too; None for its mean.
    """

    atoms: int = 51
    v_min: float = -10.0
    v_max: float = 10.0
    risk: MarginalRuleField | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.atoms < 2 or not self.v_min < self.v_max:
            raise ValueError(
                f"expected at least 2 atoms and v_min < v_max, got {self.atoms} atoms "
                f"from {self.v_min} to {self.v_max}"
            )


@dataclass(frozen=True, kw_only=True)
class VDQNConfig(EpsilonGreedyConfig):
    """VDQN's settings: those of the released code of Tang & Agrawal 2018.

    Attributes:
        likelihood_std: σ of a target given Q, in units of return.
        posterior_std: of every weight at the start.
        samples: S, draws of the weights for its predictions, and for ``risk``.
        risk: act by this measure of the S draws of Q; None for Thompson sampling: the greedy action
            of one draw per step.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    learning_rate: float = 1e-3
    batch_size: int = 64
    replay_capacity: int = 1_000_000
    learning_starts: WarmUpSteps = 500
    target_sync_period: Steps = 100
    hidden: tuple[int, ...] = (100, 100)
    likelihood_std: float = 0.1
    posterior_std: float = 0.017
    samples: int = 32
    risk: MarginalRuleField | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("likelihood_std", "posterior_std"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.samples < 2:
            raise ValueError(f"a spread needs at least 2 samples, got {self.samples}")
