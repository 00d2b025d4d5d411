"""Tests that every agent written for lanes must pass, to inherit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import torch

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.environment import LaneEnv
from uqbench.testing.conformance.agent_runs import CPU, AgentSubject
from uqbench.testing.results import results
from uqbench.testing.worlds import RotatingPixels


class AgentTests(ABC):
    """Tests to inherit; the subclass makes the agent.

    ::

        class TestMine(AgentTests):
            def make(self, seeds, device=CPU):
                return Mine(RotatingPixels.info(), seeds, MineConfig(...), device)

    Bit-identity needs one torch thread: import ``uqbench.testing.fixtures.one_torch_thread`` in
    ``conftest.py``. Choose a config with which ``steps`` steps exercise everything: learning, a
    target network that is synced, a replay buffer that overflows.

    Attributes:
        steps: length of the runs.
        stops: steps after which a run resumes from its saved state.
        expected_failures: reasons by the ids of checks that are known to fail; strict.
        left_out: ids of checks that are made elsewhere: by default the one that compiles, which
            takes seconds.
    """

    steps = 160
    stops: Sequence[int] = (20, 110)
    expected_failures: Mapping[str, str] = MappingProxyType({})
    left_out: Sequence[str] = ("agent-compiles",)

    @abstractmethod
    def make(self, seeds: Sequence[int], device: torch.device = CPU) -> Agent:
        """A new agent for ``world``, one lane per seed, on a device."""

    def world(self, lanes: int, first: int) -> LaneEnv:
        """The environment: ``lanes`` deterministic worlds, numbered from ``first`` on."""
        return RotatingPixels(lanes, first)

    def test_it_conforms(self) -> None:
        """Every check of agents that applies to it (:mod:`uqbench.testing.conformance`)."""
        chosen = " and ".join(f"not {name}" for name in self.left_out)
        made = results([self.subject()], only=chosen)
        broken = [str(result) for result in made if result.status == "failed"]
        if broken:
            raise AssertionError("\n\n".join(broken))

    def subject(self) -> AgentSubject:
        """The agent, as checks take it."""
        env = self.world(1, 0)
        return AgentSubject(
            name=type(self).__name__,
            make=self.make,
            world=self.world,
            info=EnvironmentInfo(env.observation_space, env.n_actions, 0.9, 10_000),
            steps=self.steps,
            stops=self.stops,
            expected_failures=self.expected_failures,
        )
