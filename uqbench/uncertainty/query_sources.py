"""Where agents are asked, and the truth about their own policy there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.environment import LaneEnv
from uqbench.errors import UqbenchError
from uqbench.identity import Run
from uqbench.queries import QueryStates, visit
from uqbench.runner.train.evaluation import Policy
from uqbench.seeding import derive_seed
from uqbench.suites.tables import Queries
from uqbench.truth import ExactTruth, Truth
from uqbench.uncertainty.rollouts import Make, rollout_returns
from uqbench.uncertainty.visits import Visits


class Asked(Protocol):
    """What is asked: an ``Agent``, or a ``LoopAgent`` as one lane."""

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[L, M]`` of the evaluated policy."""

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Predictions for ``obs`` ``[L, M, *obs]``, or None where the agent makes none."""


class QuerySource(Protocol):
    """States and the truth about them after ``step`` steps of training.

    Attributes:
        name: stands before the names of the scores.
    """

    name: str

    def obs(self, agent: Asked, step: int) -> Tensor | None:
        """Observations of the M states, ``[L, M, *obs]``; None where nothing is asked now."""

    def truth(self, agent: Asked, step: int) -> Truth:
        """About the agent's evaluated policy in these states."""

    def unseen(self, obs: Tensor) -> Tensor | None:
        """Observations that no trajectory reaches, from some that are; None: there are none."""

    def visits(self) -> Tensor | None:
        """How often training came to each of the M states, ``[L, M]``; None: it was not counted."""


class ExactSource:
    """An environment that knows the truth: all its states, at every time.

    Args:
        exact: the truth.
        lanes: L.
        device: where agents are asked.

    Attributes:
        name: stands before the names of the scores.
        counter: of the states to which training comes.
    """

    name = ""

    def __init__(self, exact: ExactTruth, lanes: int, device: torch.device) -> None:
        self._evaluate = exact.evaluate
        self._obs = exact.obs.to(device)
        self._valid = None if exact.valid is None else exact.valid.to(device)
        self._lanes = lanes
        self.counter = Visits(exact.obs, lanes)

    def obs(self, agent: Asked, step: int) -> Tensor:
        """Of every state."""
        return self._obs.expand(self._lanes, *self._obs.shape)

    def truth(self, agent: Asked, step: int) -> Truth:
        """Of the policy's actions in every state."""
        obs = self.obs(agent, step)
        valid = self._valid
        if valid is not None:
            valid = valid.expand(self._lanes, *valid.shape)
        actions = agent.policy(obs, valid)
        found = self._evaluate(actions.cpu())
        known = {name: x.to(self._obs.device) for name, x in vars(found).items() if x is not None}
        return replace(found, **known)

    def unseen(self, obs: Tensor) -> None:
        """None: every state can be reached."""

    def visits(self) -> Tensor:
        """To every state."""
        return self.counter.counts


@dataclass(frozen=True)
class Rollouts:
    """How the truth is made where lanes can be copied.

    Attributes:
        runs: of the batch, one a lane.
        make: makes the task's environment, one lane a seed.
        discount: γ.
        count: R, rollouts of each action.
        tail: what a reward counts that is not waited for.
    """

    runs: Sequence[Run]
    make: Make
    discount: float
    count: int
    tail: float

    def truth(
        self, agent: Policy, states: LaneEnv, place: Tensor, purpose: str, step: int
    ) -> Truth:
        """Of states in which the lanes ``place`` ``[L, M]`` of an environment stand."""
        number = place.shape[1] * states.n_actions * self.count
        seeds = [
            [derive_seed(purpose, run.suite, run.task, run.seed, step, n) for n in range(number)]
            for run in self.runs
        ]
        return Truth.from_samples(
            rollout_returns(agent, states, place, self.make, seeds, self.discount, self.tail)
        )


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
        rollouts: make the truth.
        queries: the budget's table.
        states: of the task.
        runs: of the batch, one a lane.
        steps: of a run.

    Raises:
        UqbenchError: the budget does not say how many states and rollouts.
    """

    name = ""

    def __init__(
        self,
        rollouts: Rollouts,
        queries: Queries,
        states: QueryStates,
        runs: Sequence[Run],
        steps: int,
    ) -> None:
        if queries.states is None or queries.rollouts is None:
            raise UqbenchError(
                f"task {runs[0].task!r} has query states but no exact truth: its budget's queries "
                f"need 'states' and 'rollouts', as in queries = {{ states = 32, rollouts = 8 }}"
            )
        self._rollouts = rollouts
        self._states = states.first(queries.states)
        self._count, self._lanes, self._steps = queries.states, len(runs), steps
        self._early = queries.early_states or queries.states

    def obs(self, agent: Asked, step: int) -> Tensor:
        """Of the first states, fewer before the end of training."""
        obs = self._standing.obs[: self._asked(step)]
        return obs.expand(self._lanes, *obs.shape)

    def truth(self, agent: Asked, step: int) -> Truth:
        """By rollouts, with seeds that depend on task, seed and step, and not on the method."""
        place = torch.arange(self._asked(step)).expand(self._lanes, -1)
        return self._rollouts.truth(agent, self._standing.env, place, "queries", step)

    def unseen(self, obs: Tensor) -> Tensor | None:
        """As the environment makes them."""
        return None if self._states.unseen is None else self._states.unseen(obs)

    def visits(self) -> None:
        """None: training hardly ever comes to a frozen state."""

    def _asked(self, step: int) -> int:
        return self._count if step == self._steps else self._early

    @cached_property
    def _standing(self) -> _Standing:
        """The states, visited when they are first needed."""
        walkers = self._rollouts.make(self._states.seeds)
        standing = self._rollouts.make([0] * self._count)
        standing.reset()
        obs: dict[int, Tensor] = {}
        for numbers, lanes, seen in visit(self._states, walkers):
            standing.copy_lanes(numbers, walkers, lanes, random_numbers=True)
            obs |= dict(zip(numbers.tolist(), seen, strict=True))
        return _Standing(torch.stack([obs[number] for number in range(self._count)]), standing)
