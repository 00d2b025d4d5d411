"""Settings of the prior ensemble, named as those of uqbench-dqn's; so are the defaults."""

from __future__ import annotations

from dataclasses import dataclass

from uqbench.contract.config import Steps, WarmUpSteps


@dataclass(frozen=True, kw_only=True)
class RandomizedPriorConfig:
    """Settings.

    Attributes:
        heads: members of the ensemble.
        prior_scale: β.
        mask_probability: p of the Bernoulli masks that say which transitions a member learns from.
        hidden: widths of the hidden layers.
        learning_rate: α of Adam.
        batch_size: transitions of a gradient step.
        replay_capacity: transitions kept.
        learning_starts: first step with a gradient step.
        learn_period: environment steps for each gradient step.
        target_sync_period: steps between syncs of the target network.
    """

    heads: int = 10
    prior_scale: float = 3.0
    mask_probability: float = 0.5
    hidden: tuple[int, ...] = (128,)
    learning_rate: float = 1e-4
    batch_size: int = 32
    replay_capacity: int = 100_000
    learning_starts: WarmUpSteps = 5_000
    learn_period: int = 1
    target_sync_period: Steps = 1_000

    def __post_init__(self) -> None:
        if self.heads < 2:
            raise ValueError(f"a variance needs at least 2 heads, got {self.heads}")
        for name in ("batch_size", "learning_starts", "learn_period", "target_sync_period"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def gradient_steps(self, steps: int) -> int:
        """How many gradient steps a run takes in its first ``steps`` environment steps.

        For a traced number, too.
        """
        taken = -(-steps // self.learn_period) - -(-self.learning_starts // self.learn_period)
        return taken * (taken > 0)
