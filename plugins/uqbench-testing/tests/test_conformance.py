"""Every check of agents has a mutant that it alone rejects; agents of several actors."""

import itertools
import math
import os
import re
import runpy
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import planted
import pytest
import torch
from gymnasium import spaces
from planted import after, given
from torch import Tensor
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.config import BootstrappedDQNConfig, DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_testing.capture import simulated
from uqbench_testing.command import _show
from uqbench_testing.conformance.agent_runs import AgentSubject
from uqbench_testing.conformance.agents import mixes, with_actors
from uqbench_testing.conformance.check import LEVELS, Failed, Subject, all_checks
from uqbench_testing.conformance.devices import elsewhere
from uqbench_testing.conformance.subjects import _use, subjects
from uqbench_testing.results import results
from uqbench_testing.same_bits import difference, train
from uqbench_testing.worlds import RotatingPixels, transitions
from uqbench_ube.deep.config import UBEDQNConfig
from uqbench_ube.deep.ube_dqn import UBEDQN
from uqbench_ube.deep.windows import Windows

from uqbench.agent import Agent, EnvironmentInfo, Step, Uncertainty, observation_shape
from uqbench.config import Steps
from uqbench.errors import UqbenchError
from uqbench.lanes import Capturable, Clock, Uniform, epsilon_greedy, greedy
from uqbench.registry import Host
from uqbench.registry.load_host import load_host
from uqbench.suites import make_plan, read_suites

CALLS = itertools.count()


@dataclass(frozen=True)
class Config:
    learning_starts: Steps = 5


@dataclass(frozen=True)
class UnmarkedConfig:
    learning_starts: int = 5


class Linear(Agent):
    """Q-learning, linear in the pixels; variances are mean squared TD errors over their number."""

    def __init__(self, info, seeds, config, device):
        self.config, self.n, self.discount, self.t = config, info.n_actions, info.discount, 0
        size = math.prod(observation_shape(info))
        self.weights = torch.zeros(len(seeds), self.n, size, device=device)
        self.counts = torch.ones(len(seeds), self.n, device=device)
        self.squares = torch.ones(len(seeds), self.n, device=device)
        self.error = torch.zeros(len(seeds), device=device)
        self.u = Uniform(seeds, "linear", (info.actors, 2), device)

    def values(self, obs: Tensor) -> Tensor:
        return (obs.flatten(2)[:, :, None].float() * self.weights[:, None]).sum(-1)

    def draws(self) -> Tensor:
        return self.u.at(self.t)

    def act(self, obs, valid=None):
        return epsilon_greedy(self.values(obs), self.draws(), 0.3, valid)

    def ended(self, step: Step) -> Tensor:
        return step.terminated

    def observe(self, step):
        following = self.values(step.next_obs).amax(-1)
        target = step.reward + self.discount * following * ~self.ended(step)
        taken = torch.nn.functional.one_hot(step.action, self.n).float()
        error = target - (self.values(step.obs) * taken).sum(-1)
        self.error = error.mean(-1)
        for actor, pixels in enumerate(step.obs.flatten(2).float().unbind(1)):
            change = error[:, actor, None] * taken[:, actor]
            self.weights += 0.1 * change[:, :, None] * pixels[:, None]
            self.counts += taken[:, actor]
            self.squares += 0.1 * (change.square() - self.squares) * taken[:, actor]
        self.t += 1

    def policy(self, obs, valid=None):
        return greedy(self.values(obs), valid)

    def uncertainty(self, obs):
        mean = self.values(obs)
        var = (self.squares / self.counts)[:, None].expand_as(mean)
        levels = torch.linspace(-1.5, 1.5, 5, device=mean.device)
        return Uncertainty(
            mean=mean,
            epistemic_var=var,
            quantile_epistemic_var=2 * var,
            aleatoric_var=torch.ones_like(mean),
            return_atoms=mean[..., None] + levels,
            return_probs=torch.full_like(mean, 0.2)[..., None].expand(*mean.shape, 5),
            value_samples=mean[..., None] + var[..., None].sqrt() * levels / levels.std(),
        )

    def metrics(self):
        return {"error": self.error}


def _predicts(**changes):
    """An agent whose predictions are changed."""

    def change(said):
        return replace(said, **{name: to(getattr(said, name)) for name, to in changes.items()})

    return after(Linear, uncertainty=change)


def _observes(then):
    """An agent that does something with a step after it has observed it."""

    class Mutant(Linear):
        def observe(self, step):
            super().observe(step)
            then(self, step)

    return Mutant


def _without(name):
    return lambda state: {key: value for key, value in state.items() if key != name}


class WritesLater(Linear):
    def observe(self, step):
        super().observe(step)
        self.kept = step.next_obs

    def act(self, obs, valid=None):
        if self.t:
            self.kept.zero_()
        return super().act(obs, valid)

    def state_dict(self):
        return {}


class WritesIntoQuestions(Linear):
    def policy(self, obs, valid=None):
        action = super().policy(obs, valid)
        if obs.is_contiguous():  # in place an expanded one raises by itself
            obs.logical_or_(obs)
        return action


class Unrepeatable(Linear):
    def __init__(self, info, seeds, config, device):
        super().__init__(info, seeds, config, device)
        self.u = Uniform([seed + next(CALLS) for seed in seeds], "linear", (info.actors, 2), device)


class NoisyPolicy(Linear):
    def policy(self, obs, valid=None):
        self.t += 1
        return super().policy(obs, valid)


class KeepsTensors(Linear):
    last: Any = None

    def observe(self, step):
        if self.last is not None:
            super().observe(self.last)
        self.last, self.t = step, self.t + 1

    def state_dict(self):
        raise TypeError("not saved")


class MixesLanes(Linear):
    def draws(self):
        return (super().draws() + self.weights.abs().sum()).frac()


class MixesLanesOfActors(Linear):
    def draws(self):
        u = super().draws()
        return (u + self.weights.abs().sum()).frac() if u.shape[1] > 1 else u


class StopsAtTruncation(Linear):
    def ended(self, step):
        return step.terminated | step.truncated


class OnTheHost(Linear):
    def __init__(self, info, seeds, config, device):
        super().__init__(info, seeds, config, device)
        self.bias = torch.zeros(self.n)

    def values(self, obs):
        return super().values(obs) + self.bias


class Waits(Linear):
    def observe(self, step):
        if step.reward.sum().item() > 1e9:
            return
        super().observe(step)


class Captured(Capturable, Linear):
    """The same, captured and compiled."""

    compiled = ("estimate",)

    def __init__(self, info, seeds, config, device):
        super().__init__(info, seeds, config, device)
        self.clock = Clock(device)
        self.scale = torch.ones((), device=device)

    def phase(self, t):
        return ()

    def draws(self):
        return self.u.at(self.clock)

    def estimate(self, error: Tensor) -> Tensor:
        return error * 1.0

    def observe(self, step):
        error = self.error
        super().observe(step)
        self.error = error.copy_(self.estimate(self.error))
        self.t = 0
        self.clock.advance()


class HostNumber(Captured):
    def estimate(self, error):
        return error

    def observe(self, step):
        super().observe(step)
        self.weights += 1e-3 * (self.clock.t % 2 * 2 - 1)  # to and fro: Q stays what it is


class ActsOnTheHost(Captured):
    def act(self, obs, valid=None):
        eps = 1.0 if self.clock.t % 2 else 0.0
        return epsilon_greedy(self.values(obs), self.draws(), eps, valid)


class ReportsFromTheHost(Captured):
    def observe(self, step):
        super().observe(step)
        self.scale.fill_(float(self.clock.t))

    def metrics(self):
        return {**super().metrics(), "t": self.scale + torch.zeros_like(self.error)}


class Breaks(Captured):
    def estimate(self, error):
        torch._dynamo.graph_break()
        return error * 1.0


AGENTS: dict[str, Any] = {
    "agent-forms": after(Linear, policy=Tensor.flatten),
    "agent-global-state": after(Linear, draws=torch.rand_like),
    "agent-inputs": _observes(lambda _, step: step.reward.zero_()),
    "agent-masks": given(Linear, act=lambda obs, valid=None: (obs,)),
    "agent-repeats": Unrepeatable,
    "agent-pure": NoisyPolicy,
    "agent-buffers": KeepsTensors,
    "agent-lanes": MixesLanes,
    "agent-actors": MixesLanesOfActors,
    "agent-mixes-actors": given(Linear, act=lambda obs, _=None: (obs.any(1, True).expand_as(obs),)),
    "agent-seeds": given(Linear, __init__=lambda info, own, *told: (info, [0] * len(own), *told)),
    "agent-checkpoint": after(Linear, state_dict=_without("counts")),
    "agent-terminal": after(Linear, ended=torch.zeros_like),
    "agent-truncation": StopsAtTruncation,
    "agent-device": OnTheHost,
    "agent-waits": Waits,
    "agent-capture": HostNumber,
    "agent-compiles": Breaks,
    "uncertainty-forms": _predicts(mean=lambda x: x.sum(-1)),
    "uncertainty-order": _predicts(quantile_epistemic_var=lambda x: x / 10),
    "uncertainty-distribution": _predicts(return_atoms=lambda x: x + 1),
    "uncertainty-samples": _predicts(value_samples=lambda x: x * 30),
}


def agent(kind, config=None, **more) -> AgentSubject:
    def factory(*told):  # a class of this module is none of another process
        return kind(*told)

    told = {"config": config or Config(), "takes_actors": True, "steps": 60, "long": 100}
    return AgentSubject(name=kind.__name__, factory=factory, **told | more)


def broken(subject: Subject) -> set[str]:
    return {r.check.id for r in results([subject]) if r.status == "failed"}


@pytest.mark.parametrize("kind", [Linear, Captured])
def test_a_correct_agent_passes_every_check(kind):
    made = results([agent(kind)])
    assert [str(r) for r in made if not r.ok] == []
    skipped = {r.check.id for r in made if r.status in ("skipped", "vacuous")}
    uncaptured = set() if kind is Captured else {"agent-capture", "agent-compiles"}
    assert skipped == uncaptured | {"agent-new-process", "agent-hash-seed", "uncertainty-coverage"}


def test_a_rule_that_nothing_tried_could_break_is_vacuous_and_shown(capsys):
    made = results([agent(Linear)], "agent-hash-seed", show=_show)
    assert [r.status for r in made] == ["vacuous"]
    assert "agent-hash-seed: vacuous: another process cannot make it" in capsys.readouterr().out


@pytest.mark.parametrize("check", AGENTS)
def test_an_agent_that_breaks_a_rule_is_rejected(check):
    (result,) = results([agent(AGENTS[check])], only=check)
    assert result.status == "failed"


WAYS = [
    ("agent-capture", ActsOnTheHost, "it acts otherwise at step"),
    ("agent-capture", ReportsFromTheHost, "differs at the end"),
    # rewards are 0 or 1, so that no value changes
    ("agent-inputs", _observes(lambda _, step: step.reward.clamp_(-1, 1)), "wrote into"),
    ("agent-inputs", _observes(lambda _, step: step.reward.numpy().fill(7)), "wrote into"),
    ("agent-inputs", WritesLater, "wrote into"),
    ("agent-inputs", WritesIntoQuestions, "wrote into"),
    ("uncertainty-forms", _predicts(aleatoric_var=lambda x: x / 0), "is not finite"),
    ("uncertainty-forms", _predicts(aleatoric_var=lambda x: -x), "aleatoric_var is negative"),
    ("uncertainty-forms", _predicts(return_probs=lambda x: x * 1.1), "do not sum to one"),
]


@pytest.mark.parametrize(("check", "kind", "said"), WAYS)
def test_a_rule_is_broken_in_several_ways(check, kind, said):
    (result,) = results([agent(kind)], only=check)
    assert (result.status, said in result.message) == ("failed", True), str(result)


@pytest.mark.long
@pytest.mark.parametrize("check", AGENTS)
def test_an_agent_that_breaks_one_rule_is_rejected_by_that_check_alone(check):
    assert broken(agent(AGENTS[check])) == {check}


def test_a_config_whose_steps_are_not_marked_is_rejected_by_one_check_alone():
    assert broken(agent(Linear, UnmarkedConfig())) == {"agent-steps"}


class Posterior(Linear):
    """The mean of each action's rewards: N(sums / (n + 1), 1 / (n + 1)) under a prior N(0, 1)."""

    def __init__(self, info, seeds, config, device):
        super().__init__(info, seeds, config, device)
        self.sums = torch.zeros(len(seeds), self.n, device=device)

    def observe(self, step):
        self.sums = self.sums.scatter_add(1, step.action, step.reward)
        self.counts = self.counts.scatter_add(1, step.action, torch.ones_like(step.reward))
        self.t += 1

    def uncertainty(self, obs):
        shape = (*obs.shape[:2], self.n)
        parts = self.sums / self.counts, 1 / self.counts
        return Uncertainty(*(part[:, None].expand(shape) for part in parts))


def _states(change):
    """A posterior whose variance is changed."""
    return after(Posterior, uncertainty=lambda said: replace(said, epistemic_var=change(said)))


POSTERIORS = [
    (Posterior, "passed"),
    (_states(lambda said: said.epistemic_var / 4), "failed"),
    (_states(lambda said: said.epistemic_var * 9), "failed"),
    (_states(lambda said: 1 / said.epistemic_var), "failed"),  # grows with data
    (_states(lambda said: torch.ones_like(said.mean)), "failed"),
]


@pytest.mark.parametrize(("kind", "status"), POSTERIORS)
def test_a_planted_posterior_reaches_its_nominal_coverage(kind, status):
    (result,) = results([replace(agent(kind), calibrated=True)], only="uncertainty-coverage")
    assert result.status == status


class RestoresGlobalState(Linear):
    def draws(self):
        with torch.random.fork_rng():
            torch.manual_seed(self.t)
            return torch.rand_like(super().draws())


class ForgetsItsMetric(Linear):
    """It acts and predicts the same when it is resumed, and reports something else."""

    seen = torch.zeros(())

    def observe(self, step):
        super().observe(step)
        self.seen = self.seen + torch.ones_like(self.error)

    def metrics(self):
        return {**super().metrics(), "seen": self.seen + torch.zeros_like(self.error)}


class LeaksLate(Linear):
    def observe(self, step):
        mean = step.reward.mean(0) if self.t >= 500 else 0.0
        super().observe(replace(step, reward=step.reward - mean))


class KeepsLate(Linear):
    def observe(self, step):
        if self.t == 300:
            self.first = step.reward
        more = 0.0 if self.t < 300 else 0.1 * self.first
        super().observe(replace(step, reward=step.reward + more))


class WarmsUpTooLong(Linear):
    def observe(self, step):
        if self.t < 1_000:
            self.t += 1
        else:
            super().observe(step)


def _relative(said):
    """Its variance is relative to the other observations that are asked about."""
    square = said.mean.square()
    return Uncertainty(said.mean, square / (1e-6 + square.mean(1, keepdim=True)))


def _hundredths(said):
    return Uncertainty(mean=said.mean / 100, epistemic_var=said.epistemic_var / 1e4)


FAULTS: dict[str, tuple[Any, str]] = {
    "global state, put back": (RestoresGlobalState, "agent-lanes"),
    "policy ignores masks": (given(Linear, policy=lambda obs, valid=None: (obs,)), "agent-masks"),
    "metric not saved": (after(ForgetsItsMetric, state_dict=_without("seen")), "agent-checkpoint"),
    "hundredths of the reward": (after(Linear, uncertainty=_hundredths), "uncertainty-values"),
    "lanes leak from step 500": (LeaksLate, "agent-lanes"),
    "tensors kept from step 300": (KeepsLate, "agent-buffers"),
    "relative to others": (after(Linear, uncertainty=_relative), "agent-pure"),
    "a warm-up that is no Steps": (WarmsUpTooLong, "agent-learns"),
}
"""Mistakes that authors make, and the check that names each."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_is_found_by_the_check_that_names_it(fault):
    kind, name = FAULTS[fault]
    subject = replace(agent(kind), long=600 if "from step" in fault else 100)
    (result,) = results([subject], only=name)
    assert result.status == "failed", str(result)


ELSEWHERE = """
from test_conformance import Linear

class Whole(Linear):
    pass

class Shares(Linear):
    kept = {}

    def state_dict(self):
        self.kept[self.t] = self.weights.clone()
        return {name: value for name, value in super().state_dict().items() if name != "weights"}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.weights = self.kept.get(state["t"], self.weights).clone()
"""


@pytest.mark.long
@pytest.mark.parametrize(("name", "status"), [("Whole", "passed"), ("Shares", "failed")])
def test_what_is_kept_in_a_class_is_missed_in_another_process(name, status, tmp_path, monkeypatch):
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    places = [str(tmp_path), str(Path(__file__).parent), str(Path(planted.__file__).parent)]
    monkeypatch.setattr(sys, "path", places + sys.path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    subject = replace(agent(Linear), factory=f"elsewhere:{name}")
    found = {r.check.id: r.status for r in results([subject])}
    assert (found["agent-checkpoint"], found["agent-new-process"]) == ("passed", status)


def test_an_episode_that_ends_once_is_enough_to_tell_truncation():
    class Rare(RotatingPixels):
        """One of its episodes ends."""

        def step(self, action):
            outcome = super().step(action)
            self.t = getattr(self, "t", 0) + 1
            return replace(outcome, terminated=torch.full_like(outcome.terminated, self.t == 31))

    for kind, status in ((Linear, "passed"), (StopsAtTruncation, "failed")):
        subject = replace(agent(kind), world=Rare)
        found = {r.check.id: r.status for r in results([subject], only="agent-truncation")}
        assert found == {"agent-truncation": status}


def test_an_expected_failure_needs_a_reason_and_is_strict():
    known = agent(AGENTS["agent-seeds"], expected_failures={"agent-seeds": "it has no randomness"})
    assert broken(known) == set()
    assert broken(agent(Linear, expected_failures={"agent-seeds": "none"})) == {"agent-seeds"}
    empty = agent(AGENTS["agent-seeds"], expected_failures={"agent-seeds": " "})
    assert broken(empty) == {"agent-seeds"}
    with pytest.raises(KeyError, match="agent-seeds"):
        results([agent(Linear, expected_failures={"agent-sseds": "a slip"})])


def test_what_waits_for_a_failure_is_one_line(capsys):
    results([agent(AGENTS["agent-forms"])], only="agent", show=_show)
    head, failed, rule, fix, waiting = capsys.readouterr().out.splitlines()
    assert "1 failed" in head
    assert "agent-forms: failed: the agent's policy with L = 1, M = 1 returned" in failed
    assert rule.startswith("    rule: `act` returns int64 [L, K]")
    assert fix.startswith("    fix: ")
    assert re.fullmatch(r"  blocked: \d\d checks until agent-forms passes", waiting)


class Raises(Linear):
    def act(self, obs, valid=None):
        if self.t == 30:
            raise KeyError("no such head")
        return super().act(obs, valid)


def test_an_exception_of_an_agent_is_reported_once_under_its_own_name():
    (failed,) = [result for result in results([agent(Raises)]) if result.status == "failed"]
    assert failed.check.id == "agent-runs"
    for said in ("KeyError", "no such head", "of act: raise KeyError"):
        assert said in failed.message


def test_a_part_of_a_name_chooses_checks_and_brings_those_they_build_on():
    for only in ("agent-pure", "Linear-agent-pure"):
        made = results([agent(Linear)], only=only)
        assert {r.check.id: r.status for r in made} == {"agent-pure": "passed"}


def test_an_agent_is_tried_where_its_steps_cost_least():
    catalog = read_suites(load_host(), check=())
    cost = {
        suite.name: suite.budget("smoke").step_ms
        for suite in catalog.suites.values()
        if any(method.agent == "ua-dqn" for method in suite.methods)
    }
    suite, *_ = _use(catalog, "agent", "ua-dqn")
    assert cost[suite.name] == min(cost.values()) < max(cost.values())


def test_an_agent_whose_config_has_no_defaults_is_tried_with_that_of_a_suite():
    (subject,) = subjects(load_host(), "uqbench:constant-action")
    assert isinstance(subject, AgentSubject)


def test_checks_are_named_and_explained():
    ids = [check.id for check in all_checks()]
    assert len(ids) == len(set(ids)) > 50
    for check in all_checks():
        assert check.level in LEVELS
        assert check.rule.endswith(".")
        assert check.fix.endswith(".")


def test_the_page_of_the_site_tells_each_check_once_in_full():
    root = Path(__file__).parents[3]
    page = runpy.run_path(str(root / "tools" / "conformance_page.py"))["page"]()
    for check in all_checks():
        assert page.count(f"### {check.id}\n\n{check.rule} ") == 1
        assert f"Tried: {check.tried}\n\nFix: {check.fix}\n" in page


CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"hidden": (16,), "learning_starts": 12, "batch_size": 8}
SMALL |= {"epsilon_initial": 0.0, "epsilon_final": 0.0}
GREEDY = DQNConfig(**SMALL)


def vectors(actors: int) -> EnvironmentInfo:
    """An environment whose observations have five numbers."""
    return EnvironmentInfo(spaces.Box(-1, 1, (5,)), 4, 0.9, 1_000, actors=actors)


class OneHead(BootstrappedDQN):
    """The first actor's head plays all episodes."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        self._head.copy_(self._head[:, :1].expand_as(self._head).clone())
        return super().act(obs, valid)


def subject(kind: Any, config: Any) -> AgentSubject:
    """An agent with one actor and with three."""
    told: dict[str, Any] = {"config": config, "takes_actors": True, "steps": 90}
    return AgentSubject(name=kind.__name__, factory=kind, **told)


class KnowsNothingOfTheStart(UBEDQN):
    """UBE-DQN whose initial uncertainty is not that of the first actor's first observation."""

    def _set_initial_uncertainty(self, obs: Tensor) -> None:
        self.head.output.bias.fill_(1.0)


UBE = UBEDQNConfig(hidden=(16,), horizon=3, beta=1.0, learning_starts=12, batch_size=8)


HEADS = BootstrappedDQNConfig(heads=5, **SMALL)


@pytest.mark.parametrize(
    ("kind", "config"), [(DQN, GREEDY), (BootstrappedDQN, HEADS), (KnowsNothingOfTheStart, UBE)]
)
def test_an_agent_of_the_papers_passes_with_three_actors(kind, config):
    agent = subject(kind, config)
    with_actors(agent)
    mixes(agent)
    learned = [m["loss"].isfinite().all() for m in agent.several.baseline.metrics]
    assert sum(map(bool, learned)) > 10  # not of an agent that only acts


class CrossedReturns(DQN):
    """Returns of two steps, taken from one queue of all actors' steps."""

    def observe(self, step: Step) -> None:
        super().observe(replace(step, reward=step.reward + 0.9 * step.reward.roll(-1, 1)))


MIXED = [
    (OneHead, HEADS, "the others' next actions differ"),
    (CrossedReturns, GREEDY, "n-step returns cross actors"),
]


@pytest.mark.parametrize(("kind", "config", "said"), MIXED)
def test_an_agent_whose_actors_share_a_head_or_returns_is_found(kind, config, said):
    with pytest.raises(Failed, match=said):
        mixes(subject(kind, config))


class CrossedWindows(Windows):
    """Actors change places at every other step."""

    def add(self, k: Tensor, trunk: Tensor, action: Tensor, local: Tensor, **rest: Tensor) -> None:
        super().add(k, trunk, action, local.flip(0) if k % 2 else local, **rest)


def targets_by_actor(windows: type[Windows]) -> list[list[float]]:
    """Targets of two actors whose local uncertainties are 1 and 100, over windows of 4 steps."""
    found: list[list[float]] = [[], []]

    class Noted(UBEDQN):
        def learn_uncertainty(self, trunk: Any, action: Any, target: Tensor, ready: Any) -> Tensor:
            for actor in range(2):
                if ready[0, actor]:
                    found[actor].append(target[0, actor].item())
            return torch.zeros_like(target)

    info = vectors(2)
    config = UBEDQNConfig(hidden=(8,), horizon=4, batch_size=4, initial_uncertainty=0.01)
    agent = Noted(info, [3], config, CPU)
    agent.windows = windows(2, agent.online.widths[0], 4, info.discount, CPU)
    agent.counts.update = lambda features, action: torch.tensor([[1.0, 100.0]])  # type: ignore[method-assign]
    for step in transitions([3], (5,), 4, 40, actors=2):
        agent.observe(replace(step, action=agent.act(step.obs)))
    return found


def test_windows_of_n_steps_never_cross_two_actors():
    first, second = targets_by_actor(Windows)
    assert first
    assert second
    assert max(first) < 10
    assert min(second) >= 100
    crossed, _ = targets_by_actor(CrossedWindows)
    assert max(crossed) >= 100


@pytest.mark.parametrize("learn_period", [1, 2, 3, 5, 6, 7])
def test_gradient_steps_count_environment_steps_of_all_actors(learn_period):
    class Counting(DQN):
        learned: list[int]

        def learn(self, index: Tensor) -> Tensor:
            for lane in index:
                assert len(lane.unique()) == len(lane)
                assert lane.max() < self.clock.t + self.clock.actors
            self.learned.append(self.clock.t)
            return super().learn(index)

    config = replace(GREEDY, learn_period=learn_period, target_sync_period=9)
    taken = []
    for actors in (1, 3):
        agent = Counting(vectors(actors), [3, 5], config, CPU)
        agent.learned = []
        for step in transitions([3, 5], (5,), 4, 90, actors=actors):
            agent.observe(step)
        taken.append([t // 3 for t in agent.learned])
    assert taken[0] == taken[1]
    assert len(taken[0]) == config.gradient_steps(90)


def test_a_budget_with_actors_is_another_run_and_one_without_is_the_same():
    host = Host.load()
    suite = read_suites(host, check=("minatar",)).suites["minatar"]

    def planned(actors: int, method: str = "dqn", steps: int | None = None) -> Any:
        budget = suite.budgets["smoke"].model_copy(update={"actors": actors})
        other = suite.model_copy(update={"budgets": {**suite.budgets, "smoke": budget}})
        return make_plan(other, host, "smoke", device="cpu", methods=[method], steps=steps)

    one, four = (planned(actors).cells[0].runs[0] for actors in (1, 4))
    assert "actors" not in one.identity["budget"]
    assert four.identity["budget"]["actors"] == 4
    assert one.actor_seed(0) == one.environment_seed
    assert len({one.actor_seed(actor) for actor in range(100)}) == 100
    with pytest.raises(UqbenchError, match="expected a multiple of 4, got 10 steps"):
        planned(4, steps=10)
    suite = read_suites(host, check=("deepsea",)).suites["deepsea"]
    with pytest.raises(UqbenchError, match=r"has 4 actors a run, and .* learns from one"):
        planned(4, "bql")


DEEP = [
    *(f"uqbench-dqn:{name}" for name in ("dqn", "qr-dqn", "c51", "vdqn", "bootstrapped-dqn")),
    *("uqbench-uadqn:ua-dqn", "uqbench-ube:ube-dqn", "uqbench-ube:dqn-intrinsic"),
    *("uqbench-posteriors:ids-qr-dqn", "uqbench-posteriors:bdqn"),
    *("uqbench-sentinel:sentinel-k", "uqbench-quam:quam-dqn"),
]


@pytest.mark.parametrize("name", DEEP)
def test_with_actors_agents_need_no_wait_and_stay_on_a_device_that_has_no_data(name):
    """As on a GPU: tensors of torch's fake device, on which reading a number is an error."""
    (subject,) = subjects(Host.load(), name)
    assert isinstance(subject, AgentSubject)
    assert subject.takes_actors
    assert elsewhere(subject.several) is None


@pytest.mark.parametrize("horizon", [1, 4])
def test_captured_steps_with_actors_end_in_the_state_of_those_from_python(horizon):
    small: dict[str, Any] = {"hidden": (8,), "channels": 4, "batch_size": 4}
    config = UBEDQNConfig(horizon=horizon, learning_starts=12, **small)
    agents = [UBEDQN(RotatingPixels.info(actors=3), [1, 2], config, CPU) for _ in range(2)]
    for agent, capture in zip(agents, (None, simulated), strict=True):
        list(train(agent, RotatingPixels(6), 90, capture, 3))
    plain, captured = (agent.state_dict() for agent in agents)
    assert difference(plain, captured, "state") is None
