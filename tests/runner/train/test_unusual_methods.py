"""Honest methods that do what few others do: none is refused, and a run repeats."""

import numpy as np
import pytest
import torch
from toy_runs import digests, first_batch, plan_of, planted

from uqbench.agent import Agent
from uqbench.results import Store
from uqbench.runner import execute
from uqbench.specs import NoConfig
from uqbench.suites import read_suites


class Recurrent(Agent):
    """Acts by a state that it carries from step to step, and updates as it acts."""

    def __init__(self, info, seeds, config: NoConfig, device):
        self.cell = torch.nn.GRUCell(1, 4)
        self.hidden = torch.zeros(len(seeds) * info.actors, 4)
        self.actions = info.n_actions

    def act(self, obs, valid=None):
        with torch.no_grad():
            said = obs.flatten(2).float().sum(-1).reshape(-1, 1)
            self.hidden = self.cell(said, self.hidden)
        return (self.hidden.sum(-1) > 0).long().reshape(obs.shape[:2]) % self.actions

    def observe(self, step):
        ended = (step.terminated | step.truncated).reshape(-1, 1)
        self.hidden.masked_fill_(ended, 0.0)

    def policy(self, obs, valid=None):
        return torch.zeros(obs.shape[:2], dtype=torch.int64)


class OwnReplay(Recurrent):
    """Keeps every step in a list of its own, and samples of it with Python's random numbers."""

    def __init__(self, info, seeds, config: NoConfig, device):
        super().__init__(info, seeds, config, device)
        self.kept, self.rng = [], np.random.default_rng(seeds[0] % 2**32)

    def observe(self, step):
        super().observe(step)
        self.kept.append((step.obs.clone(), step.reward.clone()))
        chosen = self.rng.integers(len(self.kept), size=4)
        loss = sum(self.cell(r.reshape(-1, 1), self.hidden).sum() for _, r in
                   (self.kept[i] for i in chosen))  # fmt: skip
        loss.backward()
        with torch.no_grad():
            for weight in self.cell.parameters():
                weight.sub_(0.01 * weight.grad).clamp_(-1, 1)
                weight.grad = None


@pytest.mark.parametrize("kind", [Recurrent, OwnReplay])
def test_no_unusual_agent_is_refused_and_its_run_repeats(kind, host, tmp_path):
    suite = planted(host, read_suites(host, check=()).suite("toy"), kind)
    batch = first_batch(plan_of(host, "smoke", suite=suite, tasks=["short"], steps=60))
    found = []
    for folder in ("once", "again"):
        store = Store(tmp_path / folder)
        assert execute((batch,), store, host, lambda event: None, 0.0)  # the process is as it was
        found.append(digests(store, batch))
    assert found[0] == found[1]
