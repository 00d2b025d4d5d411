"""The claim kind ``trend``: verdicts on planted scores, and what it refuses."""

import numpy as np
import pytest
from uqbench_claims.decision import find
from uqbench_claims.verdict import Verdict, verdict
from uqbench_sentinel.trend import Trend

from uqbench.claim import CannotCompareError, Observations

METHODS = ("a", "b", "c")
GROWS = {"metric": "m", "direction": "increasing"}


def observed(values, **settings):
    """Observations of ``{method: [runs, tasks]}``; settings by method, and lengths by task."""
    tasks = tuple(f"task-{t}" for t in range(next(iter(values.values())).shape[1]))
    cells = {(m, task): v[:, i] for m, v in values.items() for i, task in enumerate(tasks)}
    sizes = {m: {"size": i, "same": 3, "word": "x"} for i, m in enumerate(values)}
    own = {(m, task): sizes[m] | settings.get(m, {}) for m, task in cells}
    lengths = {task: {"length": i} for i, task in enumerate(tasks)}
    of = {"configs": own, "task_configs": lengths, "normalize": {}}
    return Observations(direction="max", tasks=tasks, raw=cells, **of)


def found(kind, observations):
    evidence = kind.compare(observations)
    return verdict(evidence, find(evidence, intervals=True)), len(evidence.comparisons)


def spread(step, tasks=2, runs=10):
    """Methods ``step`` apart, runs that differ by less."""
    noise = np.random.default_rng(3).normal(size=(3, runs, tasks)) * 0.1
    return {m: i * step + noise[i] for i, m in enumerate(METHODS)}


def test_each_value_is_compared_with_the_next():
    grows = Trend(methods=METHODS, setting="size", **GROWS)
    falls = Trend(methods=METHODS, setting="size", **GROWS | {"direction": "decreasing"})
    assert found(grows, observed(spread(1.0))) == (Verdict.HOLDS, 2)
    assert found(falls, observed(spread(1.0))) == (Verdict.DOES_NOT_HOLD, 2)
    assert found(falls, observed(spread(-1.0))) == (Verdict.HOLDS, 2)
    assert found(grows, observed(spread(0.0)))[0] is Verdict.OPEN
    stays = spread(1.0) | {"c": spread(1.0)["b"]}
    assert found(grows, observed(stays))[0] is Verdict.OPEN


def test_values_have_the_claims_own_order():
    wrong = Trend(methods=METHODS, values=(1.0, 3.0, 2.0), **GROWS)
    right = Trend(methods=("b", "a", "c"), values=(2.0, 1.0, 3.0), **GROWS)
    assert found(wrong, observed(spread(1.0)))[0] is Verdict.DOES_NOT_HOLD
    assert found(right, observed(spread(1.0))) == (Verdict.HOLDS, 2)


def test_points_may_be_tasks():
    along = Trend(methods=("a",), along="tasks", setting="length", **GROWS)
    values = np.arange(3) + np.random.default_rng(4).normal(size=(12, 3)) * 0.1
    assert found(along, observed({"a": values})) == (Verdict.HOLDS, 2)
    assert found(along, observed({"a": values[:, ::-1]})) == (Verdict.DOES_NOT_HOLD, 2)


NO_NUMBERS = [
    ("sise", {}, "a has no setting 'sise'. Did you mean 'size'"),
    ("word", {}, "word of a is no number: 'x'"),
    ("same", {}, "all methods have the same same"),
]


@pytest.mark.parametrize(("setting", "own", "said"), NO_NUMBERS)
def test_a_setting_that_is_no_number_of_each_is_told(setting, own, said):
    kind = Trend(methods=METHODS, setting=setting, **GROWS)
    with pytest.raises(CannotCompareError, match=said):
        kind.compare(observed(spread(1.0), **own))


def test_a_setting_that_differs_by_task_is_told():
    observations = observed(spread(1.0))
    observations.configs["b", "task-1"]["size"] = 7
    observations.configs["b", "task-0"] = dict(observations.configs["b", "task-0"]) | {"size": 1}
    with pytest.raises(CannotCompareError, match="b has another size on some of the tasks"):
        Trend(methods=METHODS, setting="size", **GROWS).compare(observations)


REFUSED = [
    ({"methods": ("a",), "setting": "x"}, "two points or more"),
    ({"values": (1.0,)}, "one for each of the methods"),
    ({"values": (1.0, 1.0, 1.0)}, "two that differ"),
    ({}, "either 'setting' or 'values'"),
    ({"setting": "x", "threshold": 1.0}, r"a number in \(0, 1\)"),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_a_claim_that_cannot_be_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        Trend(**{"methods": METHODS, **GROWS} | changes)


def test_a_claim_that_no_runs_of_a_budget_could_decide_is_told():
    kind = Trend(methods=METHODS, values=(1, 2, 3), **GROWS)
    with pytest.raises(ValueError, match="can never decide it"):
        kind.check_seeds(4, ["t0"], paired="")
