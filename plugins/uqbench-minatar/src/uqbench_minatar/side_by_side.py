"""Several games as one environment: their observations have the planes of the one with the most.

Planes that a game does not have are zero. An agent of all lanes computes in each what an agent of
that game alone computes: its weights begin as that agent's, with zeros at the inputs that the game
never sets, and stay zero there, as their gradients are. Weights of a convolution have the planes
of an input last (:class:`uqbench.lanes.LaneConv2d`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, Queried, Uncertainty
from uqbench.contract.environment import Outcome, SideBySide, TimeLimit
from uqbench_minatar.config import N_ACTIONS, GameConfig
from uqbench_minatar.lanes import Exchanged, MinAtarLanes, game_of, space_of


class GamesSideBySide(SideBySide):
    """Several games, each in lanes of its own; planes that a game does not have are zero.

    A step is one kernel a game, in memory that all of them share.

    Args:
        configs: of the games, on the backend ``lanes``.
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
        counts = [len(own) for own in seeds]
        self._own = [game_of(config).CHANNELS for config in configs]
        self._planes = planes = max(self._own)
        ends = accumulate(counts)
        self._lanes = [slice(end - n, end) for n, end in zip(counts, ends, strict=True)]
        self._exchanged = shared = Exchanged.zeros(sum(counts), planes, device)
        parts = zip(*(array.split(counts) for array in shared), strict=True)
        self._games = [
            MinAtarLanes(config, own, time_limit, device, Exchanged(*part))
            for config, own, part in zip(configs, seeds, parts, strict=True)
        ]
        self.n_actions, self.observation_space = N_ACTIONS, space_of(planes)
        self._outcome = shared.outcome(planes)

    def reset(self) -> tuple[Tensor, None]:
        """Seed every lane, clear the last actions and begin."""
        for game in self._games:
            game.reset()
        return self._outcome.obs, None

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; the outcome is valid until the next call."""
        self._exchanged.action.copy_(action)
        for game in self._games:
            game.kernels.step()
        return self._outcome

    def state_dict(self) -> dict[str, Any]:
        """Those of the games."""
        return {"games": [game.state_dict() for game in self._games]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        for game, own in zip(self._games, state["games"], strict=True):
            game.load_state_dict(own)

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

    def of_task(self, task: int, whole: Tensor, shape: torch.Size) -> Tensor:
        """A game's numbers, in the shape that they have for it alone."""
        return self._at(task, whole, shape).reshape(shape)

    def _at(self, game: int, whole: Tensor, shape: torch.Size) -> Tensor:
        """A view of what is a game's own, with planes as a dimension where others have more."""
        for dim in reversed(range(whole.dim())):
            if whole.shape[dim] != shape[dim]:
                whole = whole.unflatten(dim, (-1, self._planes))
                whole = whole.narrow(dim + 1, 0, self._own[game])
        return whole

    def asked(self, agent: Queried, task: int) -> Queried:
        """An agent of all lanes, asked about those of one game."""
        total = self._lanes[-1].stop
        return OfGame(agent, self._lanes[task], total, self._planes)


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
