"""Stable-Baselines3's DQN and sb3-contrib's QRDQN: libraries that own their training loop."""

from __future__ import annotations

from typing import Any

import gymnasium
import sb3_contrib
import stable_baselines3
import torch
from numpy.typing import NDArray
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from uqbench.agent import EnvironmentInfo, LoopAgent
from uqbench_sb3.config import SB3Config


class SmallConvolution(BaseFeaturesExtractor):
    """MinAtar's network: a 3×3 convolution and a fully connected layer, ReLU after each."""

    def __init__(self, space: gymnasium.spaces.Box, channels: int, hidden: int) -> None:
        super().__init__(space, hidden)
        depth, height, width = space.shape
        features = channels * (height - 2) * (width - 2)
        self.layers = nn.Sequential(
            nn.Conv2d(depth, channels, 3), nn.ReLU(), nn.Flatten(), nn.Linear(features, hidden),
            nn.ReLU(),
        )  # fmt: skip

    def forward(self, observations: Tensor) -> Tensor:
        """``[B, C, H, W] -> [B, hidden]``."""
        features: Tensor = self.layers(observations)
        return features


class DQN(LoopAgent):
    """``stable_baselines3.DQN``, one gradient step per environment step."""

    algorithm: type[stable_baselines3.DQN] | type[sb3_contrib.QRDQN] = stable_baselines3.DQN

    def __init__(self, info: EnvironmentInfo, config: SB3Config) -> None:
        self.info, self.config = info, config

    def policy_settings(self) -> dict[str, Any]:
        """What the library's policy is given."""
        config = self.config
        optimiser = {"optimizer_kwargs": {"eps": config.adam_epsilon}}
        if len(self.info.observation_space.shape or ()) == 3:
            extractor = {"channels": config.channels, "hidden": config.hidden}
            return optimiser | {
                "features_extractor_class": SmallConvolution,
                "features_extractor_kwargs": extractor,
                "net_arch": [],
                "normalize_images": False,
            }
        return optimiser | {"net_arch": [config.hidden]}

    def train(self, env: gymnasium.Env[Any, Any], total_steps: int, seed: int) -> None:
        """Learn with the library's own loop."""
        config = self.config
        torch.set_num_threads(1)
        self.model = self.algorithm(
            "MlpPolicy",
            env,
            learning_rate=config.learning_rate,
            buffer_size=min(config.buffer_size, total_steps),
            learning_starts=config.learning_starts,
            batch_size=config.batch_size,
            gamma=self.info.discount,
            train_freq=1,
            gradient_steps=1,
            target_update_interval=config.target_update_interval,
            exploration_fraction=min(1.0, config.exploration_steps / total_steps),
            exploration_final_eps=config.exploration_final_eps,
            policy_kwargs=self.policy_settings(),
            seed=seed,
            device="cpu",
        )
        self.model.learn(total_steps)

    def policy(self, obs: NDArray[Any]) -> int:
        """The greedy action."""
        action, _ = self.model.predict(obs, deterministic=True)
        return int(action)


class QRDQN(DQN):
    """``sb3_contrib.QRDQN``."""

    algorithm = sb3_contrib.QRDQN

    def policy_settings(self) -> dict[str, Any]:
        """As DQN's, with the number of quantiles."""
        return {**super().policy_settings(), "n_quantiles": self.config.quantiles}
