"""The five-state chain (Dearden et al. 1998, "Bayesian Q-learning"; Strens 2000).

A continuing task. ``forward`` leads to the next state and, at the far end, stays there and pays
most; ``back`` leads to the first state from everywhere and pays a little at once. With probability
``slip`` the other action happens. Two things differ from the classic: rewards are a tenth of it,
and at the far end ``back``, which no optimal policy takes there, is not available.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from uqbench_tabular.environments.config import ChainConfig
from uqbench_tabular.planning import MDP

STATES = 5
BACK, FORWARD = 0, 1
"""In this order, because ties go to the lowest action and must not explore the chain."""


def chain_mdp(config: ChainConfig) -> MDP:
    """The chain as tables ``[S, A, S']`` and ``[S, A]`` in float64: the ground truth."""
    transitions = torch.zeros(STATES, 2, STATES, dtype=torch.float64)
    for state in range(STATES):
        for action in (BACK, FORWARD):
            forward = config.slip if action == BACK else 1 - config.slip
            transitions[state, action, min(state + 1, STATES - 1)] = forward
            transitions[state, action, 0] = 1 - forward
    rewards = torch.zeros_like(transitions)
    rewards[:, :, 0] = config.back_reward
    rewards[-1, :, -1] = config.end_reward
    available = torch.ones(STATES, 2, dtype=torch.bool)
    available[-1, BACK] = False
    return MDP(transitions, rewards, available)


class Chain(gymnasium.Env[int, int]):
    """Five states, continuing; the far end pays most and is reached by persistence.

    Observations are the state's number; it never ends. ``info["action_mask"]`` ``[A]`` says which
    actions are available; any other raises ValueError.

    Source: Dearden et al. 1998; Strens 2000
    """

    def __init__(self, config: ChainConfig) -> None:
        mdp = chain_mdp(config)
        self._transitions: NDArray[np.float64] = mdp.transitions.numpy()
        self._rewards: NDArray[np.float64] = mdp.rewards.numpy()
        self._available: NDArray[np.bool_] = mdp.available.numpy()
        self._state = 0
        self.observation_space: gymnasium.Space[Any] = spaces.Discrete(STATES)
        self.action_space: gymnasium.Space[Any] = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start in the first state."""
        super().reset(seed=seed)
        self._state = 0
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take one step; it is never terminated or truncated."""
        if not self._available[self._state, action]:
            raise ValueError(f"action {action} is not available in state {self._state}")
        odds = self._transitions[self._state, action]
        following = int(self.np_random.choice(STATES, p=odds))
        reward = float(self._rewards[self._state, action, following])
        self._state = following
        return following, reward, False, False, self._info()

    def state_dict(self) -> dict[str, Any]:
        """The state, and where the stream of random numbers is."""
        return {"state": self._state, "np_random": self.np_random.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._state = state["state"]
        self.np_random.bit_generator.state = state["np_random"]

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._available[self._state].copy()}
