"""What a method writes into what it was given, or gave, changes nothing that is recorded.

Each planted agent is an honest one with a deed: it learns and acts as before, and then writes. Its
runs have the honest one's digests, in environments whose outcomes are their own state (tabular
worlds), views of kernels' arrays (MinAtar), and arrays of NumPy (Gymnasium's).
"""

import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from commands import toy_plugin
from toy_runs import first_batch, plan_of, planted

from uqbench.agent import Agent, LoopAgent
from uqbench.lanes import Capturable, Clock
from uqbench.registry import Host
from uqbench.results import RunState, Store
from uqbench.runner import execute
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites import Queries, read_suites
from uqbench.testing.capture import simulated
from uqbench.testing.worlds import RotatingPixels

DQN = {"learning_starts": 4, "batch_size": 4, "heads": 3, "hidden": [8]}
QUERIES = Queries(states=3, early_states=2, rollouts=2, tail=0.9)
WORLDS = {  # plugins, suite, budget, task, method, steps, settings, changes of the budget
    "corridor": ("toy,builtin", "toy", "paper", "long", "slow", 60, {}, {}),
    "actors": ("toy,builtin", "toy", "paper", "long", "slow", 60, {}, {"actors": 2}),
    "deepsea": ("tabular,builtin", "deepsea", "smoke", "deepsea-4", "psrl", 40, {}, {}),
    "breakout": (
        *("minatar,dqn,builtin", "minatar", "smoke", "breakout", "bootstrapped-dqn", 24),
        *(DQN, {"queries": QUERIES}),
    ),
}


def spoil(*tensors):
    """Write ones into tensors, or arrays, that may be None; twice is as once."""
    for values in tensors:
        if values is not None:
            values[...] = 1


def stated(uncertainty):
    return [] if uncertainty is None else vars(uncertainty).values()


class Honest(Agent):
    """Passes on copies to the agent that it stands before, so that this one learns the same."""

    def __init__(self, agent):
        self.agent = agent

    def act(self, obs, valid=None):
        return self.agent.act(obs.clone(), None if valid is None else valid.clone())

    def observe(self, step):
        own = {name: x.clone() for name, x in vars(step).items() if x is not None}
        self.agent.observe(replace(step, **own))

    def policy(self, obs, valid=None):
        return self.agent.policy(obs.clone(), valid)

    def uncertainty(self, obs):
        return self.agent.uncertainty(obs.clone())

    def metrics(self):
        return {name: x.clone() for name, x in self.agent.metrics().items()}

    def state_dict(self):
        return self.agent.state_dict()

    def load_state_dict(self, state):
        self.agent.load_state_dict(state)


class Writes(Honest):
    """Writes into all that it was given when it has used it, and later into that and its answers.

    What it keeps is spoiled whenever it is called.
    """

    def __init__(self, agent):
        super().__init__(agent)
        self.kept = []

    def spoil(self, *given, answers=()):
        self.kept += given
        spoil(*self.kept)
        self.kept += answers

    def act(self, obs, valid=None):
        action = super().act(obs, valid).clone()
        self.spoil(obs, valid, answers=[action])
        return action

    def observe(self, step):
        super().observe(step)
        self.spoil(*vars(step).values())

    def policy(self, obs, valid=None):
        action = super().policy(obs, valid).clone()
        self.spoil(obs, valid, answers=[action])
        return action

    def uncertainty(self, obs):
        answer = super().uncertainty(obs)
        self.spoil(obs, answers=stated(answer))
        return answer

    def metrics(self):
        metrics = super().metrics()
        self.spoil(answers=metrics.values())
        return metrics


def trained(world, deed, patch, folder, seeds=(0, 1)):
    """The runs, one a lane, and the store, of an agent behind one that does a deed."""
    plugins, name, budget, task, method, steps, settings, changes = WORLDS[world]
    toy_plugin(patch, plugins)
    host = Host.load()
    suite = read_suites(host, check=(name,)).suite(name)
    own = next(m for m in suite.methods if m.name == method)
    spec = host.agents[str(own.agent)]

    def make(info, seeds, config, device):
        return deed(spec.load_factory()(info, seeds, config, device))

    budgets = suite.budgets | {budget: suite.budgets[budget].model_copy(update=changes)}
    suite = suite.model_copy(update={"methods": (own,), "budgets": budgets})
    suite = planted(host, suite, make, config=spec.load_config())
    chosen = {"methods": [method], "tasks": [task], "seeds": seeds, "steps": steps}
    plan = plan_of(host, budget, suite=suite, settings={method: settings}, **chosen)
    store = Store(folder)
    execute((first_batch(plan),), store, host, lambda event: None)
    return plan.runs, store


def digests(world, deed):
    """Of the results of two lanes."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        runs, store = trained(world, deed, patch, Path(folder))
        found = [store.find(run) for run in runs]
        assert [one.state for one in found] == [RunState.FINISHED] * 2, found[0].reason
        return [one.record.digests["results"] for one in found]


@pytest.mark.parametrize("world", WORLDS)
def test_an_agent_that_writes_into_what_it_was_given_leaves_every_digest_as_it_was(world):
    assert digests(world, Writes) == digests(world, Honest)


class Reports(Honest):
    """Adds a metric to the agent's own."""

    def __init__(self, agent, name="mine", value=0.0):
        super().__init__(agent)
        self.name, self.value = name, value

    def metrics(self):
        own = super().metrics()
        return own | {self.name: torch.full_like(next(iter(own.values())), self.value)}


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
def test_a_metric_that_is_no_finite_number_changes_no_other(value, tmp_path):
    read = []
    for number in (0.0, value):
        with pytest.MonkeyPatch.context() as patch:
            folder, deed = tmp_path / str(number), partial(Reports, value=number)
            runs, store = trained("corridor", deed, patch, folder)
            for run in runs:
                metrics, episodes = store.columns(run)
                others = metrics["metric"] != "mine"
                read.append([column[others].tolist() for column in metrics.values()])
                read.append([column.tolist() for column in episodes.values()])
    assert repr(read[: len(read) // 2]) == repr(read[len(read) // 2 :])


MEASURED = ("reward", "evaluation_return", "events/bumps", "queries/crps", "uncertainty/error")
SAID = dict.fromkeys(MEASURED, r"which is measured here, .* expected another name \(Reports")
SAID |= dict.fromkeys(["", "mine ", "mine\u200b"], "expected a word of printable characters")


@pytest.mark.parametrize("name", SAID)
def test_a_metric_has_a_word_for_a_name_and_none_of_what_is_measured(name, tmp_path, monkeypatch):
    deed = partial(Reports, name=name, value=9.0)
    [run], store = trained("corridor", deed, monkeypatch, tmp_path, seeds=[0])
    reason = store.find(run).reason
    assert re.search(f"metric (named )?{re.escape(repr(name))}[,;] {SAID[name]}", reason)


class Captured(Agent, Capturable):
    """Turns left or right by what it saw, and does a deed; a step is tensor operations alone."""

    def __init__(self, lanes, actors, deed):
        self.clock, self.deed = Clock(torch.device("cpu"), actors), deed
        self.seen = torch.zeros(lanes, actors)

    def phase(self, t):
        return ()

    def act(self, obs, valid=None):
        return (obs.flatten(2).sum(-1) + self.clock.tensor) % 4

    def observe(self, step):
        self.seen += step.reward
        self.deed(step)
        self.clock.advance()

    def policy(self, obs, valid=None):
        raise NotImplementedError


@pytest.mark.parametrize("actors", [1, 2])
@pytest.mark.parametrize("capture", [None, simulated])
def test_a_captured_step_records_what_happened_before_the_agent_wrote(capture, actors):
    def recorded(deed):
        recorder = Recorder(2, 60, (), torch.device("cpu"), actors=actors)
        agent, env = Captured(2, actors, deed), RotatingPixels(2 * actors)
        steps = interact(agent, env, 60, recorder, capture=capture, actors=actors)
        assert [at.step for at in steps] == [*range(actors, 61, actors)]
        return repr([[c.tolist() for c in episodes.values()] for _, episodes in recorder.finish()])

    def all_of_it(step):
        spoil(*vars(step).values())

    assert recorded(all_of_it) == recorded(lambda step: None)


class Plays(LoopAgent):
    """Takes the last valid action, and writes into arrays if it is told to."""

    writes = False

    def __init__(self, info, config):
        self.info = info

    def train(self, env, total_steps, seed):
        many = self.info.actors > 1
        obs, info = env.reset()
        while True:
            masks = np.atleast_2d(info.get("action_mask", np.ones((self.info.actors, 2), bool)))
            action, given = 1 - masks[:, ::-1].argmax(1), [obs, *info.values()]
            obs, _, terminated, truncated, info = env.step(action if many else action[0])
            given += [action, obs, *info.values(), terminated, truncated]
            now = obs.copy(), {name: array.copy() for name, array in info.items()}
            if self.writes:
                arrays = (array for array in given if isinstance(array, np.ndarray))
                spoil(*(array for array in arrays if array.dtype != object))
            obs, info = now
            if not many and (terminated or truncated):
                obs, info = env.reset()

    def policy(self, obs, valid=None):
        action = 1 if valid is None else int(np.flatnonzero(valid)[-1])
        if self.writes:
            spoil(obs, valid)
        return action


class WritesAndPlays(Plays):
    writes = True


@pytest.mark.parametrize("actors", [1, 2])
def test_a_method_that_owns_its_loop_writes_into_arrays_of_its_own(actors, tmp_path, monkeypatch):
    toy_plugin(monkeypatch, "toy,tabular,builtin")
    found = []
    for made in (Plays, WritesAndPlays):
        for name, task in (("toy", "long"), ("deepsea", "deepsea-4")):
            host = Host.load()
            suite = read_suites(host, check=(name,)).suite(name)
            budget = suite.budgets["smoke"].model_copy(update={"actors": actors})
            suite = suite.model_copy(update={"budgets": {"smoke": budget}})
            suite = planted(host, suite, made, vector=True, loop=True)
            plan = plan_of(host, "smoke", suite=suite, tasks=[task], seeds=[0], steps=60)
            store = Store(tmp_path / made.__name__)
            execute((first_batch(plan),), store, host, lambda event: None)
            stored = store.find(plan.runs[0])
            assert stored.state is RunState.FINISHED, stored.reason
            found.append(stored.record.digests["results"])
    assert found[:2] == found[2:]


def test_each_agent_has_a_config_of_its_own(host):
    seen = []

    @dataclass(frozen=True)
    class Widths:
        widths: list[int] = field(default_factory=lambda: [1])

    def make(info, seeds, config, device):
        config.widths.append(1)
        seen.append(len(config.widths))
        return Honest(None)

    suite = planted(host, read_suites(host, check=("toy",)).suite("toy"), make, config=Widths)
    batch, env = first_batch(plan_of(host, suite=suite, seeds=[0])), RotatingPixels(1)
    for _ in range(2):
        make_agent(batch, host, env, torch.device("cpu"))
    assert seen == [2, 2]
