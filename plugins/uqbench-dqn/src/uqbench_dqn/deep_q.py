"""What the DQN family has in common (Mnih et al. 2015, Algorithm 1).

A replay buffer, a target network, exploration, and gradient steps by a schedule
(:mod:`uqbench_dqn.updates`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.lanes import (
    Adam,
    Capturable,
    Clock,
    EpsilonGreedy,
    Exploration,
    TransitionBuffer,
    greedy,
    initialize,
    lane_generators,
    sync_target,
    target_copy,
)
from uqbench_dqn.config import DeepQConfig, EpsilonGreedyConfig
from uqbench_dqn.networks import output_layer, q_network, start_at, start_paired
from uqbench_dqn.rmsprop import RMSProp
from uqbench_dqn.updates import (
    Draw,
    Periodic,
    Schedule,
    Triangular,
    Updates,
    WithoutRepeats,
    WithRepeats,
)


class DeepQ(Capturable, Agent):
    """A Q-learning agent with a deep network; its children say what the network's outputs mean.

    Args:
        info: the environment.
        seeds: one per lane.
        config: settings.
        outputs: numbers that the network gives per action.
        device: where networks and replay buffer live.
        network: the online one, not yet initialized, where it is not a plain ``QNetwork``.
        extra_networks: networks that the optimizer trains with the online one.
    """

    compiled: ClassVar[tuple[str, ...]] = ("learn", "choose_action")

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: DeepQConfig,
        outputs: int,
        device: torch.device,
        *,
        network: nn.Module | None = None,
        extra_networks: nn.Module | None = None,
    ) -> None:
        self.config = config
        self.discount = info.discount
        self.n_actions = info.n_actions
        self.start = config.first_learning_step
        self.clock = Clock(device, info.actors)
        self.exploration = _exploration(config, seeds, info.n_actions, self.start, self.clock)
        self.online = q_network(len(seeds), info, config, outputs) if network is None else network
        self.initialize(lane_generators(seeds))
        self.online.to(device)
        self.target = target_copy(self.online)
        extra = [] if extra_networks is None else [extra_networks]
        self.optimizer = _optimizer(nn.ModuleList([self.online, *extra]), config)
        capacity = min(config.replay_capacity, info.total_steps)
        self.replay = TransitionBuffer(len(seeds), capacity, info, self.clock)
        schedule = (Periodic if config.schedule == "periodic" else Triangular)(config, info.actors)
        self.updates = Updates(schedule, self.draw(seeds, schedule), self.clock)
        self._loss = torch.full((len(seeds),), torch.nan, device=device)

    def draw(self, seeds: Sequence[int], schedule: Schedule) -> Draw:
        """The draw of minibatches; a child may have another for the same schedule."""
        count = self.config.batch_size
        if isinstance(schedule, Periodic):
            return WithoutRepeats(seeds, count, self.replay, schedule, self.clock)
        return WithRepeats(seeds, count, self.replay, schedule, self.clock)

    def initialize(self, generators: Sequence[torch.Generator]) -> None:
        """Draw the online network's initial weights, one generator a lane."""
        initialize(self.online, generators, self.config.gain)
        if self.config.start == "random":
            return
        outputs = self.start_outputs
        if self.config.start == "paired":
            start_paired(self.online, outputs)
        else:
            start_at(output_layer(self.online), outputs)

    @property
    def start_outputs(self) -> Tensor:
        """Outputs of an action that mean a return of 0, for a start that is not random: ``[N]``.

        Raises:
            ValueError: a child has no such start.
        """
        raise ValueError(
            f"{type(self).__name__} has no start = 'zero': Q is not one output layer's alone; "
            f"use start = 'random'"
        )

    @abstractmethod
    def q_values(self, outputs: Tensor) -> Tensor:
        """Expected returns ``[..., A]`` from network outputs ``[..., A, outputs]``."""

    def risk_adjusted(self, outputs: Tensor) -> Tensor:
        """What actions are chosen by, ``[..., A]``: Q-values, where a child has no risk measure."""
        return self.q_values(outputs)

    @abstractmethod
    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Losses ``[..., B]`` of outputs and targets ``[..., B, outputs]``."""

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action, or what exploration makes of it."""
        return self.choose_action(obs, self.exploration.noise(), valid)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions ``[L, K]`` in ``obs`` ``[L, K, *obs]``, by random numbers ``noise``."""
        values = self.risk_adjusted(self.online(obs))
        return self.exploration.explore(greedy(values, valid), noise, valid)

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action in each of ``[L, M]`` observations."""
        return greedy(self.risk_adjusted(self.online(obs)), valid)

    def observe(self, step: Step) -> None:
        """Store the transitions, take gradient steps and sync the target network when due."""
        self.replay.store(step, self.reward(step))
        count, syncs, *_ = self.phase(self.clock.t)
        for index in self.updates.batches(count):
            self.note(self.learn(index))
        if syncs:
            sync_target(self.online, self.target)
        self.clock.advance()

    def note(self, objective: Tensor) -> None:
        """Keep the mean of a gradient step's objective ``[L, B]``, for :meth:`metrics`."""
        self._loss.copy_(objective.mean(-1))

    def phase(self, t: int) -> tuple[int, ...]:
        """How many gradient steps step ``t`` takes, and whether it syncs the target network.

        A child adds what else makes its steps differ.
        """
        return self.updates.phase(t)

    def reward(self, step: Step) -> Tensor:
        """The reward to learn from, ``[L, K]``: the step's, clipped."""
        clip = self.config.reward_clip
        return step.reward if clip is None else step.reward.clamp(-clip, clip)

    def learn(self, index: Tensor) -> Tensor:
        """One gradient step on the buffer's transitions ``index`` ``[L, B]``.

        Returns:
            The objective of each before the step, ``[L, B]``; its mean is left to the caller (see
            :mod:`uqbench.lanes.numerics`).
        """
        objective = self.objective(self.minibatch(index))
        mean = objective.sum() / index.shape[-1]
        self.optimizer.step(torch.autograd.grad(mean, self.optimizer.parameters))
        return objective.detach()

    def minibatch(self, index: Tensor) -> dict[str, Tensor]:
        """The transitions ``[L, B, *]`` to learn from, by field."""
        return self.replay.gather(index)

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """What is minimized, on average over the batch, ``[L, B]``."""
        predicted = of_action(self.online(batch["obs"]), batch["action"])
        return self.loss(predicted, self.bellman_target(batch))

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ θ⁻(s', a*)``, ``a* = argmax_a Q⁻(s', a)``: ``[L, B, outputs]``.

        With a risk measure a* is the action that it prefers, as in Dabney et al. 2018, "Implicit
        quantile networks", section 3: the return distribution is that of the policy.
        """
        outputs = self.target(batch["next_obs"])
        best = greedy(self.risk_adjusted(outputs), batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        return batch["reward"][..., None] + continues[..., None] * of_action(outputs, best)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and what exploration has to report."""
        return {"loss": self._loss, **self.exploration.metrics()}


def _exploration(
    config: DeepQConfig, seeds: Sequence[int], n_actions: int, start: int, clock: Clock
) -> Exploration:
    if not isinstance(config, EpsilonGreedyConfig) or config.exploration == "none":
        return Exploration()
    return EpsilonGreedy(
        seeds,
        n_actions,
        clock,
        initial=config.epsilon_initial,
        final=config.epsilon_final,
        start=start if config.epsilon_decay_from == "learning-starts" else 0,
        decay_steps=config.epsilon_decay_steps,
        random_until=start,
    )


def _optimizer(learned: nn.Module, config: DeepQConfig) -> Adam | RMSProp:
    parameters = [one for one in learned.parameters() if one.requires_grad]
    if config.optimizer == "adam":
        return Adam(parameters, config.learning_rate, config.adam_epsilon)
    return RMSProp(
        parameters,
        config.learning_rate,
        config.rmsprop_decay,
        config.rmsprop_epsilon,
        centered=True,
    )


def of_action(outputs: Tensor, action: Tensor) -> Tensor:
    """Outputs of one action: ``[..., B, A, N]``, ``[..., B]`` → ``[..., B, N]``."""
    index = action[..., None, None].expand(*action.shape, 1, outputs.shape[-1])
    return outputs.gather(-2, index).squeeze(-2)
