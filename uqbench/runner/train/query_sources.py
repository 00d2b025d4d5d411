"""Where agents are asked, and the truth about their own policy there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from uqbench.agent import Agent
from uqbench.environment import LaneEnv
from uqbench.errors import UqbenchError
from uqbench.identity import Run
from uqbench.queries import QueryStates, visit
from uqbench.runner.train.rollouts import Make, rollout_returns
from uqbench.seeding import derive_seed
from uqbench.suites.tables import Queries
from uqbench.truth import ExactTruth, Truth


class QuerySource(Protocol):
    """States and the truth about them after ``step`` steps of training."""

    def obs(self, step: int) -> Tensor:
        """Observations of the M states, ``[M, *obs]``."""

    def truth(self, agent: Agent, step: int) -> Truth:
        """About the agent's evaluated policy in these states."""

    def unseen(self, obs: Tensor) -> Tensor | None:
        """Observations that no trajectory reaches, from some that are; None: there are none."""


class ExactSource:
    """An environment that knows the truth: all its states, at every time."""

    def __init__(self, exact: ExactTruth, lanes: int, device: torch.device) -> None:
        self._evaluate = exact.evaluate
        self._obs = exact.obs.to(device)
        self._valid = None if exact.valid is None else exact.valid.to(device)
        self._lanes = lanes

    def obs(self, step: int) -> Tensor:
        """Of every state."""
        return self._obs

    def truth(self, agent: Agent, step: int) -> Truth:
        """Of the policy's actions in every state."""
        obs = self._obs.expand(self._lanes, *self._obs.shape)
        valid = self._valid
        if valid is not None:
            valid = valid.expand(self._lanes, *valid.shape)
        actions = agent.policy(obs, valid)
        found = self._evaluate(actions.cpu())
        known = {name: x.to(self._obs.device) for name, x in vars(found).items() if x is not None}
        return replace(found, **known)

    def unseen(self, obs: Tensor) -> None:
        """None: every state can be reached."""


@dataclass(frozen=True)
class _Standing:
    """Where the agent is asked.

    Attributes:
        obs: ``[M, *obs]``.
        env: an environment whose first M lanes stand there.
    """

    obs: Tensor
    env: LaneEnv


class RolloutSource:
    """Frozen query states, and rollouts from copies of them.

    Args:
        queries: the budget's table.
        states: of the task.
        runs: of the batch, one a lane.
        make: makes the task's environment, one lane a seed.
        discount: γ.
        steps: of a run.

    Raises:
        UqbenchError: the budget does not say how many states and rollouts.
    """

    def __init__(
        self,
        queries: Queries,
        states: QueryStates,
        runs: Sequence[Run],
        make: Make,
        discount: float,
        steps: int,
    ) -> None:
        if queries.states is None or queries.rollouts is None:
            raise UqbenchError(
                f"task {runs[0].task!r} has query states but no exact truth: its budget's queries "
                f"need 'states' and 'rollouts', as in queries = {{ states = 32, rollouts = 8 }}"
            )
        self._states = states.first(queries.states)
        self._count, self._rollouts = queries.states, queries.rollouts
        self._early = queries.early_states or queries.states
        self._tail = queries.tail
        self._runs = runs
        self._make = make
        self._discount = discount
        self._steps = steps

    def obs(self, step: int) -> Tensor:
        """Of the first states, fewer before the end of training."""
        return self._standing.obs[: self._asked(step)]

    def truth(self, agent: Agent, step: int) -> Truth:
        """By rollouts, with seeds that depend on task, seed and step, and not on the method."""
        env, states = self._standing.env, self._asked(step)
        count = states * env.n_actions * self._rollouts
        seeds = [
            [derive_seed("queries", run.suite, run.task, run.seed, step, n) for n in range(count)]
            for run in self._runs
        ]
        returns = rollout_returns(agent, env, self._make, seeds, states, self._discount, self._tail)
        return Truth.from_samples(returns)

    def unseen(self, obs: Tensor) -> Tensor | None:
        """As the environment makes them."""
        return None if self._states.unseen is None else self._states.unseen(obs)

    def _asked(self, step: int) -> int:
        return self._count if step == self._steps else self._early

    @cached_property
    def _standing(self) -> _Standing:
        """The states, visited when they are first needed."""
        walkers = self._make(self._states.seeds)
        standing = self._make([0] * self._count)
        standing.reset()
        obs: dict[int, Tensor] = {}
        for numbers, lanes, seen in visit(self._states, walkers):
            standing.copy_lanes(numbers, walkers, lanes, random_numbers=True)
            obs |= dict(zip(numbers.tolist(), seen, strict=True))
        return _Standing(torch.stack([obs[number] for number in range(self._count)]), standing)
