"""Stable-Baselines3's DQN and sb3-contrib's QRDQN: libraries that own their training loop."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvStepReturn
from torch import Tensor, nn

from uqbench.contract.agent import EnvironmentInfo, LoopAgent, Uncertainty
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


class Actors(VecEnv):
    """The actors of a run as the library's own kind of vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._env = env

    def reset(self) -> NDArray[Any]:
        """The first observations ``[K, *obs]``."""
        first: NDArray[Any] = self._env.reset()[0]
        return first

    def step_async(self, actions: NDArray[Any]) -> None:
        """Remember what to do."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Do it; the last observations of episodes are in the infos."""
        obs, reward, terminated, truncated, infos = self._env.step(self._actions)
        found: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminated | truncated
        for actor in np.flatnonzero(ended):
            found[actor] = {
                "terminal_observation": infos["final_obs"][actor],
                "TimeLimit.truncated": bool(truncated[actor] and not terminated[actor]),
            }
        return obs, reward.astype(np.float32), ended, found

    def close(self) -> None:
        """The harness closes its environment."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The same of all actors."""
        return [getattr(self._env, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Nothing of the harness's environment is to be set."""
        raise AttributeError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Nor called."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No actor is."""
        return [False] * self.num_envs


class DQN(LoopAgent):
    """DQN of stable-baselines3.

    With K actors their ``n_envs``, which step together.

    Source: Raffin et al. 2021
    """

    algorithm: type[stable_baselines3.DQN] | type[sb3_contrib.QRDQN] = stable_baselines3.DQN
    network_name = "q_net"

    def __init__(self, info: EnvironmentInfo, config: SB3Config) -> None:
        self.info, self.config = info, config

    def policy_config(self) -> dict[str, Any]:
        """Keyword arguments of the library's policy."""
        config = self.config
        optimizer = {"optimizer_kwargs": {"eps": config.adam_epsilon}}
        if len(self.info.observation_space.shape or ()) == 3:
            extractor = {"channels": config.channels, "hidden": config.hidden}
            return optimizer | {
                "features_extractor_class": SmallConvolution,
                "features_extractor_kwargs": extractor,
                "net_arch": [],
                "normalize_images": False,
            }
        return optimizer | {"net_arch": [config.hidden]}

    def train(self, env: Any, total_steps: int, seed: int) -> None:
        """Train with the library's own loop."""
        config, actors = self.config, self.info.actors
        torch.set_num_threads(1)
        self.model = self.algorithm(
            "MlpPolicy",
            env if actors == 1 else Actors(env),
            learning_rate=config.learning_rate,
            buffer_size=min(config.buffer_size, total_steps),
            learning_starts=config.learning_starts,
            batch_size=config.batch_size,
            gamma=self.info.discount,
            train_freq=max(1, config.learn_period // actors),
            gradient_steps=max(1, actors // config.learn_period),
            target_update_interval=config.target_update_interval,
            exploration_fraction=min(1.0, config.exploration_steps / total_steps),
            exploration_final_eps=config.exploration_final_eps,
            policy_kwargs=self.policy_config(),
            seed=seed,
            device="cpu",
        )
        self.model.set_logger(Logger(None, []))  # its own leaves a folder in /tmp for every run
        self.model.learn(total_steps)

    def policy(self, obs: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> int:
        """The greedy action of all: the library knows no valid ones."""
        action, _ = self.model.predict(obs, deterministic=True)
        return int(action)

    def uncertainty(self, obs: NDArray[Any]) -> Uncertainty:
        """The mean of Q alone."""
        return Uncertainty(mean=self.network(obs)[None])

    def network(self, obs: NDArray[Any]) -> Tensor:
        """What the library's online network says of observations ``[M, *obs]``."""
        network = getattr(self.model.policy, self.network_name)
        network.set_training_mode(False)
        with torch.no_grad():
            found: Tensor = network(self.model.policy.obs_to_tensor(obs)[0])
        return found


class QRDQN(DQN):
    """QRDQN of sb3-contrib.

    Source: Raffin et al. 2021
    """

    algorithm = sb3_contrib.QRDQN
    network_name = "quantile_net"

    def uncertainty(self, obs: NDArray[Any]) -> Uncertainty:
        """The return distribution: equally likely quantiles, with their mean and variance."""
        atoms = self.network(obs).movedim(1, -1)[None]  # [1, M, A, N]
        return Uncertainty(
            mean=atoms.mean(-1),
            aleatoric_var=atoms.var(-1, correction=0),
            return_atoms=atoms,
            return_probs=torch.full_like(atoms, 1 / atoms.shape[-1]),
        )

    def policy_config(self) -> dict[str, Any]:
        """As DQN's, with the number of quantiles."""
        return {**super().policy_config(), "n_quantiles": self.config.quantiles}
