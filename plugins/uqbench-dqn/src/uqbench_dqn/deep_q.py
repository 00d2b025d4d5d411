"""What the DQN family has in common: replay, ε-greedy actions, a target network.

One gradient step an environment step, from ``replay_start`` on (Mnih et al. 2015, Algorithm 1).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.agent import Agent, EnvSpec, Step, observation_dtype, observation_shape
from uqbench.lanes import (
    DistinctIntegers,
    Replay,
    Uniform,
    adam,
    copy_parameters,
    epsilon_greedy,
    greedy,
    initialise,
    lane_generators,
    linear_schedule,
    target_copy,
)
from uqbench_dqn.config import DeepQConfig
from uqbench_dqn.networks import QNetwork


class DeepQ(Agent):
    """A Q-learning agent with a deep network; its children say what the network's outputs mean.

    Args:
        spec: the environment.
        seeds: one a lane.
        config: settings.
        outputs: numbers the network gives per action.
        device: where networks and replay live.
    """

    def __init__(
        self,
        spec: EnvSpec,
        seeds: Sequence[int],
        config: DeepQConfig,
        outputs: int,
        device: torch.device,
    ) -> None:
        self.config = config
        self.discount = spec.discount
        self.start = max(config.replay_start, config.batch_size)
        lanes, shape = len(seeds), observation_shape(spec)
        self.online = QNetwork(
            lanes,
            shape,
            spec.n_actions,
            outputs,
            hidden=config.hidden,
            channels=config.channels,
            kernel=config.kernel,
        )
        initialise(self.online, lane_generators(seeds), config.gain)
        self.online.to(device)
        self.target = target_copy(self.online)
        self.optimiser = adam(self.online.parameters(), config.learning_rate, config.adam_epsilon)
        capacity = min(config.replay_capacity, spec.total_steps)
        self.replay = Replay(
            lanes,
            capacity,
            {
                "obs": (shape, observation_dtype(spec)),
                "action": ((), torch.int64),
                "reward": ((), torch.float32),
                "terminated": ((), torch.bool),
                "next_obs": (shape, observation_dtype(spec)),
                "next_valid": ((spec.n_actions,), torch.bool),
            },
            device,
        )
        self._explore = Uniform(seeds, "explore", (2,), device)
        self._batches = DistinctIntegers(seeds, "replay", config.batch_size, capacity, device)
        self._all_valid = torch.ones(lanes, spec.n_actions, dtype=torch.bool, device=device)
        self._loss = torch.full((lanes,), torch.nan, device=device)
        self._t = 0

    @abstractmethod
    def q_values(self, outputs: Tensor) -> Tensor:
        """Expected returns ``[..., A]`` from network outputs ``[..., A, outputs]``."""

    @abstractmethod
    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Loss of each lane ``[L]`` for outputs and targets ``[L, B, outputs]``."""

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """ε-greedy; ε keeps its first value until learning starts."""
        values = self.q_values(self.online(obs[:, None]))[:, 0]
        return epsilon_greedy(values, self._explore.at(self._t), self.epsilon, valid)

    def observe(self, step: Step) -> None:
        """Store the transition, take one gradient step, renew the target network every C steps."""
        self.replay.add(
            obs=step.obs,
            action=step.action,
            reward=step.reward,
            terminated=step.terminated,
            next_obs=step.next_obs,
            next_valid=self._all_valid if step.valid_actions is None else step.valid_actions,
        )
        if step.t >= self.start:
            self._learn(self.replay.gather(self._batches.at(step.t)))
            if step.t % self.config.target_period == 0:
                copy_parameters(self.online, self.target)
        self._t = step.t + 1

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action in each of ``[L, M]`` observations."""
        return greedy(self.q_values(self.online(obs)), valid)

    @property
    def epsilon(self) -> float:
        """ε of the coming step."""
        config = self.config
        return linear_schedule(
            self._t, config.epsilon_first, config.epsilon_last, self.start, config.epsilon_steps
        )

    def _learn(self, batch: Mapping[str, Tensor]) -> None:
        target = self.bellman_target(batch)
        predicted = _of_action(self.online(batch["obs"]), batch["action"])
        loss = self.loss(predicted, target)
        self.optimiser.zero_grad(set_to_none=True)
        loss.sum().backward()
        self.optimiser.step()
        self._loss = loss.detach()

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ θ⁻(s', a*)``, ``a* = argmax_a Q⁻(s', a)``: ``[L, B, outputs]``."""
        outputs = self.target(batch["next_obs"])
        best = greedy(self.q_values(outputs), batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        return batch["reward"][..., None] + continues[..., None] * _of_action(outputs, best)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and ε."""
        return {"loss": self._loss, "epsilon": torch.full_like(self._loss, self.epsilon)}

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimiser, replay and the step; random numbers are a function of the step."""
        return {
            "t": self._t,
            "loss": self._loss,
            "online": self.online.state_dict(),
            "target": self.target.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "replay": self.replay.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self._t = state["t"]
        self._loss = state["loss"]
        self.online.load_state_dict(state["online"])
        self.target.load_state_dict(state["target"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.replay.load_state_dict(state["replay"])


def _of_action(outputs: Tensor, action: Tensor) -> Tensor:
    """Outputs of one action: ``[L, B, A, N]``, ``[L, B]`` → ``[L, B, N]``."""
    index = action[..., None, None].expand(*action.shape, 1, outputs.shape[-1])
    return outputs.gather(2, index).squeeze(2)
