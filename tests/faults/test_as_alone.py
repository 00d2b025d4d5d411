"""Every installed method has the results that it has alone: beside a writer, and as one.

A planted estimator spoils everything that it is handed. It stands before a witness on each
installed data set; in the long form every installed method is the witness, and every one the
writer, on each task of its suites. Likewise a planted agent, and every installed one in the
smallest of its worlds.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from torch import Tensor
from toy_runs import first_batch, plan_of

from uqbench import AgentSpec, EstimatorSpec
from uqbench.agent import Agent
from uqbench.errors import UqbenchError
from uqbench.estimator import Data, Estimator, PredictiveUncertainty
from uqbench.registry import Added, Host
from uqbench.results import RunState, Store
from uqbench.runner import Batch, execute
from uqbench.runner.train.estimators import fit_estimator
from uqbench.specs import NoConfig
from uqbench.suites import Queries, read_suites
from uqbench.suites.configs import task_config

LONG = os.environ.get("UQBENCH_FAULTS") == "long"


def tensors(thing: object, seen: set[int]) -> Iterator[Tensor]:
    """Every tensor that can be reached from an object by attributes, mappings and sequences."""
    if id(thing) in seen or isinstance(thing, str | bytes | type):
        return
    seen.add(id(thing))
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, Mapping):
        for part in thing.values():
            yield from tensors(part, seen)
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from tensors(part, seen)
    elif hasattr(thing, "__dict__"):
        yield from tensors(vars(thing), seen)


def spoil(*things: object) -> None:
    for thing in things:
        for tensor in tensors(thing, set()):
            tensor.detach().zero_()
            if tensor.dtype.is_floating_point:
                tensor.detach().add_(7)


class Knowing(Estimator):
    """States the mean or shares of its training targets; the distance to the first input is new."""

    def __init__(self, problem, seeds, config: NoConfig, device):
        self.problem = problem

    def fit(self, data: Data, reference_model, steps):
        self.first, targets = data.inputs[:, :1].flatten(2).double(), data.targets
        self.mean = targets.double().mean(1, keepdim=True)
        self.shares = None
        if self.problem.n_classes:
            one_hot = torch.nn.functional.one_hot(targets, self.problem.n_classes)
            self.shares = one_hot.double().mean(1, keepdim=True)

    def predict(self, inputs):
        nll = (inputs.flatten(2).double() - self.first).norm(dim=-1)
        one, zero = torch.ones_like(nll), torch.zeros_like(nll)
        mean = self.mean.expand_as(nll).clone()
        if self.shares is None:
            return PredictiveUncertainty(2 * one, one, one, None, "variance", mean=mean, score=nll)
        probs = self.shares.expand(*nll.shape, -1).clone()
        entropy = torch.special.entr(probs).sum(-1)
        return PredictiveUncertainty(entropy, entropy, zero, probs, "nats", score=nll)


class Spoils(Knowing):
    """The same, but whatever it is handed is spoiled, at once and later."""

    def fit(self, data: Data, reference_model, steps):
        super().fit(data, reference_model, steps)
        self.handed = [data, reference_model]
        spoil(self.handed)

    def predict(self, inputs):
        said = super().predict(inputs)
        self.handed += [inputs, said]
        tensors = {name: x.clone() for name, x in vars(said).items() if isinstance(x, Tensor)}
        spoil(self.handed)
        return replace(said, **tensors)


class Takes(Agent):
    """Takes the first valid action."""

    def __init__(self, info, seeds, config: NoConfig, device):
        self.handed = [info, seeds, config]

    def act(self, obs, valid=None):
        if valid is None:
            return torch.zeros(obs.shape[:2], dtype=torch.int64)
        return valid.byte().argmax(-1)

    policy = act

    def observe(self, step):
        """Learns nothing."""


class SpoilsSteps(Takes):
    """The same, but whatever it is handed is spoiled, at once and later."""

    def act(self, obs, valid=None):
        action = super().act(obs, valid)
        self.handed += [obs, valid]
        spoil(self.handed)
        self.handed.append(action)
        return action

    policy = act

    def observe(self, step):
        self.handed.append(step)
        spoil(self.handed)


@cache
def installed():
    host = Host.load()

    def specs(spec, *planted):
        of = {"version": "1", "config": NoConfig}
        return [spec(name=made.__name__.lower(), factory=made, **of) for made in planted]

    agents = specs(AgentSpec, Takes, SpoilsSteps)
    added = Added({"estimator": specs(EstimatorSpec, Knowing, Spoils), "agent": agents})
    of = {"distribution": "planted", "package": "uqbench"}
    host.register(name="planted", version="1", load=lambda: added, **of)
    return host, read_suites(host, check=())


def cells():
    """One cell for each method and task of a data set in each suite; by ``suite/task/method``."""
    host, catalog = installed()
    found = {}
    for name, suite in sorted(catalog.suites.items()):
        if any(task.dataset for task in suite.tasks):
            plan = plan_of(host, "smoke", suite=suite, seeds=[0], steps=1)
            for cell in plan.cells:
                found[f"{name}/{cell.task.name}/{cell.method.name}"] = plan, cell
    return found


CELLS = cells()
OF_DATASETS = {str(cell.task.dataset): key for key, (_, cell) in reversed(CELLS.items())}


def digest(key: str, planted: str | None = None) -> str:
    """Of all that a run stores, of the cell's own method or a planted one."""
    host, _ = installed()
    plan, cell = CELLS[key]
    if planted is not None:
        method = cell.method.model_copy(update={"estimator": planted})
        cell = cell.__class__(**(vars(cell) | {"method": method, "config": NoConfig()}))
    batch = Batch(cell, plan.budget, tuple(plan.suite.metrics), "cpu")
    try:
        lanes = fit_estimator(batch, host, torch.device("cpu"), lambda message: None)
    except (UqbenchError, ValueError, TypeError) as error:  # a data set may score no such method
        return f"{type(error).__name__}: {error}"
    found = sha256()
    for of in (lanes[0].metrics, lanes[0].predictions):
        for name, column in sorted(of.items()):
            found.update(f"{name}{column.tolist()!r}".encode())
    return found.hexdigest()


def made(key: str):
    host, _ = installed()
    _, cell = CELLS[key]
    config = task_config(cell.task, host, where=key)
    try:
        problem = host.datasets[str(cell.task.dataset)].load_factory()(config)
        problem.data([0])
    except Exception as error:  # of images that are not here
        if type(error).__name__ != "MissingError":
            raise
        pytest.skip(str(error))
    return problem


@pytest.mark.parametrize("dataset", sorted(OF_DATASETS))
def test_tensors_of_a_data_set_are_new_whenever_it_is_asked(dataset):
    problem = made(OF_DATASETS[dataset])
    asked = [[problem.data([0]), problem.evaluation_sets([0])] for _ in range(2)]
    places = [{x.untyped_storage().data_ptr() for x in tensors(one, set())} for one in asked]
    assert not places[0] & places[1]


@pytest.mark.parametrize("dataset", sorted(OF_DATASETS))
def test_a_method_that_spoils_all_it_is_given_changes_no_result(dataset):
    key = OF_DATASETS[dataset]
    made(key)
    alone = digest(key, "knowing")
    assert digest(key, "spoils") == alone  # what it was given was its own
    assert digest(key, "knowing") == alone


@pytest.mark.parametrize("key", CELLS if LONG else [])  # tox -e faults
def test_every_method_is_as_alone_beside_a_writer_and_as_one(key):
    made(key)
    alone, witness = digest(key), digest(key, "knowing")
    assert (digest(key, "spoils"), digest(key)) == (witness, alone)
    assert digest(key, "knowing") == witness


TABULAR = ("five-state", "deepsea", "ube-chain", "widenarrow", "priormdp", "ube-terms")
SMALLEST = (
    *(*TABULAR, "windy-cliff", "noise-and-ignorance", "features", "offline-values", "profile"),
    *("exploration", "cartpole", "return-distribution", "highway", "minatar"),
)
"""Suites, those of smaller worlds first."""
SOON = {"learning_starts": 4, "batch_size": 4, "train_start": 4}
QUERIES = Queries(states=3, early_states=2, rollouts=2)
STEPS = 40


def worlds() -> dict[str, str]:
    """By agent: the first suite that has it."""
    _, catalog = installed()
    rows = [(name, of) for name in reversed(SMALLEST) for of in catalog.suites[name].methods]
    return {str(method.agent): name for name, method in rows if method.agent}


AGENTS = worlds()


def test_every_installed_agent_has_a_world():
    host, _ = installed()
    assert set(host.agents) == {*AGENTS, "takes", "spoilssteps"}


@cache
def smallest_batch(agent: str) -> Batch:
    """Two runs of the agent's first method on the first task of its world, learning early."""
    host, catalog = installed()
    suite = catalog.suite(AGENTS[agent])
    method = next(m for m in suite.methods if m.agent == agent)
    own = {field.name for field in fields(host.agents[agent].load_config())}
    settings = {method.name: {key: value for key, value in SOON.items() if key in own}}
    chosen = {"methods": [method.name], "seeds": [0, 1], "settings": settings}
    plan = plan_of(host, "smoke", suite=suite, steps=STEPS, **chosen)
    asked = {} if plan.budget.queries is None else {"queries": QUERIES}
    return replace(first_batch(plan), budget=plan.budget.model_copy(update=asked))


def run_of(batch: Batch, seed: int, planted: str | None = None) -> Batch:
    """One of the batch's runs, of its own method or of a planted agent."""
    cell = replace(batch.cell, runs=batch.cell.runs[seed : seed + 1])
    if planted is not None:
        method = cell.method.model_copy(update={"agent": planted})
        cell = replace(cell, method=method, config=NoConfig(), owns_loop=False)
    return replace(batch, cell=cell)


def agent_digest(folder: Path, run: Batch, *beside: Batch) -> str:
    """Of all that a run stores, alone or taking turns with others in a process."""
    host, _ = installed()
    store = Store(folder)
    execute((run, *beside), store, host, lambda event: None, 0.0)
    found = store.find(run.runs[0])
    assert found.state is RunState.FINISHED, found.reason
    return found.record.digests["results"]


SHORT = [agent for agent, world in sorted(AGENTS.items()) if agent == "dqn" or world in TABULAR]
OTHERS = [pytest.param(agent, marks=pytest.mark.long) for agent in sorted({*AGENTS} - {*SHORT})]


@pytest.mark.parametrize("agent", SHORT + OTHERS)
def test_every_agent_is_as_alone_beside_a_writer_and_as_one(agent, tmp_path):
    batch = smallest_batch(agent)
    own, takes, spoils = (run_of(batch, 0, planted) for planted in (None, "takes", "spoilssteps"))
    writer = run_of(batch, 1, "spoilssteps")
    alone = agent_digest(tmp_path / "alone", own)
    witness = agent_digest(tmp_path / "takes", takes)
    assert agent_digest(tmp_path / "spoils", spoils) == witness
    assert agent_digest(tmp_path / "beside", own, writer) == alone
    assert agent_digest(tmp_path / "after", takes, writer) == witness
