"""Seeds that nobody could know, failed runs, and text from strange code."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from uqbench_keeper.verify import check_plain, draw, judged, settled

from uqbench.boards import check_scores
from uqbench.boards.provenance import MadeWith
from uqbench.boards.submitted import reseeded
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.results import Score, Scores
from uqbench.suites import Selection

TOY = Path(__file__).parents[3] / "tests" / "toy"
MADE = MadeWith("cpu", "Linux x86_64", {"numpy": "1.0"}, {}, None, "2026-01-01", "2026-01-02", 6)


def refused(public, others, times=60):
    """The share of rows that are refused, over draws of both kinds of seeds."""
    return np.mean([bool(judged(public(), others())[1]) for _ in range(times)])


@pytest.mark.parametrize(("seeds", "is_refused"), [(4, False), (5, True)])
def test_seeds_that_are_all_better_refuse_a_row_from_ten_on(seeds, is_refused):
    """One of 70 orders, 1.4 %, where four meet four; one of 252, .4 %, where five meet five."""
    said, why = judged(np.arange(seeds) + 100.0, np.arange(seeds) + 0.0)
    assert f"with {seeds} seeds of the keeper (p = 0.0" in said
    assert bool(why) is is_refused
    assert not is_refused or "102.000 with the board's seeds, which are public, but 2.000" in why


@pytest.mark.parametrize("kind", ["skewed", "two modes", "constant"])
@pytest.mark.parametrize("seeds", [3, 10, 100])
def test_honest_rows_are_refused_in_one_case_of_a_hundred(kind, seeds):
    """Exact for any distribution. Six of 60 have a probability of 3e-5 where 1 % do."""
    rng = np.random.default_rng(seeds)
    draws = {
        "skewed": lambda n: rng.lognormal(0, 1.5, n),
        "two modes": lambda n: rng.choice([0.0, 1.0], n, p=[0.1, 0.9]),
        "constant": np.ones,
    }[kind]
    assert refused(lambda: draws(seeds), lambda: draws(max(seeds, 10))) < 0.1


def test_a_method_that_was_tuned_on_public_seeds_by_one_standard_deviation_is_refused():
    """Normal scores, a hundred seeds of both kinds: z is 7.1 on average, and 2.3 at the level."""
    rng = np.random.default_rng(1)
    assert refused(lambda: rng.normal(1, 1, 100), lambda: rng.normal(0, 1, 100)) == 1


@pytest.mark.parametrize(("seeds", "least"), [(10, 0.2), (20, 0.6), (100, 1.0)])
def test_a_method_that_spoils_half_of_the_seeds_that_it_does_not_know_is_refused(seeds, least):
    """By 3 standard deviations: 39 % with ten seeds, 79 % with twenty, all with a hundred."""
    rng = np.random.default_rng(2)
    spoiled = lambda: rng.normal(0, 1, seeds) - 3 * rng.integers(0, 2, seeds)  # noqa: E731
    assert refused(lambda: rng.normal(0, 1, seeds), spoiled) >= least


@pytest.mark.parametrize(
    ("suite", "rows", "beside"),
    [("toy", 3, 0), ("five-state", 100, 100), ("testbed", 25, 25), ("sine", 24, 0)],
)
def test_seeds_are_the_keepers_or_public_with_the_keepers_beside(suite, rows, beside, monkeypatch):
    """On `sine` there are no more data sets; on `toy` a seed is nobody's data set."""
    if suite == "toy":
        monkeypatch.syspath_prepend(str(TOY))
    host = Host.load()
    plan = Selection(suite, "paper").plan(host, "cpu")
    own, others = draw(plan, host)
    assert (len({*own}), len({*others})) == (rows, beside)
    public = set(range(plan.budget.seeds))
    assert set(own) == public if plan.suite.paired else not {*own} & public
    assert not {*others} & public
    assert draw(plan, host) != draw(plan, host) or suite == "sine"


def plan_of(host, **metric):
    """The toy suite's, its metric with other ends."""
    plan = Selection("toy", "paper", ("fast",)).plan(host, "cpu")
    metrics = [
        one.model_copy(update=metric) if one.name == "online_return" else one
        for one in plan.suite.metrics
    ]
    return replace(plan, suite=plan.suite.model_copy(update={"metrics": tuple(metrics)}))


def row(run, raw, scale, status="finished"):
    return Score(run.task, run.method, run.seed, status, "cpu",
                 None if raw is None else scale[run.task].normalize(raw),
                 {"online_return": raw}, run.place, "0" * 64, "uqbench:12345678")  # fmt: skip


@pytest.mark.parametrize(("lowest", "score"), [(-9.0, -1.0), (None, None)])
def test_a_submitted_run_that_failed_has_the_worst_score_where_there_is_one(host, lowest, score):
    plan = plan_of(host, lowest=lowest)
    scale = plan.suite.normalization_constants(plan.suite.metric("online_return"))
    good, bad, none, *_ = (run for run in plan.runs if run.task == "short")
    rows = [row(good, 9.0, scale), row(bad, 9.0, scale, "failed"), row(none, None, scale)]
    found = {s.seed: (s.status, s.score) for s in settled(Scores.of(rows), plan)}
    assert found == {0: ("finished", 1.0), 1: ("failed", score), 2: ("failed", score)}


def test_a_value_beyond_its_metrics_range_is_refused_on_every_board(host):
    plan = plan_of(host, lowest=-9.0, highest=10.0)
    scale = plan.suite.normalization_constants(plan.suite.metric("online_return"))
    check_scores(Scores.of([row(run, 10.0, scale) for run in plan.runs]), plan, "scores.csv")
    rows = Scores.of([row(run, 10.5 if run.seed else 0.0, scale) for run in plan.runs])
    with pytest.raises(UqbenchError, match=r"online_return of \S+ is 10.5, beyond its range from"):
        check_scores(rows, plan, "scores.csv")


@pytest.mark.parametrize("text", ["a\n# T", "<b>", "[x](y)", "`", "a|b", "\x1b[2J", "é", "*x*"])
def test_text_of_strange_code_cannot_hold_markup(text):
    check_plain(Scores([]), [MADE])
    for made in (replace(MADE, device=text), replace(MADE, versions={"numpy": text})):
        with pytest.raises(UqbenchError, match="expected plain text"):
            check_plain(Scores([]), [made])
    score = Score("t", "m", 0, "finished", "cpu", 0.0, {}, "", content=text)
    with pytest.raises(UqbenchError, match="expected plain text"):
        check_plain(Scores.of([score]), [])


def test_a_plan_with_other_seeds_is_that_of_these_seeds(host):
    plan = Selection("toy", "paper", ("fast", "slow")).plan(host, "cpu")
    other = Selection("toy", "paper", ("fast",), seeds=(7, 40, 9)).plan(host, "cpu")
    found = reseeded(plan, {"fast": [40, 7, 9]}).runs
    assert [run.place for run in found if run.method == "fast"] == [run.place for run in other.runs]
    assert [run for run in found if run.method == "slow"] == [
        run for run in plan.runs if run.method == "slow"
    ]
