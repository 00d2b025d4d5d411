"""Config of both agents; the defaults are those of the ``minatar`` suite's own DQN and QR-DQN."""

from __future__ import annotations

from dataclasses import dataclass, field

from uqbench.contract.config import LATER, Steps, WarmUpSteps


@dataclass(frozen=True, kw_only=True)
class SB3Config:
    """Named as in the libraries, whose documentation says more.

    Attributes:
        learn_period: environment steps, of all actors together, between two gradient steps.
        channels: filters of the 3×3 convolution (image observations only).
        hidden: width of the fully connected layer.
        quantiles: of QRDQN.
    """

    learning_rate: float = 1e-4
    adam_epsilon: float = 1e-8
    batch_size: int = 32
    buffer_size: int = 100_000
    learn_period: int = field(default=1, metadata=LATER)
    learning_starts: WarmUpSteps = 5_000
    target_update_interval: Steps = 1_000
    exploration_steps: Steps = 100_000
    exploration_final_eps: float = 0.03
    channels: int = 16
    hidden: int = 128
    quantiles: int = 50
