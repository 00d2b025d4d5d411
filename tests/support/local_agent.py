"""A method in a file of its own, as a user writes it."""

MINE = """
import dataclasses
import torch
from uqbench.contract.agent import Agent, LoopAgent

@dataclasses.dataclass(frozen=True, kw_only=True)
class MineConfig:
    action: int = 0

class Mine(Agent):
    "Always the same action."
    def __init__(self, info, seeds, config: MineConfig, device):
        self.action = config.action
    def act(self, obs, valid=None):
        return torch.full(obs.shape[:2], self.action)
    policy = act
    def observe(self, step):
        pass
"""
