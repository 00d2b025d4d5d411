"""What the Agent base class saves by default."""

import io
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from uqbench.agent import Agent
from uqbench.lanes import Adam, Clock, ReplayBuffer, Uniform

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Config:
    rate: float = 0.1


class Simple(Agent):
    def __init__(self, value: float) -> None:
        self.config, self.device, self.t, self.note = Config(), CPU, int(value), None
        self.draws = Uniform([1], "x")
        self.counts = torch.full((2,), value)
        self.network = nn.Linear(2, 2)
        self.optimizer = Adam(self.network.parameters(), 0.1, 1e-8)
        self.clock = Clock(CPU)
        self.replay = ReplayBuffer(1, 4, {"x": ((), torch.float32)}, self.clock)

    act = policy = observe = None


def test_tensors_numbers_networks_optimizers_and_replay_buffers_are_saved_and_restored():
    saved, fresh = Simple(3.0), Simple(5.0)
    saved.replay.add(x=torch.tensor([[7.0]]))
    loss = saved.network(torch.ones(2)).sum()
    saved.optimizer.step(torch.autograd.grad(loss, saved.optimizer.parameters))
    saved.clock.advance()
    state = saved.state_dict()
    held = ("t", "note", "draws", "counts", "network", "optimizer", "clock", "replay")
    assert set(state) == {*held}
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    fresh.load_state_dict(torch.load(buffer, weights_only=True))
    assert fresh.t == 3
    assert torch.equal(fresh.counts, saved.counts)
    assert torch.equal(fresh.network.weight, saved.network.weight)
    assert len(fresh.replay) == 1
    assert torch.equal(*[agent.optimizer.state_dict()["means"][0] for agent in (saved, fresh)])
    saved.counts += 1
    assert not torch.equal(fresh.counts, saved.counts)


@dataclass(frozen=True)
class Belief:
    mean: torch.Tensor


class Savable:
    def state_dict(self):
        return {}


@pytest.mark.parametrize("value", [Belief(torch.zeros(2)), Savable(), [1], {"a": 1}])
def test_what_would_be_lost_on_resume_is_refused(value):
    agent = Simple(1.0)
    agent.held = value
    with pytest.raises(TypeError, match=r"Simple\.held is an? .*override state_dict"):
        agent.state_dict()
