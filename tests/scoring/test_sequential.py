"""Looks at growing numbers of seeds: who gets more, what stays decided, how often it is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from uqbench.registry.plugins import Host
from uqbench.scoring.claims.verdict import Verdict
from uqbench.scoring.scores import Score
from uqbench.scoring.sequential import Sequential, looks
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

MEANS = {"dqn": 0.0, "qr-dqn": 5.0, "bootstrapped-dqn": 0.1, "c51": 9.0}


def test_seeds_are_doubled_up_to_the_most():
    assert looks(40) == (5, 10, 20, 40)
    assert looks(30) == (5, 10, 20, 30)
    assert looks(5) == (5,)
    assert looks(4) == (4,)
    with pytest.raises(ValueError, match="2 seeds decide nothing"):
        looks(2)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """One game; no claims but those that a test adds."""
    host = Host.load()
    suite = read_suites(host, check=()).suite("minatar")
    made = make_plan(
        suite, host, "cpu", device="cpu", methods=[*MEANS], tasks=["breakout"], seeds=range(40)
    )
    return replace(made, claims=())


def matrices(seeds: int, names=MEANS) -> dict[str, np.ndarray]:
    """Scores with spread 1, the same for a seed at every look."""
    drawn = np.random.default_rng(0).normal(size=(len(MEANS), 40, 1))
    return {name: MEANS[name] + drawn[i, :seeds] for i, name in enumerate(MEANS) if name in names}


def test_only_methods_of_open_pairs_get_more_seeds_and_decisions_stay(plan):
    found = Sequential(looks(40))
    found.compare(matrices(5), "mean", paired=False)
    assert found.open_methods(plan) == ["dqn", "bootstrapped-dqn"]
    assert len(found.decided_at) == 5
    assert set(found.decided_at.values()) == {5}
    decided = {name: found.pairs[name] for name in found.decided_at}
    found.compare(matrices(10, ["dqn", "bootstrapped-dqn"]), "mean", paired=False)
    assert found.open_methods(plan) == ["dqn", "bootstrapped-dqn"]
    assert {name: found.pairs[name] for name in decided} == decided
    # the one open pair is its own family; its p-value is paid for with the number of looks
    (open_pair,) = found.pairs.keys() - decided.keys()
    pair = found.pairs[open_pair]
    assert pair.adjusted == pytest.approx(min(1.0, 4 * pair.p))


def claims_of(plan: Plan) -> Plan:
    """With two claims: one is plain, the other is about methods that hardly differ."""
    suite = plan.suite
    claim, kind = next(
        (c, k) for c, k in make_all(plan) if c.kind == "order" and "qr-dqn" in k.named_methods
    )
    claim = claim.model_copy(update={"budgets": ("cpu",), "readings": ()})
    shared = {"metric": "online_return", "tasks": ("breakout",)}
    plain = replace(kind, **shared, methods=("c51", "dqn"))
    hard = replace(kind, **shared, methods=("bootstrapped-dqn", "dqn"))
    named = [(claim.model_copy(update={"id": name}), k) for name, k in (("a", plain), ("b", hard))]
    return replace(plan, suite=suite, claims=tuple(named))


def make_all(plan: Plan):
    host = Host.load()
    return make_plan(plan.suite, host, "cpu", device="cpu").claims


def scores(plan: Plan, seeds: int, names) -> list[Score]:
    return [
        Score("breakout", name, seed, "finished", "cpu", float(value),
              {"online_return": float(value)}, f"minatar/{name}/{seed}", "d", "uqbench:aaaa")
        for name, values in matrices(seeds, names).items()
        for seed, value in enumerate(values[:, 0])
    ]  # fmt: skip


def test_a_claim_is_judged_at_its_share_of_the_error_until_it_is_decided(plan):
    plan = claims_of(plan)
    found = Sequential(looks(10))
    found.look(plan, scores(plan, 5, MEANS))
    assert found.judgements["a"].verdict is Verdict.HOLDS
    assert found.judgements["a"].findings[0].alpha == pytest.approx(0.025)
    assert [judged.claim.id for judged in found.open_claims()] == ["b"]
    assert found.open_methods(plan) == ["dqn", "bootstrapped-dqn"]
    found.look(plan, scores(plan, 10, ["dqn", "bootstrapped-dqn"]))
    assert found.judgements["a"].verdict is Verdict.HOLDS
    assert found.decided_at == {"a": 5}
    assert found.judgements["b"].seeds == 10


def test_four_looks_at_equal_methods_err_in_5_percent_at_most():
    """Of 100 experiments with two equal methods; at 5 % a look it would be 13."""
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(100):
        drawn = generator.normal(size=(2, 40, 1))
        found = Sequential(looks(40))
        for seeds in found.schedule:
            given = {f"m{i}": drawn[i, :seeds] for i in range(2)}
            found.compare(given, "mean", paired=False)
        wrong += bool(found.decided_at)
    assert wrong <= 5
