"""States in which agents are asked, and the truth about their own policy there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.agent import Queried, Uncertainty
from uqbench.contract.environment import LaneEnv
from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import Run
from uqbench.contract.queries import QueryStates, visit
from uqbench.contract.seeding import derive_seed
from uqbench.contract.truth import Climatology, ExactTruth, Truth
from uqbench.suites.tables import Queries
from uqbench.uncertainty.epistemic import action_noise, resolved
from uqbench.uncertainty.monte_carlo_returns import MonteCarloSource
from uqbench.uncertainty.rollouts import Make, rollout_returns


class Visits:
    """Counts the states in which a batch's lanes stand after each step of training.

    A state is looked up by the bytes of its observation, which takes as long for a hundred states
    as for ten: this is done after every step.

    Args:
        states: observations of the states that are counted, ``[M, *obs]``.
        lanes: L.
    """

    def __init__(self, states: Tensor, lanes: int) -> None:
        self._dtype = states.dtype
        self._number = {row: number for number, row in enumerate(_rows(states))}
        self._elsewhere = len(states)
        self._lanes = np.arange(lanes)[:, None]
        self._counts = np.zeros((lanes, len(states) + 1), np.int64)

    @property
    def counts(self) -> Tensor:
        """The number of visits of each lane to each state, ``[L, M]`` int64, on the CPU."""
        return torch.from_numpy(self._counts[:, : self._elsewhere])

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Count what the lanes are to act on next, ``[L, K, *obs]``; other states are left out."""
        rows = _rows(obs.flatten(0, 1).to(self._dtype))
        numbers = np.array([self._number.get(row, self._elsewhere) for row in rows])
        np.add.at(self._counts, (self._lanes, numbers.reshape(obs.shape[:2])), 1)

    def state_dict(self, lane: int | None = None) -> dict[str, Any]:
        """The counts so far, of all lanes or of one."""
        return {"counts": self.counts[of_lane(lane)].clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.counts.copy_(state["counts"])


def of_lane(lane: int | None) -> slice:
    """The place of a lane in what has the lanes first; of all lanes where it is None."""
    return slice(None) if lane is None else slice(lane, lane + 1)


def _rows(obs: Tensor) -> list[bytes]:
    """The bytes of each observation, the same for both zeros."""
    together = (obs + 0).cpu().numpy().tobytes()
    size = len(together) // len(obs)
    return [together[at : at + size] for at in range(0, len(together), size)]


POLICIES = 8
"""Deterministic policies, drawn uniformly, in the climatology of an environment that is known."""
IMPROVEMENTS = 100
"""The most steps of policy iteration to its best policy."""


class ExactSource:
    """An environment that knows the truth: all its states, at every time.

    Args:
        exact: the truth.
        lanes: L.
        device: where agents are asked.

    Attributes:
        name: stands before the names of the scores.
        counter: of all states; None where each lane has its own.
    """

    name = ""
    novel = None
    """None: every state can be reached."""

    def __init__(self, exact: ExactTruth, lanes: int, device: torch.device) -> None:
        self._evaluate, self._scores = exact.evaluate, exact.scores
        self._drawn = exact.climatology
        obs = exact.obs if exact.of_lanes else exact.obs.expand(lanes, *exact.obs.shape)
        self._obs = obs.to(device)
        self._valid = None
        if exact.valid is not None:
            self._valid = exact.valid.to(device).expand(lanes, *exact.valid.shape)
        everywhere = torch.zeros(obs.shape[:2], dtype=torch.int64)
        self._n_actions = exact.evaluate(everywhere).q.shape[-1]
        self.counter = None if exact.of_lanes else Visits(exact.obs, lanes)

    def obs(self, agent: Queried, step: int) -> Tensor:
        """Observations of every state."""
        return self._obs

    def truth(self, agent: Queried, step: int) -> Truth:
        """The truth about the policy's actions in every state."""
        truth = self._evaluate(self._actions(agent))
        known = {name: x.to(self._obs.device) for name, x in vars(truth).items() if x is not None}
        return replace(truth, **known)

    def own_scores(self, agent: Queried, stated: Uncertainty | None) -> Mapping[str, Tensor]:
        """The environment's own scores ``[L]`` by name, where it has any."""
        if self._scores is None:
            return {}
        return self._scores(stated or Uncertainty(), self._actions(agent))

    def _actions(self, agent: Queried) -> Tensor:
        return agent.policy(self._obs, self._valid).cpu()

    @cached_property
    def climatology(self) -> list[Climatology]:
        """The prior's; or half of policies drawn uniformly, half of the best one."""
        lanes, states = self._obs.shape[:2]
        if self._drawn is not None:
            return [self._drawn] * lanes
        valid = torch.ones(states, self._n_actions, dtype=torch.bool)
        if self._valid is not None:
            valid = self._valid[0].cpu()
        generator = torch.Generator().manual_seed(0)
        drawn = []
        for _ in range(POLICIES):
            preferred = torch.rand(valid.shape, generator=generator).masked_fill(~valid, -1)
            drawn.append(self._evaluate(preferred.argmax(-1).expand(lanes, -1)))
        best = drawn[-1]
        for _ in range(IMPROVEMENTS):
            better = self._evaluate(best.q.nan_to_num(nan=-torch.inf).argmax(-1))
            if torch.equal(better.q.nan_to_num(), best.q.nan_to_num()):
                break
            best = better
        groups = []
        for group in (drawn, [best]):
            q = torch.stack([one.q for one in group])
            groups.append((q, torch.stack([one.return_variance for one in group])))
        return [
            Climatology.of([(q[:, lane], var[:, lane]) for q, var in groups])
            for lane in range(lanes)
        ]


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

    name = ""
    counter = None
    """None: training hardly ever comes to a frozen state."""

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
        self._runs, self._make, self._discount = runs, make, discount
        self._states = states.first(queries.states)
        self._count, self._rollouts, self._tail = queries.states, queries.rollouts, queries.tail
        self._most = queries.most_rollouts
        self._steps = steps
        self._early = queries.early_states or queries.states

    def obs(self, agent: Queried, step: int) -> Tensor:
        """Observations of the first states, fewer before the end of training."""
        obs = self._standing[0][: self._asked(step)]
        return obs.expand(len(self._runs), *obs.shape)

    def truth(self, agent: Queried, step: int) -> Truth:
        """By rollouts, with seeds that depend on task, seed and step, and not on the method.

        Those of a lane end with the block of rollouts that resolves the differences between its
        actions; later ones, made for other lanes, are NaN.
        """
        returns = self._returns(agent, step, 0)
        blocks = -(-(self._most or 0) // self._rollouts)
        for block in range(1, blocks):
            done = torch.stack([resolved(*action_noise(one)) for one in returns])
            if done.all():
                break
            more = self._returns(agent, step, block)
            more[done] = math.nan
            returns = torch.cat([returns, more], -1)
        return Truth.from_samples(returns)

    def _returns(self, agent: Queried, step: int, block: int) -> Tensor:
        """A block of rollouts, ``[L, M, A, R]``; with shared random numbers, alike in all A."""
        states, asked = self._standing[1], self._asked(step)
        place = torch.arange(asked).expand(len(self._runs), -1)
        name, number = "queries", torch.arange(asked * states.n_actions * self._rollouts)
        if self._most is not None:
            each = torch.arange(asked * self._rollouts) + block * asked * self._rollouts
            number = each.view(asked, 1, -1).expand(-1, states.n_actions, -1).flatten()
            name = "shared queries"
        seeds = [
            [derive_seed(name, run.suite, run.task, run.seed, step, n) for n in number.tolist()]
            for run in self._runs
        ]
        return rollout_returns(agent, states, place, self._make, seeds, self._discount, self._tail)

    @property
    def climatology(self) -> list[Climatology] | None:
        """As the environment's states say."""
        known = self._states.climatology
        return None if known is None else [known] * len(self._runs)

    @property
    def novel(self) -> tuple[Tensor, Tensor] | None:
        """All states, and what the environment makes of them."""
        if self._states.unseen is None:
            return None
        states = self._standing[0]
        obs = states.expand(len(self._runs), *states.shape)
        return obs, self._states.unseen(obs)

    def _asked(self, step: int) -> int:
        return self._count if step == self._steps else self._early

    @cached_property
    def _standing(self) -> tuple[Tensor, LaneEnv]:
        """Observations ``[M, *obs]``, and an environment whose first M lanes stand there.

        The states are visited when they are first needed.
        """
        walkers = self._make(self._states.seeds)
        standing = self._make([0] * self._count)
        standing.reset()
        obs: dict[int, Tensor] = {}
        for numbers, lanes, seen in visit(self._states, walkers):
            standing.copy_lanes(numbers, walkers, lanes, random_numbers=True)
            obs |= dict(zip(numbers.tolist(), seen, strict=True))
        return torch.stack([obs[number] for number in range(self._count)]), standing


QuerySource = ExactSource | RolloutSource | MonteCarloSource
"""States, and the truth about them after ``step`` steps of training:

- ``name`` stands before the names of the scores;
- ``obs(agent, step)``: observations of the M states, ``[L, M, *obs]``; None where nothing is asked;
- ``truth(agent, step)``: about the agent's evaluated policy in these states;
- ``counter``: of how often training comes to each of them; None where that is not counted;
- ``climatology``: of each lane; None where it is not known;
- ``novel``: observations ``[L, M, *obs]`` that are reached, and others that none is; or None.
"""
