"""Baselines: the floor that every method has to beat.

:class:`FixedPolicy` is also the base class of the scripted and planning agents that plugins
register for their environments.
"""

import struct
from collections.abc import Sequence
from hashlib import blake2b

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.errors import UqbenchError
from uqbench.lanes.random import Uniform, random_action
from uqbench.registry.builtin.configs import ConstantActionConfig, UniformRandomConfig


class FixedPolicy(Agent):
    """An agent that never learns and trains with the actions of its ``policy``."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The policy's actions."""
        return self.policy(obs, valid)

    def observe(self, step: Step) -> None:
        """Learn nothing."""


class ConstantAction(FixedPolicy):
    """Always the same action.

    The run fails if the environment masks that action: choose one that is always valid.

    Raises:
        UqbenchError: the environment has no such action.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: ConstantActionConfig,
        device: torch.device,
    ) -> None:
        if not 0 <= config.action < info.n_actions:
            raise UqbenchError(
                f"action must be one of 0 to {info.n_actions - 1}; got {config.action}"
            )
        self._action = config.action

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The constant, ``[L, M]``."""
        return torch.full(obs.shape[:2], self._action, dtype=torch.int64, device=obs.device)


class UniformRandom(Agent):
    """Uniformly random valid actions.

    Training draws one Philox number per actor and step. Evaluation must be a pure function of the
    observations, so it hashes seed, training step, episode and observation: uniform, and
    independent across episodes, but an observation that recurs within an episode gets the same
    action again.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: UniformRandomConfig,
        device: torch.device,
    ) -> None:
        self._n_actions, self._actors = info.n_actions, info.actors
        self._keys = torch.tensor(list(seeds), dtype=torch.int64)
        self._draws = Uniform(seeds, "uniform-random", (info.actors,), device)
        self._t = 0

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """A random action per actor."""
        return random_action(self._draws.at(self._t // self._actors), self._n_actions, valid)

    def observe(self, step: Step) -> None:
        """Advance to the next step's draws."""
        self._t += self._actors

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """A random action per observation, ``[L, M]``."""
        seen = obs.cpu().contiguous().numpy()
        u = [
            [_hashed((seed, self._t, episode), one.tobytes()) for episode, one in enumerate(lane)]
            for seed, lane in zip(self._keys.tolist(), seen, strict=True)
        ]
        drawn = torch.tensor(u, dtype=torch.float64, device=obs.device)
        return random_action(drawn, self._n_actions, valid)


def _hashed(key: tuple[int, int, int], data: bytes) -> float:
    """A number in [0, 1), a function of three integers and some bytes."""
    digest = blake2b(data, digest_size=8, key=struct.pack("<3Q", *key)).digest()
    return float(int.from_bytes(digest, "little") >> 11) / 2**53
