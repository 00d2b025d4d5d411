"""ε-greedy exploration in one call: what torch does in a dozen, of which each costs 10 to 20 µs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.lanes import EpsilonGreedy
from uqbench.lanes.kernels.cpu import compile_for, compiled_once
from uqbench_dqn.native.layers import PACKAGE


@compiled_once(PACKAGE)
def explored(chosen: Any, u: Any, epsilon: Any, valid: Any, n_actions: Any, actions: Any) -> None:
    """Actions ``[M]``: those that were chosen, or where u says so random ones among the valid."""
    for m in range(actions.size):
        actions[m] = chosen[m]
        if u[2 * m] < epsilon:
            usable, first = 0, m * n_actions
            for a in range(n_actions):
                usable += valid[np.uintp(first + a)]
            actions[m], nth = 0, int(u[2 * m + 1] * np.float32(usable)) + 1
            for a in range(n_actions):
                nth -= valid[np.uintp(first + a)]
                if nth == 0 and valid[np.uintp(first + a)]:
                    actions[m] = a


class NativeExploration:
    """Takes the place of ``explore`` of an agent's :class:`uqbench.lanes.EpsilonGreedy`.

    Args:
        exploration: the agent's.
        n_actions: A.
    """

    def __init__(self, exploration: EpsilonGreedy, n_actions: int) -> None:
        self._exploration, self._n_actions = exploration, n_actions
        self._all = np.ones(exploration.noise().numel() // 2 * n_actions, np.uint8)
        none = np.zeros(0, np.int64)
        compile_for(explored, self._arguments(none, np.zeros(0, np.float32), self._all, none))

    def _arguments(self, chosen: Any, u: Any, valid: Any, actions: Any) -> tuple[Any, ...]:
        return chosen, u, self._exploration.epsilon_now, valid, self._n_actions, actions

    def explore(self, action: Tensor, noise: Tensor, valid: Tensor | None = None) -> Tensor:
        """As :meth:`uqbench.lanes.EpsilonGreedy.explore`."""
        usable = self._all if valid is None else valid.contiguous().numpy().reshape(-1)
        made = np.empty(action.shape, np.int64)
        given = action.contiguous().numpy().reshape(-1), noise.numpy().reshape(-1)
        explored(*self._arguments(*given, usable.view(np.uint8), made.reshape(-1)))
        return torch.from_numpy(made)
