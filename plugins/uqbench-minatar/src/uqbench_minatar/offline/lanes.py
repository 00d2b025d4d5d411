"""Logged play of a game, each step with the question what one of ten given policies is worth.

The game is played by who logs, without sticky actions or ramping. A step's observation is the frame
and, in a plane of its own, the number of a policy drawn anew: row ``k`` is set. The logged
action is the only valid one, and in the frame that follows the one that this policy draws there: a
learner of Q-values does fitted Q evaluation of all ten, and nobody chooses what is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.lanes.random import Uniform
from uqbench_minatar.config import N_ACTIONS, GameConfig, OfflineConfig
from uqbench_minatar.games.board import WIDTH
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.offline.policies import POLICIES, scripted, taken

SPELL = 50
"""Steps after which ``mixed`` is logged by another policy."""
EXPERT, POOR = 2, POLICIES - 1
"""Who logs: the script with two random actions in nine, and uniformly random play."""


def game_config(game: str) -> GameConfig:
    """How it is played: what follows depends on the state and the action alone."""
    return GameConfig(game=game, sticky_action_prob=0.0, difficulty_ramping=False)


def asked(frames: Tensor, policy: Tensor) -> Tensor:
    """Observations ``[*, C + 1, 10, 10]`` of frames ``[*, C, 10, 10]`` and policies ``[*]``."""
    row = functional.one_hot(policy, WIDTH).to(frames.dtype)[..., None, :, None]
    return torch.cat([frames, row.expand(*row.shape[:-1], WIDTH)], -3)


class OfflineGame(LaneEnv):
    """Logged play of MinAtar for lanes; every step is an episode of its own.

    Source: uqbench; fitted Q evaluation, Le et al. 2019
    """

    n_actions = N_ACTIONS

    def __init__(
        self,
        config: OfflineConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self._config, self._device = config, device or torch.device("cpu")
        self._game = MinAtarLanes(game_config(config.game), seeds)
        channels = cast(Any, self._game.observation_space).shape[0] + 1
        shape = (channels, WIDTH, WIDTH)
        self.observation_space = spaces.Box(0, 1, shape, cast(Any, np.bool_))  # the stubs lack bool
        self._draws = Uniform(seeds, "offline game", (5,))
        self._spells = Uniform(seeds, "offline game spells")
        self._t = 0

    def reset(self) -> tuple[Tensor, Tensor]:
        """Begin the game."""
        self._t = 0
        self._game.reset()
        return self._observed()

    def step(self, action: Tensor) -> Outcome:
        """Take the logged action.

        Raises:
            ValueError: an action is not the valid one.
        """
        policy, logged = self._drawn()
        action = action.cpu()
        if not torch.equal(action, logged):
            raise ValueError(
                f"expected the logged actions {logged.tolist()}, got {action.tolist()}"
            )
        out = self._game.step(action)
        *_, explores, which = self._draws.at(self._t).unbind(-1)
        script = scripted(self._config.game, out.next_obs)
        follows = taken(script, policy, explores, which)
        self._t += 1
        obs, valid = self._observed()
        return Outcome(
            reward=out.reward.to(self._device),
            terminated=out.terminated.to(self._device),
            truncated=(~out.terminated).to(self._device),
            next_obs=asked(out.next_obs, policy).to(self._device),
            obs=obs,
            next_valid=_only(follows).to(self._device),
            valid=valid,
        )

    def _drawn(self) -> tuple[Tensor, Tensor]:
        """The policy asked about, and the logged action, ``[L]``."""
        asks, explores, which, *_ = self._draws.at(self._t).unbind(-1)
        frames = self._game.outcome.obs
        logging = {"expert": EXPERT, "poor": POOR}.get(self._config.coverage)
        if logging is None:
            who = (self._spells.at(self._t // SPELL) * POLICIES).long()
        else:
            who = torch.full((len(frames),), logging)
        logged = taken(scripted(self._config.game, frames), who, explores, which)
        return (asks * POLICIES).long(), logged

    def _observed(self) -> tuple[Tensor, Tensor]:
        policy, logged = self._drawn()
        obs = asked(self._game.outcome.obs, policy)
        return obs.to(self._device), _only(logged).to(self._device)

    def state_dict(self) -> dict[str, Any]:
        """The game's, and the step."""
        return {"game": self._game.state_dict(), "t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._game.load_state_dict(state["game"])
        self._t = state["t"]


def _only(action: Tensor) -> Tensor:
    """Valid actions ``[L, A]`` of which each lane has one."""
    return functional.one_hot(action, N_ACTIONS).bool()
