"""Honest methods that do what few others do: none is refused, and a run repeats."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from test_planted_predictions import C, Points, reason

from uqbench import AgentSpec
from uqbench.agent import Agent
from uqbench.estimator import PredictiveUncertainty
from uqbench.registry import Added
from uqbench.results import RunState, Store
from uqbench.runner import Batch, execute
from uqbench.specs import NoConfig
from uqbench.suites import make_plan, read_suites


def stated(probs, members=None, score=None):
    probs = torch.as_tensor(probs)
    total = torch.special.entr(probs).sum(-1)
    inner = total if members is None else torch.special.entr(members).sum(-1).mean(0)
    return PredictiveUncertainty(
        total, inner, total - inner, probs, "nats", members=members, score=score
    )


def drawn_scores(inputs):
    """The score of a point is a random number."""
    probs = torch.full((*inputs.shape[:2], C), 1 / C)
    return stated(probs, score=torch.rand(inputs.shape[:2]))


def batch_statistics(inputs):
    """Inputs are standardized by the points that are asked about together."""
    z = (inputs - inputs.mean(1, keepdim=True)) / inputs.std(1, keepdim=True)
    return stated(torch.cat([z, z[..., :1] ** 2], -1).softmax(-1))


def in_place(inputs):
    """Inputs are standardized where they lie."""
    inputs.sub_(inputs.mean(1, keepdim=True)).div_(inputs.std(1, keepdim=True))
    return stated(torch.cat([inputs, 0 * inputs[..., :1]], -1).softmax(-1))


def dropout(inputs):
    """Twenty masks from the global random numbers; their mean and the members."""
    kept = torch.nn.functional.dropout(inputs.expand(20, *inputs.shape), 0.5)
    members = torch.cat([kept, 0 * kept[..., :1]], -1).double().softmax(-1)
    return stated(members.mean(0), members)


def own_generator(inputs):
    """A generator of its own."""
    noise = torch.rand(*inputs.shape[:2], C, generator=torch.Generator().manual_seed(7))
    return stated(noise.softmax(-1))


def numpy_alone(inputs):
    """No tensor until the end; float64, in Fortran's order."""
    x = inputs.numpy()
    logits = np.asfortranarray(np.stack([x[..., 0], x[..., 1], 0 * x[..., 0]], -1), np.float64)
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return stated(odds / odds.sum(-1, keepdims=True))


ESTIMATORS = drawn_scores, batch_statistics, in_place, dropout, own_generator, numpy_alone


@pytest.mark.parametrize("predict", ESTIMATORS, ids=lambda predict: predict.__name__)
def test_no_unusual_estimator_is_refused(predict, tmp_path, monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin")
    assert reason(tmp_path, problem=Points, predict=predict, seeds=[0, 1]) == ""


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


class NumpyAgent(Recurrent):
    """Counts in arrays of NumPy, and answers with the same array each time."""

    def __init__(self, info, seeds, config: NoConfig, device):
        self.taken = np.zeros((len(seeds), info.actors), np.int64)
        self.actions = info.n_actions

    def act(self, obs, valid=None):
        self.taken += 1
        self.taken %= self.actions
        return torch.from_numpy(self.taken)

    def observe(self, step):
        self.taken[step.terminated.numpy()] = 0


class GlobalDice(Recurrent):
    """Explores by the global random numbers of torch, unseeded."""

    def act(self, obs, valid=None):
        return torch.randint(self.actions, obs.shape[:2])


@pytest.mark.parametrize("kind", [Recurrent, OwnReplay, NumpyAgent, GlobalDice])
def test_no_unusual_agent_is_refused_and_its_run_repeats(kind, host, tmp_path):
    spec = AgentSpec(name="planted", version="1", factory=kind, config=NoConfig)
    of = {"name": "planted", "distribution": "planted", "package": "toy_uqbench"}
    host.register(**of, version="1", load=lambda: Added({"agent": [spec]}))
    suite = read_suites(host, check=()).suite("toy")
    plan = make_plan(
        suite, host, "smoke", device="cpu", methods=["slow"], tasks=["short"], steps=60
    )
    cell = plan.cells[0]
    method = cell.method.model_copy(update={"agent": "planted"})
    cell = cell.__class__(**(vars(cell) | {"method": method, "config": NoConfig()}))
    batch, digests = Batch(cell, plan.budget, suite.metrics, "cpu"), []
    for folder in ("once", "again"):
        store = Store(tmp_path / folder)
        assert execute((batch,), store, host, lambda event: None, 0.0)  # the process is as it was
        found = [store.find(run) for run in batch.runs]
        assert [one.state for one in found] == [RunState.FINISHED] * len(found), found[0].reason
        digests.append([one.record.digests["results"] for one in found])
    assert digests[0] == digests[1]
