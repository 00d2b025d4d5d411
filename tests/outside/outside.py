"""A plugin from elsewhere: an agent for lanes, one with a loop of its own, an environment with
events and ground truth, and a risk measure."""

from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from uqbench import AgentSpec, EnvironmentSpec, Spec, hookimpl
from uqbench.agent import Agent, LoopAgent
from uqbench.lanes import Uniform
from uqbench.risk import RiskMeasure


@dataclass(frozen=True)
class Config:
    epsilon: float = 0.2


class Averages(Agent):
    """ε-greedy in the mean reward of each action."""

    def __init__(self, info, seeds, config, device):
        self.config, self.t = config, 0
        self.uniform = Uniform(seeds, "averages", (info.actors, 2), device)
        self.sums = torch.zeros(len(seeds), info.n_actions, device=device)
        self.counts = torch.ones(len(seeds), info.n_actions, device=device)

    def act(self, obs, valid=None):
        explore, where = self.uniform.at(self.t).unbind(-1)
        random = (where * self.sums.shape[1]).long()
        return torch.where(explore < self.config.epsilon, random, self.policy(obs))

    def observe(self, step):
        self.sums.scatter_add_(1, step.action, step.reward)
        self.counts.scatter_add_(1, step.action, torch.ones_like(step.reward))
        self.t += 1

    def policy(self, obs, valid=None):
        return (self.sums / self.counts).argmax(1, keepdim=True).expand(obs.shape[:2])


class FirstAttempt(LoopAgent):
    def __init__(self, info, config):
        self.best = 0

    def train(self, env, total_steps, seed):
        rng, sums = np.random.default_rng(seed), np.zeros(env.action_space.n)
        for _ in range(total_steps):
            env.reset()
            action = int(rng.integers(len(sums)))
            sums[action] += env.step(action)[1]
            self.best = int(sums.argmax())

    def policy(self, obs, valid=None):
        return self.best


@dataclass(frozen=True)
class Arms:
    rewards: tuple[float, ...] = (0.0, 1.0)


class Bandit(gymnasium.Env):
    """One pull an episode; rewards have noise, and a negative one is a loss."""

    def __init__(self, arms):
        self.arms = arms.rewards
        self.observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.action_space = spaces.Discrete(len(self.arms))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        reward = self.arms[action] + self.np_random.normal()
        info = {"events": {"losses": int(reward < 0)}}
        return np.ones(1, np.float32), reward, True, False, info


@dataclass(frozen=True)
class Worst(RiskMeasure):
    def __call__(self, values, probabilities, dim=-1):
        return values.amin(dim)


@hookimpl
def uqbench_agents():
    return [
        AgentSpec(name="averages", version="1", factory=Averages, config=Config, summary="…"),
        AgentSpec(
            name="first-attempt", version="1", factory=FirstAttempt, config=Config, summary="…",
            loop=True,
        ),
    ]  # fmt: skip


@hookimpl
def uqbench_environments():
    return [
        EnvironmentSpec(
            name="bandit", version="1", factory=Bandit, config=Arms, summary="…",
            events=("losses",), optimal_return=lambda arms: max(arms.rewards),
        )
    ]  # fmt: skip


@hookimpl
def uqbench_risk_measures():
    return [Spec(name="worst", version="1", factory=Worst, summary="the worst return")]


@hookimpl
def uqbench_suites():
    return [Path(__file__).with_name("outside.toml")]
