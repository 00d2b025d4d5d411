"""CartPole three ways, by the variable POLES, and an agent that keeps what it is told."""

import os

import gymnasium
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench.agent import Agent


def pole() -> gymnasium.Env:
    return gymnasium.make("CartPole-v1", max_episode_steps=20)


def poles(config, num_envs: int) -> gymnasium.vector.VectorEnv:
    return SyncVectorEnv([pole] * num_envs, autoreset_mode=AutoresetMode(os.environ["POLES"]))


class Witness(Agent):
    """Acts by what it sees, and adds up all it is told: each number, by when and where it came."""

    def __init__(self, info, seeds, config, device):
        self.told = torch.zeros(len(seeds), dtype=torch.float64)
        self.lost = torch.zeros(len(seeds), dtype=torch.float64)

    def act(self, obs, valid=None):
        falling = (obs[..., 2] + obs[..., 3] > 0).long()
        return torch.where(torch.sin(obs[..., 0] * 1e4) > -0.3, falling, 1)

    def policy(self, obs, valid=None):
        return self.act(obs)

    def observe(self, step):
        ends = (step.terminated, step.truncated, step.reward, step.action)
        parts = torch.cat([step.obs, step.next_obs, torch.stack(ends, -1).float()], -1).double()
        places = torch.arange(1, 1 + parts[0].numel(), dtype=torch.float64).sqrt()
        self.told = self.told * 0.999 + (parts.flatten(1) * places).sum(1)
        self.lost += (step.reward == 0).sum(1)

    def metrics(self):
        return {"told": self.told, "lost": self.lost}


@hookimpl
def uqbench_agents():
    return [AgentSpec(name="witness", version="1", factory=Witness, summary="adds up")]


@hookimpl
def uqbench_environments():
    spec = EnvironmentSpec(name="poles", version="1", factory=poles, vector=True, summary="poles")
    return [spec]
