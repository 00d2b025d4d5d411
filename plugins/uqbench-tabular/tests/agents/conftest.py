"""Agents to test: on their own, on the chain, and with data of a random MDP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents import config as configs
from uqbench_tabular.agents.bql import BayesianQLearning
from uqbench_tabular.agents.certainty_equivalence import CertaintyEquivalence
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.psrl import PSRL
from uqbench_tabular.agents.q_learning import QLearning
from uqbench_tabular.agents.tabular import TabularAgent
from uqbench_tabular.agents.ube import UBE, UBETerms
from uqbench_tabular.environments.chain import Chain
from uqbench_tabular.environments.config import ChainConfig

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import EnvironmentInfo
from uqbench.seeding import derive_seed
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.worlds import act, as_step

CONFIGS = {
    PSRL: configs.ModelBasedConfig, CertaintyEquivalence: configs.CertaintyEquivalenceConfig,
    UBE: configs.UBEConfig, UBETerms: configs.UBEConfig,
    MomentMatching: configs.MomentMatchingConfig, QLearning: configs.QLearningConfig,
    BayesianQLearning: configs.BQLConfig}  # fmt: skip


def make_agent(kind=PSRL, seeds=(0, 1), states=5, **settings):
    info = EnvironmentInfo(spaces.Discrete(states), 2, 0.9, 1_000)
    return kind(info, seeds, CONFIGS[kind](**settings), torch.device("cpu"))


@dataclass
class Run:
    """An agent on the chain, and what happened: (state, action, reward) ``[T, L]``."""

    agent: TabularAgent
    env: GymnasiumLanes
    now: tuple[torch.Tensor, torch.Tensor | None]
    trace: list[torch.Tensor]

    def go(self, steps: int) -> "Run":
        obs, valid = self.now
        for _ in range(steps):
            action = act(self.agent, obs, valid)
            out = self.env.step(action)
            self.trace.append(torch.stack([obs, action, out.reward]))
            self.agent.observe(as_step(obs, action, out))
            obs, valid = out.obs, out.valid
        self.now = obs, valid
        return self

    def rewards(self) -> torch.Tensor:
        return torch.stack(self.trace)[:, 2]


def chains(seeds: Sequence[int]) -> GymnasiumLanes:
    worlds = [derive_seed("world", seed) for seed in seeds]
    return GymnasiumLanes(lambda: Chain(ChainConfig()), worlds, has_state_dict=True)


def start_run(kind: type[TabularAgent] = PSRL, seeds=(0, 1), **settings: Any) -> "Run":
    env = chains(seeds)
    return Run(make_agent(kind, seeds, **settings), env, env.reset(), [])


def taught_agent(kind: type[TabularAgent], steps: int = 200, **settings: Any) -> TabularAgent:
    agent = make_agent(kind, states=4, **settings)
    g = torch.Generator().manual_seed(0)
    rewards = torch.randn(4, 2, 4, generator=g)
    for _ in range(steps):
        s, following = torch.randint(4, (2, 2), generator=g)
        a = torch.randint(2, (2,), generator=g)
        r = rewards[s, a, following] + 0.1 * torch.randn(2, generator=g)
        agent.posterior = agent.posterior.updated(s, a, r, following)
    return agent


@pytest.fixture
def make():
    """``make(kind, seeds, states, **settings)``: an agent for γ = 0.9 and two actions."""
    return make_agent


@pytest.fixture
def subject():
    """``subject(kind, **settings)``: an agent on chains, to be checked."""

    def of(kind: type[TabularAgent], **settings: Any) -> AgentSubject:
        info = EnvironmentInfo(spaces.Discrete(5), 2, 0.9, 1_000)
        config = CONFIGS[kind](**settings)
        own = {"world": lambda count, first: chains(range(first, first + count)), "info": info}
        return AgentSubject(name=kind.__name__, factory=kind, config=config, long=265, **own)

    return of


@pytest.fixture
def start():
    """``start(kind, seeds, **settings)``: an agent on the chain, before its first step."""
    return start_run


@pytest.fixture
def taught():
    """``taught(kind, steps, **settings)``: an agent that has seen random transitions of a random
    MDP, whose rewards depend on (s, a, s').
    """
    return taught_agent
