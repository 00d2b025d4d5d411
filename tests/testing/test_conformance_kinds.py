"""What new plugins are made of passes every check; a mutant of it is rejected by one alone."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from uqbench.environment import GymnasiumLanes, OptimalQ, TimeLimit
from uqbench.estimator import Data
from uqbench.scoring.claims.location import Value, location
from uqbench.templates.render import KINDS, render
from uqbench.testing.conformance.check import Subject, checks_for
from uqbench.testing.conformance.claims import ClaimSubject
from uqbench.testing.conformance.environment_runs import EnvironmentSubject
from uqbench.testing.conformance.estimators import DatasetSubject, EstimatorSubject
from uqbench.testing.conformance.loop_agents import LoopAgentSubject
from uqbench.testing.conformance.packages import PackageSubject
from uqbench.testing.conformance.risks import RiskSubject
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")
LIMIT = TimeLimit(20, "truncation")


def _modules() -> dict[str, Any]:
    made = {}
    for path, text in render("new", KINDS).items():
        kind = path.rpartition("/")[2].removesuffix(".py")
        if path.startswith("src/new/") and kind.replace("_", "-") in KINDS:
            module = types.ModuleType(f"rendered_{kind}")
            sys.modules[module.__name__] = module  # dataclasses look up their module
            exec(compile(text, path, "exec"), module.__dict__)
            made[kind] = module
    return made


NEW = _modules()
Walk, WalkConfig = NEW["environment"].Walk, NEW["environment"].WalkConfig
WalkLanes, WalkLanesConfig = (
    NEW["lane_environment"].WalkLanes,
    NEW["lane_environment"].WalkLanesConfig,
)
Line, LineConfig = NEW["dataset"].Line, NEW["dataset"].LineConfig
Bayes, BayesConfig = NEW["estimator"].BayesianLine, NEW["estimator"].BayesianLineConfig
SoftWorst, Above = NEW["risk"].SoftWorst, NEW["claim_kind"].Above
Loop, LoopConfig = NEW["loop_agent"].Loop, NEW["loop_agent"].LoopConfig


def single(kind: Any = Walk, **more: Any) -> EnvironmentSubject:
    def make() -> gymnasium.Env[Any, Any]:
        env: gymnasium.Env[Any, Any] = kind(WalkConfig())
        return env

    return EnvironmentSubject(
        name="walk",
        make=lambda seeds, limit: GymnasiumLanes(make, seeds, limit, ("bumps",)),
        single=make,
        events=("bumps",),
        limit=LIMIT,
        discount=0.9,
        **more,
    )


def lanes(kind: Any = WalkLanes, **more: Any) -> EnvironmentSubject:
    return EnvironmentSubject(
        name="lanes",
        make=lambda seeds, limit: kind(WalkLanesConfig(), list(seeds), limit, CPU),
        events=("bumps",),
        limit=LIMIT,
        discount=0.9,
        **more,
    )


def optimal_q(off: float = 0.0) -> OptimalQ:
    """Of the walk with five places, a slip of 0.1 and γ = 0.9, by value iteration."""
    q = np.zeros((5, 2))
    for _ in range(500):
        best = q.max(1)
        best[4] = 0.0
        for at in range(4):
            on, back = min(at + 1, 4), max(at - 1, 0)
            worth = [-0.05 + (to == 4) + 0.9 * best[to] for to in (back, on)]
            q[at] = [0.9 * worth[0] + 0.1 * worth[1], 0.1 * worth[0] + 0.9 * worth[1]]
    values = torch.from_numpy(q[:4] + off)
    return OptimalQ(torch.eye(5)[:4], values)


def estimator(kind: Any = Bayes) -> EstimatorSubject:
    def make(dataset: Any, seeds: Any) -> Any:
        return kind(dataset, list(seeds), BayesConfig(), CPU)

    return EstimatorSubject(name="bayes", make=make, dataset=Line(LineConfig()))


def dataset(kind: Any = Line) -> DatasetSubject:
    return DatasetSubject(name="line", dataset=kind(LineConfig()), scores=("squared_error",))


def risk(kind: Any = SoftWorst) -> RiskSubject:
    return RiskSubject(name="worst", measure=kind(), neutral=kind(0.0))


def claim(kind: Any = Above) -> ClaimSubject:
    made = kind(metric="return", method="random", least=0.0)
    return ClaimSubject(name="above", claim=made)


def loop(kind: Any = Loop) -> LoopAgentSubject:
    return LoopAgentSubject(
        name="loop",
        make=lambda: kind(RotatingPixels.info(), LoopConfig()),
        world=lambda: RotatingPixels(1),
    )


def package(**changes: Any) -> PackageSubject:
    own = {"name": "new", "module": "json", "distribution": "uqbench"}
    return PackageSubject(**own | {"names": [("agent", "walker", "walks")]} | changes)


def broken(subject: Subject) -> set[str]:
    return {r.check.id for r in subject.results() if r.status == "failed"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: single(optimal_q=optimal_q, optimal_return=lambda: 0.8),
        lanes, estimator, dataset, risk, pytest.param(claim, marks=pytest.mark.long), loop,
    ],
    ids=["environment", "lane-environment", "estimator", "dataset", "risk", "claim-kind", "loop"],
)  # fmt: skip
def test_what_new_plugins_are_made_of_passes_every_check(make):
    results = make().results()
    assert [str(r) for r in results if not r.ok] == []
    assert sum(r.status == "passed" for r in results) >= 2


class BadSpace(Walk):
    def _seen(self):
        return super()._seen() * 2


class Drifts(WalkLanes):
    count = 0

    def step(self, action):
        outcome = super().step(action)
        Drifts.count += 1
        return replace(outcome, reward=outcome.reward + 1e-3 * Drifts.count)


class Globally(WalkLanes):
    def step(self, action):
        torch.rand(1)
        return super().step(action)


class Bools(WalkLanes):
    def step(self, action):
        outcome = super().step(action)
        return replace(outcome, terminated=outcome.terminated.float())


class Mixes(WalkLanes):
    def step(self, action):
        outcome = super().step(action)
        return replace(outcome, reward=outcome.reward + len(action))


class Negative(WalkLanes):
    def step(self, action):
        outcome = super().step(action)
        return replace(outcome, events={"bumps": -outcome.events["bumps"]})


class NoAction(WalkLanes):
    def step(self, action):
        outcome = super().step(action)
        valid = torch.ones(len(action), 2)
        return replace(outcome, valid=valid.bool(), next_valid=valid.bool())


class NeverEnds(WalkLanes):
    def __init__(self, config, seeds, time_limit, device):
        super().__init__(config, seeds, None, device)


class Forgets(WalkLanes):
    def load_state_dict(self, state):
        super().load_state_dict(state | {"t": 0})


class Negates(Bayes):
    def predict(self, inputs):
        found = super().predict(inputs)
        return replace(found, total=found.total + 1)


class Shapes(Bayes):
    def predict(self, inputs):
        found = super().predict(inputs)
        return replace(found, total=found.total[0])


class Noisy(Bayes):
    calls = 0

    def predict(self, inputs):
        found = super().predict(inputs)
        self.calls += 1
        return replace(found, epistemic=found.epistemic + self.calls,
                       total=found.total + self.calls)  # fmt: skip


class Pools(Bayes):
    def fit(self, data, reference_model, steps):
        super().fit(data, reference_model, steps)
        self.covariance = self.covariance * len(self.weights)


class Classes(Line):
    def data(self, seeds):
        found = super().data(seeds)
        return Data(found.inputs, found.targets.double())


class Shared(Line):
    def data(self, seeds):
        found = super().data(seeds)
        return Data(found.inputs + len(seeds), found.targets)


class Undeclared(Line):
    def score(self, seeds, predict):
        return {"error": super().score(seeds, predict)["squared_error"]}


class LastOnly(SoftWorst):
    def __call__(self, values, probabilities, dim=-1):
        return super().__call__(values, probabilities, -1)


class Unnormalized(SoftWorst):
    def __call__(self, values, probabilities, dim=-1):
        mean = (probabilities * values).sum(dim)
        return (1 - self.weight) * mean + self.weight * values.amin(dim)

    def of_quantiles(self, quantiles, dim=-1):
        return self(quantiles, torch.ones_like(quantiles), dim)


class FirstMatters(SoftWorst):
    def __call__(self, values, probabilities, dim=-1):
        return super().__call__(values, probabilities, dim) + self.weight * values.select(dim, 0)


class OtherSorted(SoftWorst):
    def of_sorted(self, values, probabilities):
        return self(values, probabilities) + 1


class NotNeutral(SoftWorst):
    def __call__(self, values, probabilities, dim=-1):
        return super().__call__(values, probabilities, dim) - 1


class SaysCoherent(SoftWorst):
    coherent = True

    def __call__(self, values, probabilities, dim=-1):
        found = super().__call__(values, probabilities, dim)
        return found - self.weight * values.var(dim, correction=0)


class NoGradient(SoftWorst):
    def __call__(self, values, probabilities, dim=-1):
        found = super().__call__(values, probabilities, dim)
        return found - self.weight * values.var(dim, correction=0).sqrt()


class Narrow(Above):
    def compare(self, observations):
        evidence = super().compare(observations)
        one = evidence.comparisons[0]
        values = observations.values(self.method)
        twice = np.concatenate([values] * 4)
        return replace(evidence, comparisons=(
            replace(one, measured=Value(location(twice, "mean"))),))  # fmt: skip


class Empty(Above):
    def compare(self, observations):
        return replace(super().compare(observations), comparisons=())


class Stops(Loop):
    def train(self, env, total_steps, seed):
        super().train(env, total_steps - 1, seed)


class TooHigh(Loop):
    def policy(self, obs):
        return 4 if obs.any() and self.counts.sum() > 203 else super().policy(obs)


class Clock(Loop):
    count = 0

    def train(self, env, total_steps, seed):
        Clock.count += 1
        super().train(env, total_steps, seed + Clock.count)


class OneSeed(Loop):
    def train(self, env, total_steps, seed):
        super().train(env, total_steps, 0)


def off() -> OptimalQ:
    return optimal_q(0.1)


MUTANTS = {
    "environment-gymnasium": lambda: single(BadSpace),
    "environment-forms": lambda: lanes(Bools),
    "environment-global-state": lambda: lanes(Globally),
    "environment-seeds": lambda: lanes(Drifts),
    "environment-lanes": lambda: lanes(Mixes),
    "environment-events": lambda: lanes(Negative),
    "environment-masks": lambda: lanes(NoAction),
    "environment-limit": lambda: lanes(NeverEnds),
    "environment-state": lambda: lanes(Forgets),
    "environment-optimal-q": lambda: single(optimal_q=off),
    "environment-optimal-return": lambda: single(optimal_return=lambda: -0.9),
    "estimator-forms": lambda: estimator(Shapes),
    "estimator-sum": lambda: estimator(Negates),
    "estimator-pure": lambda: estimator(Noisy),
    "estimator-lanes": lambda: estimator(Pools),
    "dataset-forms": lambda: dataset(Classes),
    "dataset-seeds": lambda: dataset(Shared),
    "dataset-scores": lambda: dataset(Undeclared),
    "risk-forms": lambda: risk(LastOnly),
    "risk-weights": lambda: risk(Unnormalized),
    "risk-order": lambda: risk(FirstMatters),
    "risk-shortcuts": lambda: risk(OtherSorted),
    "risk-neutral": lambda: risk(NotNeutral),
    "risk-coherent": lambda: risk(SaysCoherent),
    "risk-gradients": lambda: risk(NoGradient),
    "claim-compares": lambda: claim(Empty),
    "claim-intervals": lambda: claim(Narrow),
    "loop-agent-trains": lambda: loop(Stops),
    "loop-agent-policy": lambda: loop(TooHigh),
    "loop-agent-repeats": lambda: loop(Clock),
    "loop-agent-seeds": lambda: loop(OneSeed),
    "package-loads": lambda: package(failure="it raised"),
    "package-names": lambda: package(names=[("agent", "Bad Name!", "walks")]),
    "package-suites": lambda: package(problems=["there is no suite 'minatr'"]),
}


QUICK = [name for name in MUTANTS if name != "claim-intervals"]


@pytest.mark.parametrize("check", QUICK)
def test_a_mutant_is_rejected(check):
    subject = MUTANTS[check]()
    assert [subject.result(c).status for c in checks_for(subject) if c.id == check] == ["failed"]


@pytest.mark.long
@pytest.mark.parametrize("check", MUTANTS)
def test_a_mutant_is_rejected_by_one_check_alone(check):
    assert broken(MUTANTS[check]()) == {check}
