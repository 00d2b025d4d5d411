"""Random network distillation (Burda et al. 2019) as the exploration bonus of a DQN.

A network learns to predict the outputs of another one that is random and fixed. Where it has seen
few observations it errs, and its error is a reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo
from uqbench.contract.seeding import derive_seed
from uqbench.lanes import initialize, lane_generators
from uqbench_dqn.config import RNDConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.networks import q_network


class RND(DQN):
    """DQN whose rewards have a bonus for observations that a predictor does not know.

    The paper's learner is PPO. Here the bonus is that of the transition's next observation at the
    time of the gradient step, so that it fades in the replay buffer too.

    Source: Burda et al. 2019, "Exploration by random network distillation"
    """

    config: RNDConfig

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: RNDConfig, device: torch.device
    ) -> None:
        lanes = len(seeds)
        self.random = q_network(lanes, info, config, config.features)
        self.predictor = q_network(lanes, info, config, config.features)
        for network, name in ((self.random, "random"), (self.predictor, "predictor")):
            own = lane_generators([derive_seed(f"rnd/{name}", seed) for seed in seeds])
            initialize(network, own, config.gain)
            network.to(device)
        self.random.requires_grad_(False)
        super().__init__(info, seeds, config, device, extra_networks=self.predictor)
        self._total = torch.zeros(lanes, device=device)
        self._steps = torch.zeros(lanes, device=device)

    def errors(self, obs: Tensor) -> Tensor:
        """``‖f̂(s) − f(s)‖²`` over the outputs' number, ``[L, B, *obs] -> [L, B]`` (section 2.2)."""
        difference: Tensor = self.predictor(obs) - self.random(obs)
        return difference.flatten(2).square().mean(-1)

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The Huber loss with ``r + β e(s') / ē`` for r, and the predictor's error: ``[L, B]``.

        ē is the running mean of e over all gradient steps (section 2.4 divides by a running
        standard deviation, for the same reason: the scale of e is the network's). Where an episode
        ended nothing follows, and nothing is predicted; where each step ends one there is no bonus.
        """
        error = self.errors(batch["next_obs"]) * ~batch["terminated"]
        seen = error.detach()
        self._total += seen.mean(-1)
        self._steps += 1
        scale = torch.where(self._total > 0, self._steps / self._total, 0.0)
        bonus = self.config.bonus * seen * scale[:, None]
        return super().objective({**batch, "reward": batch["reward"] + bonus}) + error

    def metrics(self) -> Mapping[str, Tensor]:
        """As DQN's, and the running mean of the predictor's error."""
        return {**super().metrics(), "prediction_error": self._total / self._steps}
