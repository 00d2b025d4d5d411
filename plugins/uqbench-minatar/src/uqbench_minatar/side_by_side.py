"""Several games as one environment: their observations have the planes of the one with the most.

Planes that a game does not have are zero. An agent of all lanes computes in each what an agent of
that game alone computes: its weights begin as that agent's, with zeros at the inputs that the game
never sets, and stay zero there, as their gradients are. Weights of a convolution have the planes
of an input last (:class:`uqbench.lanes.LaneConv2d`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.agent import Agent, Queried, Uncertainty
from uqbench.contract.environment import Outcome, TimeLimit
from uqbench.contract.side_by_side import SideBySide
from uqbench_minatar.config import N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes


class GamesSideBySide(SideBySide):
    """Several games, each in lanes of its own; planes that a game does not have are zero.

    A step is a kernel of each game, and copies.

    Args:
        configs: of the games.
        seeds: of the lanes of each.
        time_limit: of all.
        device: of the arrays.
    """

    capturable = True

    def __init__(
        self,
        configs: Sequence[GameConfig],
        seeds: Sequence[Sequence[int]],
        time_limit: TimeLimit | None,
        device: torch.device,
    ) -> None:
        pairs = zip(configs, seeds, strict=True)
        self._games = [MinAtarLanes(config, own, time_limit, device) for config, own in pairs]
        self._counts = [len(own) for own in seeds]
        (*_, side, _), count = self._games[0].outcome.obs.shape, sum(self._counts)
        self._own = [game.outcome.obs.shape[1] for game in self._games]
        shape = max(self._own), side, side
        self.n_actions = N_ACTIONS
        self.observation_space = spaces.Box(0, 1, shape, cast(Any, np.bool_))  # the stubs lack bool

        def zeros(*more: int, dtype: torch.dtype = torch.bool) -> Tensor:
            return torch.zeros(count, *more, dtype=dtype, device=device)

        reward, obs, next_obs = zeros(dtype=torch.float32), zeros(*shape), zeros(*shape)
        self._outcome = Outcome(reward, zeros(), zeros(), next_obs, obs)

    def reset(self) -> tuple[Tensor, None]:
        """Seed every lane, clear the last actions and begin."""
        for game in self._games:
            game.reset()
        self._copy("obs")
        return self._outcome.obs, None

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; the outcome is valid until the next call."""
        for game, own in zip(self._games, action.split(self._counts), strict=True):
            game.step(own)
        for name in ("reward", "terminated", "truncated"):
            parts = [getattr(game.outcome, name) for game in self._games]
            torch.cat(parts, out=getattr(self._outcome, name))
        self._copy("next_obs")
        self._copy("obs")
        return self._outcome

    def _copy(self, name: str) -> None:
        whole = getattr(self._outcome, name).split(self._counts)
        for game, rows, planes in zip(self._games, whole, self._own, strict=True):
            rows[:, :planes].copy_(getattr(game.outcome, name))

    def state_dict(self) -> dict[str, Any]:
        """Those of the games."""
        return {"games": [game.state_dict() for game in self._games]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        for game, own in zip(self._games, state["games"], strict=True):
            game.load_state_dict(own)
        self._copy("obs")

    def begin(self, agent: Agent, own: Sequence[Mapping[str, Any]]) -> None:
        """Give an agent of all lanes the initial states of agents of each game."""
        whole = agent.exported_state()
        self._put(whole, own, agent.shared_by_lanes, "")
        agent.load_state_dict(whole)

    def _put(self, into: Any, parts: Sequence[Any], shared: Sequence[str], name: str) -> None:
        if isinstance(into, Mapping | list | tuple):
            named = isinstance(into, Mapping)
            for key in into if named else range(len(into)):
                inner = f"{name}.{key}".lstrip(".") if named else f"{name}[{key}]"
                self._put(into[key], [part[key] for part in parts], shared, inner)
        elif isinstance(into, Tensor) and into.dim() and name not in shared:
            into.zero_()
            rows = into.split([len(part) for part in parts])
            for game, (row, part) in enumerate(zip(rows, parts, strict=True)):
                at = self._at(game, row, part.shape)
                at.copy_(part.view(at.shape))

    def of_task(self, task: int, whole: Tensor, shape: torch.Size | None) -> Tensor:
        """A game's weights, in the shape that it alone has; or its planes ``[L, M, *obs]``."""
        if shape is None:
            return whole[:, :, : self._own[task]]
        return self._at(task, whole, shape).reshape(shape)

    def _at(self, game: int, whole: Tensor, shape: torch.Size) -> Tensor:
        """A view of what is a game's own, with planes as a dimension where others have more."""
        for dim in reversed(range(whole.dim())):
            if whole.shape[dim] != shape[dim]:
                whole = whole.unflatten(dim, (-1, max(self._own)))
                whole = whole.narrow(dim + 1, 0, self._own[game])
        return whole

    def asked(self, agent: Queried, lanes: slice, total: int) -> Queried:
        """An agent of ``total`` lanes, asked about those of one game."""
        return OfGame(agent, lanes, total, max(self._own))


@dataclass(frozen=True)
class OfGame:
    """An agent of several games' lanes, asked about those of one.

    Attributes:
        stands_for: the agent.
        lanes: the game's.
        total: L, all lanes of the agent.
        planes: of the agent's observations.
    """

    stands_for: Queried
    lanes: slice
    total: int
    planes: int

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[l, M]`` for observations ``[l, M, *obs]`` of the game's lanes."""
        return self.stands_for.policy(self._padded(obs))[self.lanes]

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Predictions for observations ``[l, M, *obs]`` of the game's lanes."""
        said = self.stands_for.uncertainty(self._padded(obs))
        if said is None:
            return None
        parts = vars(said).items()
        return Uncertainty(**{n: x[self.lanes] if isinstance(x, Tensor) else x for n, x in parts})

    def _padded(self, obs: Tensor) -> Tensor:
        whole = obs.new_zeros(self.total, obs.shape[1], self.planes, *obs.shape[3:])
        whole[self.lanes, :, : obs.shape[2]] = obs
        return whole
