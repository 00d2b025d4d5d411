"""MinAtar's games as ordinary Gymnasium vector environments.

    import gymnasium
    envs = gymnasium.make_vec("uqbench_minatar.vector:uqbench/MinAtar-Breakout-v0", num_envs=64)

Importing this module registers them. Environment ``i``, seeded with ``s``, is the ``minatar``
package's ``MinAtar/Breakout-v0`` seeded with ``s``, bit for bit, but for the layout of what is
observed: ``[channels, 10, 10]``, as convolutions take it.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
from torch import Tensor

from uqbench.contract.environment import TimeLimit
from uqbench.lanes.adapters.vector import LaneVectorEnv
from uqbench_minatar.config import GAMES, GameConfig
from uqbench_minatar.lanes import MinAtarLanes


class MinAtarVectorEnv(LaneVectorEnv):
    """``num_envs`` copies of a game stepped by one compiled call.

    Source: Young & Tian 2019

    Args:
        num_envs: number of environments.
        game: one of ``GAMES``.
        max_episode_steps: truncates episodes; None for no limit, as in the package.
        sticky_action_prob: probability that the previous action is repeated instead.
        difficulty_ramping: whether games get harder during an episode.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: str,
        max_episode_steps: int | None = None,
        sticky_action_prob: float = 0.1,
        difficulty_ramping: bool = True,
    ) -> None:
        config = GameConfig(
            game=game, sticky_action_prob=sticky_action_prob, difficulty_ramping=difficulty_ramping
        )
        limit = None if max_episode_steps is None else TimeLimit(max_episode_steps, "truncation")

        def make(seeds: Sequence[int]) -> MinAtarLanes:
            return MinAtarLanes(config, seeds, limit)

        super().__init__(make, num_envs)

    def continued(self) -> tuple[Tensor, None]:
        """New episodes from the current random streams, as the package has them."""
        lanes = self.lanes
        assert isinstance(lanes, MinAtarLanes)
        lanes.kernels.begin()
        return lanes.outcome.obs, None


for _game in GAMES:
    gymnasium.register(
        f"uqbench/MinAtar-{_game.title().replace('_', '')}-v0",
        vector_entry_point="uqbench_minatar.vector:MinAtarVectorEnv",
        kwargs={"game": _game},
    )
