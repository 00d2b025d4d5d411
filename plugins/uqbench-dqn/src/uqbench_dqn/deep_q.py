"""What the DQN family has in common: replay, a target network, one update a step.

One gradient step every ``learn_period`` environment steps, from ``replay_start`` on (Mnih et al.
2015, Algorithm 1, where it is four).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from uqbench.agent import Agent, EnvSpec, Step, observation_dtype, observation_shape
from uqbench.lanes import (
    Adam,
    Clock,
    DistinctIntegers,
    Replay,
    RMSProp,
    copy_parameters,
    greedy,
    initialise,
    lane_generators,
    target_copy,
)
from uqbench_dqn.config import DeepQConfig
from uqbench_dqn.networks import q_network


class DeepQ(Agent):
    """A Q-learning agent with a deep network; its children say what the network's outputs mean.

    Args:
        spec: the environment.
        seeds: one a lane.
        config: settings.
        outputs: numbers the network gives per action.
        network: the online one, not yet initialised, where it is not a plain ``QNetwork``.
        device: where networks and replay live.
        beside: networks that the optimiser learns beside the online one; kept with it.
    """

    compiled: ClassVar[tuple[str, ...]] = ("learn",)
    clock: Clock

    def __init__(
        self,
        spec: EnvSpec,
        seeds: Sequence[int],
        config: DeepQConfig,
        outputs: int,
        device: torch.device,
        beside: nn.Module | None = None,
        network: nn.Module | None = None,
    ) -> None:
        self.config = config
        self.discount = spec.discount
        self.start = max(config.replay_start, config.batch_size)
        self.clock = Clock(device)
        lanes, shape = len(seeds), observation_shape(spec)
        self.online = q_network(lanes, spec, config, outputs) if network is None else network
        initialise(self.online, lane_generators(seeds), config.gain)
        self.online.to(device)
        self.target = target_copy(self.online)
        self.learned = nn.ModuleList([self.online] if beside is None else [self.online, beside])
        self.optimiser = _optimiser(self.learned, config)
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
            self.clock,
        )
        self._batches = DistinctIntegers(seeds, "replay", config.batch_size, capacity, device)
        self._all_valid = torch.ones(lanes, spec.n_actions, dtype=torch.bool, device=device)
        self._loss = torch.full((lanes,), torch.nan, device=device)

    @abstractmethod
    def q_values(self, outputs: Tensor) -> Tensor:
        """Expected returns ``[..., A]`` from network outputs ``[..., A, outputs]``."""

    @abstractmethod
    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Losses ``[..., B]`` of outputs and targets ``[..., B, outputs]``."""

    def observe(self, step: Step) -> None:
        """Store the transition, take one gradient step, renew the target network every C steps."""
        self.replay.add(
            obs=step.obs,
            action=step.action,
            reward=self.reward(step),
            terminated=step.terminated,
            next_obs=step.next_obs,
            next_valid=self._all_valid if step.valid_actions is None else step.valid_actions,
        )
        learns, renews = self.phase(self.clock.t)
        if learns:
            objective = self.learn(self._batches.at(self.clock))
            self._loss.copy_(objective.mean(-1))
        if renews:
            copy_parameters(self.online, self.target)
        self.clock.advance()

    def reward(self, step: Step) -> Tensor:
        """What is learned from as the reward of a step, ``[L]``: the reward within its bound."""
        bound = self.config.reward_bound
        return step.reward if bound is None else step.reward.clamp(-bound, bound)

    def phase(self, t: int) -> tuple[bool, bool]:
        """Whether step ``t`` takes a gradient step, and whether it renews the target network."""
        begun = t >= self.start
        learns = begun and t % self.config.learn_period == 0
        return learns, begun and t % self.config.target_period == 0

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action in each of ``[L, M]`` observations."""
        return greedy(self.q_values(self.online(obs)), valid)

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """What is minimised in the mean over the batch, ``[L, B]``."""
        predicted = of_action(self.online(batch["obs"]), batch["action"])
        return self.loss(predicted, self.bellman_target(batch))

    def learn(self, index: Tensor) -> Tensor:
        """One gradient step on the replay's transitions ``index`` ``[L, B]``.

        Returns:
            The objective of each before the step, ``[L, B]``; its mean is left to the caller, since
            compiled sums of few numbers are added in an order that depends on the lanes beside.
        """
        objective = self.objective(self.replay.gather(index))
        mean = objective.sum() / index.shape[-1]
        self.optimiser.step(torch.autograd.grad(mean, self.optimiser.parameters))
        return objective.detach()

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ θ⁻(s', a*)``, ``a* = argmax_a Q⁻(s', a)``: ``[L, B, outputs]``."""
        outputs = self.target(batch["next_obs"])
        best = greedy(self.q_values(outputs), batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        return batch["reward"][..., None] + continues[..., None] * of_action(outputs, best)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss."""
        return {"loss": self._loss}

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimiser, replay and the step; random numbers are a function of the step."""
        return {
            "clock": self.clock.state_dict(),
            "loss": self._loss.clone(),
            "learned": self.learned.state_dict(),
            "target": self.target.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "replay": self.replay.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.clock.load_state_dict(state["clock"])
        self._loss.copy_(state["loss"])
        self.learned.load_state_dict(state["learned"])
        self.target.load_state_dict(state["target"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.replay.load_state_dict(state["replay"])


def _optimiser(learned: nn.Module, config: DeepQConfig) -> Adam | RMSProp:
    if config.optimiser == "adam":
        return Adam(learned.parameters(), config.learning_rate, config.adam_epsilon)
    return RMSProp(
        learned.parameters(),
        config.learning_rate,
        config.rmsprop_decay,
        config.rmsprop_epsilon,
        centred=True,
    )


def of_action(outputs: Tensor, action: Tensor) -> Tensor:
    """Outputs of one action: ``[..., B, A, N]``, ``[..., B]`` → ``[..., B, N]``."""
    index = action[..., None, None].expand(*action.shape, 1, outputs.shape[-1])
    return outputs.gather(-2, index).squeeze(-2)
