"""Finite MDPs with normal rewards as lane environments, with their regret.

Continuing tasks: no episodes, no resets; they start in state 0. Shapes: ``L`` lanes, ``S`` states,
``A`` actions, ``S'`` successors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.errors import UqbenchError
from uqbench.lanes import Normal, Uniform, greedy
from uqbench_tabular.planning import MDP, gain, policy_iteration

REGRET = "regret"
"""The event: the oracle's reward in a step, minus the agent's."""


@dataclass(frozen=True)
class World:
    """An MDP with rewards ``r | s, a, s' ~ N(mean, deviation²)``, or one a lane: the exact model.

    Attributes:
        mdp: its tables, ``[S, A, S']`` float64, or ``[L, S, A, S']``.
        deviations: standard deviations of rewards, of the same shape.
        oracle_discount: γ of the oracle's policy.
    """

    mdp: MDP
    deviations: Tensor
    oracle_discount: float

    def oracle(self) -> Tensor:
        """The policy, ``[S]`` or ``[L, S]``, that is optimal under ``oracle_discount``."""
        return greedy(policy_iteration(self.mdp, self.oracle_discount), self.mdp.available)

    def oracle_gain(self) -> float:
        """Long-run reward per step of the oracle, in a single world."""
        actions = self.mdp.available.shape[-1]
        policy = torch.nn.functional.one_hot(self.oracle(), actions).double()
        return gain(self.mdp, policy).item()


class WorldLanes(LaneEnv):
    """Copies of a world that step together, each with an oracle next to the agent.

    The oracle acts optimally and sees the same random numbers, step by step. The event ``regret``
    is its reward minus the agent's, in which noise that does not depend on the state cancels.
    Transitions and noise are functions of a lane's seed and the step, so that every method meets
    the same worlds.

    At a time limit, agent and oracle start again in state 0.
    """

    def __init__(
        self, world: World, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
    ) -> None:
        states, self.n_actions = world.mdp.available.shape[-2:]
        self.observation_space = spaces.Discrete(states)
        self._limit = limit
        self._device = device
        self._lanes = len(seeds)

        def of_lanes(table: Tensor, dimensions: int) -> Tensor:
            """``[L, …]``, without a copy where all lanes share the world."""
            shared = table.dim() == dimensions
            return (table.expand(self._lanes, *table.shape) if shared else table).to(device)

        self._every = torch.arange(self._lanes, device=device)
        self._cumulative = of_lanes(world.mdp.transitions.cumsum(-1), 3)
        self._last = of_lanes(_last_possible(world.mdp.transitions), 2)
        self._means = of_lanes(world.mdp.rewards, 3)
        self._deviations = of_lanes(world.deviations, 3)
        self._available = of_lanes(world.mdp.available, 2)
        self._masked = not bool(world.mdp.available.all())
        self._oracle_policy = of_lanes(world.oracle(), 1)
        self._uniform = Uniform(seeds, "world/transition", (), device)
        self._normal = Normal(seeds, "world/reward", (), device)
        self._state: Tensor
        self._oracle: Tensor
        self._start()
        self._t = 0

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Start in state 0."""
        self._start()
        self._t = 0
        return self._state, self._valid(self._state)

    def step(self, action: Tensor) -> Outcome:
        """Take one step.

        Raises:
            UqbenchError: an action is not available.
        """
        if self._masked or bool(((action < 0) | (action >= self.n_actions)).any()):
            self._check(action)
        u, noise = self._uniform.at(self._t), self._normal.at(self._t)
        following, reward = self._move(self._state, action, u, noise)
        oracle, best = self._move(
            self._oracle, self._oracle_policy[self._every, self._oracle], u, noise
        )
        self._t += 1
        self._length += 1
        self._state, self._oracle = following, oracle
        ends = self._limit is not None and self._length >= self._limit.steps
        if ends:
            self._start()
        end = torch.full((self._lanes,), ends, device=self._device)
        never = torch.zeros_like(end)
        terminal = self._limit is not None and self._limit.kind == "terminal"
        return Outcome(
            reward=reward.float(),
            terminated=end if terminal else never,
            truncated=never if terminal else end,
            next_obs=following,
            obs=self._state,
            next_valid=self._valid(following),
            valid=self._valid(self._state),
            events={REGRET: (best - reward).float()},
        )

    def state_dict(self) -> dict[str, Any]:
        """The states of agent and oracle, and the step; draws are functions of it."""
        return {
            "t": self._t,
            "length": self._length,
            "state": self._state,
            "oracle": self._oracle,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t, self._length = state["t"], state["length"]
        self._state, self._oracle = state["state"], state["oracle"]

    def _start(self) -> None:
        self._state = self._oracle = torch.zeros(
            self._lanes, dtype=torch.int64, device=self._device
        )
        self._length = 0

    def _move(
        self, state: Tensor, action: Tensor, u: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Successors and rewards ``[L]``, by the inverse of the cumulative probabilities."""
        here = (self._every, state, action)
        following = (self._cumulative[here] <= u[:, None]).sum(-1)
        following = torch.minimum(following, self._last[here])
        at = (*here, following)
        return following, self._means[at] + self._deviations[at] * noise

    def _valid(self, state: Tensor) -> Tensor | None:
        return self._available[self._every, state] if self._masked else None

    def _check(self, action: Tensor) -> None:
        known = (action >= 0) & (action < self.n_actions)
        inside = action.clamp(0, self.n_actions - 1)
        valid = known & self._available[self._every, self._state, inside]
        if not valid.all():
            lane = int((~valid).nonzero()[0])
            state = int(self._state[lane])
            choices = self._available[lane, state].nonzero().flatten().tolist()
            raise UqbenchError(
                f"the agent chose action {int(action[lane])} in state {state}; expected one of "
                f"{choices}"
            )


def _last_possible(transitions: Tensor) -> Tensor:
    """The last successor with a positive probability, ``[S, A]``: rounding cannot pass it."""
    states = torch.arange(transitions.shape[-1])
    return torch.where(transitions > 0, states, -1).amax(-1)
