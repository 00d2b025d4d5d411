"""CartPole-v0 as a Gymnasium vector environment, exact and faster than one at a time.

    import gymnasium
    envs = gymnasium.make_vec("uqbench_sentinel.vector:uqbench/CartPole-v0", num_envs=64)

Importing this module registers it. Environment ``i``, seeded with ``s``, is Gymnasium's
``CartPole-v0`` seeded with ``s``, bit for bit; episodes are truncated after 200 steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
from torch import Tensor

from uqbench.contract.environment import TimeLimit
from uqbench.lanes.adapters.vector import LaneVectorEnv
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes

ID = "uqbench/CartPole-v0"


class CartPoleVectorEnv(LaneVectorEnv):
    """``num_envs`` poles in a few array operations.

    Args:
        num_envs: number of environments.
        max_episode_steps: truncates episodes; None for no limit.
    """

    def __init__(self, num_envs: int = 1, max_episode_steps: int | None = 200) -> None:
        limit = None if max_episode_steps is None else TimeLimit(max_episode_steps, "truncation")

        def make(seeds: Sequence[int]) -> CartPoleLanes:
            return CartPoleLanes(CartPoleConfig(), seeds, limit)

        super().__init__(make, num_envs)

    def continued(self) -> tuple[Tensor, None]:
        """New episodes from the current random streams, as the package has them."""
        lanes = self.lanes
        assert isinstance(lanes, CartPoleLanes)
        return lanes.begin(), None


gymnasium.register(
    ID,
    vector_entry_point="uqbench_sentinel.vector:CartPoleVectorEnv",
    max_episode_steps=200,
)
