"""The way around the ledge, as a baseline."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, observation_shape
from uqbench.contract.errors import UqbenchError
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_uadqn.cliff.config import CliffScriptConfig
from uqbench_uadqn.cliff.grid import CELLS, DOWN, LEDGE, RIGHT, START, UP


class CliffScript(FixedPolicy):
    """Around the ledge: up, along the top row, down to the goal.

    It knows the grid, and no policy has a higher CVaR 0.25: an oracle.

    Raises:
        UqbenchError: observations are not the windy cliff's.
    """

    shared_by_lanes = ("_actions",)

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: CliffScriptConfig,
        device: torch.device,
    ) -> None:
        shape = observation_shape(info)
        if shape != (CELLS + 1,):
            raise UqbenchError(
                f"expected observations {(CELLS + 1,)} of the windy cliff; got {shape}"
            )
        self._actions = torch.full((CELLS,), RIGHT, device=device)
        self._actions[[START, *LEDGE]] = UP
        self._actions[CELLS - 1] = DOWN

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The script's actions ``[L, M]`` for ``obs`` ``[L, M, CELLS + 1]``."""
        return self._actions[obs[..., :CELLS].argmax(-1)]
