"""Rules of every suite that scores widths against exact posteriors.

A column is for methods only where exact Bayes closes half of what its best control leaves, and has
twice what the control has: in some columns it is perfect by definition. No column rises where a
statement's means get worse or where it says two things, and whatever may be stated has scores.

Controls state exact Bayes's own means, with widths that know nothing of a pair: zero, the best
constant, a part of it common to all pairs, its own in another order, where that is another
statement. Their sizes are the same in all tasks; where a column sizes what is stated, each task has
its best. What is scored, and what a perfect score is, the suites say: every column with a range, or
that is proper. A column that no width changes is about means.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest
import torch
from torch import Tensor
from uqbench_dqn import sizes
from uqbench_tabular.environments import posterior_scores

from uqbench.agent import Uncertainty
from uqbench.registry import Host
from uqbench.runner import make_batch_groups
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.suites import make_plan, read_suites
from uqbench.testing.same_bits import train
from uqbench.uncertainty.query_scores import score_queries

CPU, SEED, WORLDS, HALF = torch.device("cpu"), 3_000, 10, 0.5
"""Seeds that no board has."""
FACTORS = [10 ** (k / 8) for k in range(-8, 9)]
COMMON, PAIRS = (0.5, 0.9), 64
"""Shares of a constant's variance that are common to all pairs; of so many, samples are exact."""
SHOWN = {"offline-values": 2_400, "noise-and-ignorance": 600, "features": 432, "profile": 2_000}
"""Steps after which all data are shown."""
TASKS = [
    ("features", "exact-posterior", "linear"),
    ("features", "exact-posterior", "ring"),
    ("offline-values", "exact-posterior", "expert"),
    ("noise-and-ignorance", "exact-posterior", "g9-s05-n4"),
    ("noise-and-ignorance", "exact-posterior", "g9-s05-n64"),
    ("noise-and-ignorance", "exact-posterior", "g9-s2-n4"),
    ("noise-and-ignorance", "exact-posterior", "g9-s2-n64"),
    ("profile", "oracle", "bandit-table"),
]
SAMPLED = ("features", "offline-values")
"""Suites whose exact Bayes states samples, too."""


@pytest.fixture(autouse=True)
def as_stated(monkeypatch):
    """Scores of what is stated alone, forty times as fast."""
    for module in (sizes, posterior_scores):
        monkeypatch.setattr(module, "SIZES", [])


class Taught:
    """What exact Bayes states after all data, and the scores of it and of other statements."""

    def __init__(self, suite: str, row: str, task: str) -> None:
        host = Host.load()
        self.suite = read_suites(host, check=()).suite(suite)
        seeds, of = range(SEED, SEED + WORLDS), {"methods": [row], "tasks": [task]}
        budget = next(b for b in ("paper", "quick") if task in
                      [t.name for t in self.suite.tasks_of(self.suite.budgets[b])])  # fmt: skip
        plan = make_plan(self.suite, host, budget, seeds=seeds, device="cpu", **of)
        ((batch,),) = make_batch_groups(plan, plan.runs, "cpu", lanes=WORLDS)
        made = TaskEnvironment(batch, host, CPU)
        env, scorer = made.lanes(made.training_seeds), made.query_scorer()
        agent = self.agent = make_agent(batch, host, env, CPU)
        deque(train(agent, env, SHOWN[suite]), maxlen=0)
        self.source, self.task = scorer.source, self.suite.task(task)
        self.stated = agent.uncertainty(self.source.obs(agent, 0))
        self.truth = self.source.truth(agent, 0)
        self.known = self.scores(self.stated)

    def scores(self, stated: Uncertainty) -> Mapping[str, float]:
        """Means over worlds, the harness's two by CRPS too."""
        own = self.source.own_scores(self.agent, stated)
        found = {name: float(x.mean()) for name, x in own.items()}
        each = score_queries(stated, self.truth, self.source.climatology)
        for name in ("proper", "information"):
            found[name] = sum(one.scores[name] for one in each) / len(each)
        return found

    def columns(self, known: Mapping[str, float]) -> dict[str, str]:
        """Which way is better, of each score whose column has a range or is proper."""
        return {name: metric.direction for metric in self.suite.metrics
                if metric.kind == "queries" and metric.suits(self.task)
                and (name := named(metric)) in known
                and (metric.lowest is not None or metric.proper or name in SKILLS)}  # fmt: skip

    def sized(self) -> set[str]:
        """Columns that have statements at their best size in each task."""
        every = [one for one in self.suite.metrics if one.kind == "queries"]
        return {named(metric) for metric in every if named(metric) != metric.statistic[8:]}

    def controls(self, unit: float) -> dict[tuple[str, float], Mapping[str, float]]:
        """Scores by form and size."""
        var = self.stated.epistemic_var
        alone = replace(self.stated, value_samples=None)
        order = torch.randperm(var[0].numel(), generator=torch.Generator().manual_seed(0))
        found = {("shuffled", 1.0): replace(alone, epistemic_var=shuffled(var, order))}
        if torch.allclose(shuffled(var, order), var):  # no other statement
            found.clear()
        for size in (0.0, *FACTORS):
            width = torch.full_like(var, (unit * size) ** 2)
            found["constant", size] = replace(alone, epistemic_var=width)
        for share in COMMON if var[0].numel() <= PAIRS else ():
            for size in FACTORS[::2]:
                found[f"{share} common", size] = shared(self.stated, unit * size, share)
        return {name: self.scores(one) for name, one in found.items()}


def named(metric) -> str:
    return metric.statistic.removeprefix("queries/").removeprefix("sized/")


def shared(stated: Uncertainty, width: float, share: float) -> Uncertainty:
    """One width for all pairs, a share of its variance common to them, in exact samples."""
    pairs = stated.mean[0].numel()
    signs = torch.eye(pairs + 1).double()
    common = torch.full((pairs, 1), width * math.sqrt(share)).double()
    root = torch.cat([width * math.sqrt(1 - share) * torch.eye(pairs).double(), common], 1)
    away = math.sqrt((2 * pairs + 1) / 2) * root @ torch.cat([signs, -signs], 1)
    samples = stated.mean.double()[..., None] + away.unflatten(0, stated.mean.shape[1:])
    var = torch.full_like(stated.mean.double(), width**2)
    return replace(stated, epistemic_var=var, value_samples=samples)


taught_of = cache(Taught)


@cache
def scored(suite: str) -> tuple[list[Taught], list[dict[tuple[str, float], Mapping[str, float]]]]:
    """Exact Bayes of each task, and the scores of its controls."""
    every = [taught_of(*one) for one in TASKS if one[0] == suite]
    unit = float(every[0].stated.epistemic_var.double().sqrt().mean())
    return every, [taught.controls(unit) for taught in every]


def shuffled(var: Tensor, order: Tensor) -> Tensor:
    return var.flatten(1)[:, order].view_as(var)


SKILLS = ("proper", "information")


def closed(suite: str, extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, float]:
    """The share that is exact Bayes's own, by column about widths.

    Of what its best control leaves of a perfect score, and of its own score: the lesser. A score
    is 1 at best, or less where that is better, and 0 where nothing is known.

    Args:
        suite: whose tasks are meant together.
        extra: names of scores that are no columns, with ``max`` for those that are better above.
    """
    every, others = scored(suite)
    found, own, known = {}, [taught.known for taught in every], every[0]
    for name, better in {**known.columns(known.known), **extra}.items():
        sign, perfect = (1, 1.0) if better == "max" else (-1, 0.0)
        values = {one: [sign * of[one][name] for of in others] for one in others[0]}
        exact = sum(sign * of[name] for of in own) / len(own)
        if max(abs(x - sign * of[name]) for v in values.values()
               for x, of in zip(v, own, strict=True)) < 1e-9:  # fmt: skip
            continue
        best = max(sum(v) / len(v) for v in values.values())
        if name in known.sized() or name in extra:
            for form in {form for form, _ in values}:
                tried = zip(*(v for one, v in values.items() if one[0] == form), strict=True)
                best = max(best, sum(max(v) for v in tried) / len(own))
        nothing = sum(values["constant", 0.0]) / len(own) if better == "min" else 0.0
        worth = exact - best
        found[name] = min(worth / (perfect - best), worth / (exact - nothing))
    return found


@pytest.mark.parametrize("suite", dict.fromkeys(suite for suite, *_ in TASKS))
def test_exact_bayes_closes_half_of_what_the_best_control_leaves_in_every_column(suite):
    found = closed(suite)
    assert found
    assert {name: share for name, share in found.items() if share < HALF} == {}


def test_what_the_suites_dropped_does_not_pass():
    """Against one true value a constant is worth as much, and jointly two numbers of a task are."""
    found = closed("offline-values", dict.fromkeys(SKILLS, "max"))
    assert max(found[name] for name in SKILLS) < HALF
    assert closed("noise-and-ignorance", {"joint_kl_10": "min"})["joint_kl_10"] < HALF


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).double()


def moved(stated: Uncertainty, by: float | Tensor, width: float | Tensor) -> Uncertainty:
    """Other means, and one standard deviation of all pairs, or of each."""
    mean = stated.mean.double()
    var = torch.as_tensor(width).double().square().expand(mean.shape)
    return Uncertainty(mean=mean + by, epistemic_var=var)


def together(stated: Uncertainty, by: float) -> Uncertainty:
    """Means off by a number, and samples that are so, too: all values rise and fall together."""
    common, each = drawn(64), drawn(*stated.mean.shape, 64)
    samples = stated.mean.double()[..., None] + by + max(by, 1.0) * common + 0.5 * each
    return Uncertainty(mean=samples.mean(-1), epistemic_var=samples.var(-1), value_samples=samples)


@pytest.mark.parametrize("one", TASKS, ids="/".join)
def test_no_column_rises_where_means_get_worse(one):
    """By errors that widths admit: a bet's lower bound stays, and so does what is told of pairs.

    At the best of many sizes. A constant width is compared with itself; .1 is what the widths of
    errors, which are random, have by chance.
    """
    taught = taught_of(*one)
    error = 3 * drawn(*taught.stated.mean.shape).abs()

    def best(of: Uncertainty) -> dict[str, float]:
        tried = [taught.scores(sizes._times(of, size)) for size in FACTORS[::4]]
        better = taught.columns(tried[0])
        sign = {name: 1 if way == "max" else -1 for name, way in better.items()}
        return {name: max(sign[name] * found[name] for found in tried) for name in better}

    for honest, spoilt in (
        (moved(taught.stated, 0.0, 1.0), moved(taught.stated, error, 0.5 + error / 0.8)),
        (together(taught.stated, 0.0), together(taught.stated, 1_000.0)),
    ):
        own, worse = best(honest), best(spoilt)
        assert {name: x for name, x in worse.items() if x > own[name] + 0.1} == {}


@pytest.mark.parametrize("one", [one for one in TASKS if one[0] in SAMPLED], ids="/".join)
def test_samples_of_another_size_than_the_variances_change_no_score(one):
    """Who states both says one thing: samples tell how values depend, variances their widths."""
    taught = taught_of(*one)
    middle = taught.stated.mean[..., None]
    wide = replace(taught.stated, value_samples=middle + 9 * (taught.stated.value_samples - middle))
    assert taught.scores(wide) == pytest.approx(taught.known, abs=1e-4)


@pytest.mark.parametrize("one", TASKS, ids="/".join)
@pytest.mark.parametrize("width", [0.0, 1e-9, 1e9, math.inf])
def test_whatever_width_may_be_stated_has_scores(one, width):
    taught = taught_of(*one)
    var = torch.full_like(taught.stated.epistemic_var, width**2)
    found = taught.scores(replace(taught.stated, epistemic_var=var, value_samples=None))
    names = taught.columns(taught.known).keys()
    assert names <= found.keys()
    assert [name for name in names if not math.isfinite(found[name])] == []
