"""QRDQN of sb3-contrib on the common work, with the options that made it fastest."""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib import QRDQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn
from uqbench_minatar.config import GameConfig
from uqbench_minatar.oracle import Game
from work import (
    ADAM_EPSILON,
    BATCH,
    CHANNELS,
    DISCOUNT,
    EPSILON,
    GAME,
    HIDDEN,
    KERNEL,
    LEARNING_RATE,
    LEARNING_STARTS,
    QUANTILES,
    REPLAY_CAPACITY,
    TARGET_SYNC_PERIOD,
    Clock,
)


class Features(BaseFeaturesExtractor):
    """The convolution and the hidden layer."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, HIDDEN)
        depth, height, width = observation_space.shape
        flat = CHANNELS * (height - KERNEL + 1) * (width - KERNEL + 1)
        self.layers = nn.Sequential(
            nn.Conv2d(depth, CHANNELS, KERNEL),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(flat, HIDDEN),
            nn.ReLU(),
        )

    def forward(self, observations: Tensor) -> Tensor:
        return self.layers(observations)


class OnStep(BaseCallback):
    """Tells the clock of every step."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def _on_step(self) -> bool:
        self._clock.on_step(self.num_timesteps)
        return True


def measure(steps: int, seed: int) -> float:
    """Environment steps per second."""
    torch.set_num_threads(1)
    clock = Clock(steps)
    model = QRDQN(
        "CnnPolicy",
        Game(GameConfig(game=GAME)),
        learning_rate=LEARNING_RATE,
        buffer_size=REPLAY_CAPACITY,
        learning_starts=LEARNING_STARTS,
        batch_size=BATCH,
        gamma=DISCOUNT,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=TARGET_SYNC_PERIOD,
        exploration_initial_eps=EPSILON,
        exploration_final_eps=EPSILON,
        policy_kwargs={
            "n_quantiles": QUANTILES,
            "net_arch": [],
            "features_extractor_class": Features,
            "normalize_images": False,
            "optimizer_class": torch.optim.Adam,
            "optimizer_kwargs": {"eps": ADAM_EPSILON, "fused": True},
        },
        seed=seed,
        device="cpu",
    )
    model.learn(clock.last, callback=OnStep(clock), log_interval=10**9)
    return clock.steps_per_second
