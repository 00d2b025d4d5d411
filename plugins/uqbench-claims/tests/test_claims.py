"""Claims from suite files to verdicts, tables and commands."""

import csv
import functools
import importlib
import io
import json
import math
import re
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import click.testing
import numpy as np
import pytest
from packed import read_scores, write_scores
from uqbench_claims.judge import judge
from uqbench_claims.kinds.order import Order
from uqbench_claims.table import as_json, as_text
from uqbench_claims.verdict import Verdict

from uqbench.boards import Board, Score
from uqbench.claim import ClaimKind, Comparison, Evidence, Region
from uqbench.errors import UqbenchError
from uqbench.pages.markdown import page
from uqbench.registry import Added, Host
from uqbench.results.files import write_data
from uqbench.specs import Spec
from uqbench.statistics.location import Location, location
from uqbench.suites import make_plan, parse_suite, read_suites
from uqbench.suites.rows import extended

TOY = Path(__file__).parents[3] / "tests" / "toy"
BUILTIN = "uqbench.registry.builtin.plugin"

SUITE = """
name = "claims"
version = "1"
summary = "a suite for tests"
primary = "score"
baseline = "a"
default_budget = "paper"
metrics = [
    { name = "score", summary = "more is better", kind = "online" },
    { name = "falls", summary = "fewer are better", kind = "online", direction = "min" },
]
tasks = [
    { name = "near", environment = "corridor", config = { length = 3 }, discount = 1.0 },
    { name = "far", environment = "corridor", config = { length = 6 }, discount = 1.0 },
]
methods = [
    { name = "a", agent = "walker", config = { forward = 0.6 } },
    { name = "b", agent = "walker", config = { forward = 0.7 } },
    { name = "c", agent = "walker", config = { forward = 0.8 }, tasks.far = { forward = 0.9 } },
]

[normalization.score]
version = "1"
zero = "nothing"
one = "ten"
constants = { near = { zero = 0.0, one = 10.0 }, far = { zero = 0.0, one = 10.0 } }

[budgets]
smoke = { summary = "", steps = 1, seeds = 5, ranks = false, step_ms = 1.0 }
long = { summary = "", steps = 9, seeds = 5, ranks = true, step_ms = 1.0 }
paper = { summary = "", steps = 9, seeds = 5, ranks = true, step_ms = 1.0 }
one-task = { summary = "", steps = 9, seeds = 5, ranks = true, step_ms = 1.0, tasks = ["near"] }
"""


def add(host, name, load):
    """Register a plugin."""
    assert host.register(name=name, distribution=name, version="1", load=load).failure is None


def with_plugins(*names):
    """A host of these plugins, whatever else is installed."""
    host = Host()
    for name in names:
        add(host, name, functools.partial(importlib.import_module, name))
    return host


@pytest.fixture(scope="module")
def host():
    """uqbench's own pieces, claims and the toy plugin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOY))
        yield with_plugins(BUILTIN, "uqbench_claims.plugin", "toy_uqbench")


def stated(settings, budgets='["paper"]'):
    """A suite file with one claim."""
    common = f'id = "it"\nsentence = "It is so."\nsource = "Figure 1"\nbudgets = {budgets}\n'
    return f"{SUITE}\n[[claims]]\n{common}{settings}\n"


def scores_of(plan, value):
    """Finished runs; ``value(method, task, seed)`` is every metric's raw value."""
    found = []
    for run in plan.runs:
        raw = value(run.method, run.task, run.seed)
        values = {metric.name: raw for metric in plan.suite.metrics}
        score = None if raw is None else raw / 10
        found.append(
            Score(run.task, run.method, run.seed, "finished", "cpu", score, values,
                  str(run.folder), run.digest, "uqbench:aaaa"))  # fmt: skip
    return sorted(found, key=lambda s: (s.task, s.method, s.seed))


def spread(method, task, seed):
    """Methods that are a unit apart, runs that differ by less."""
    return {"a": 1.0, "b": 2.0, "c": 3.0}[method] + 0.1 * ((seed * 7 + len(task)) % 5)


def planned(host, text, budget="paper", **selection):
    """The plan of a suite file."""
    suite = parse_suite(text, host, "claims.toml")
    return make_plan(suite, host, budget, device="cpu", **selection)


def judged(host, claim, value=spread, *, budget="paper", change=lambda score: score, **selection):
    """The judgement of one claim on simulated scores."""
    plan = planned(host, stated(claim), budget, **selection)
    (judgement,) = judge(plan, map(change, scores_of(plan, value)))
    return judgement


def missing(score):
    """A run that is not there."""
    return replace(score, status="missing", score=None, values={})


def noisy(method, task, seed):
    """Runs that tell no methods apart."""
    return (seed * 3 + (method == "c")) % 7


ORDER = 'kind = "order"\nmetric = "score"\nmethods = ["c", ["a", "b"]]'
CHAIN, WRONG = (ORDER.replace('"c", ["a", "b"]', of) for of in ('"a", "b", "c"', '"a", "c"'))
BAND = 'kind = "band"\nmetric = "score"\nmethod = "b"\n'
OF_TASKS = "value = { near = %s, far = %s }\nerror = { near = 0.2, far = 0.2 }"
SHARE = 'kind = "share"\nmetric = "score"\nmethod = "c"\n'
READING = """
[readings.decay]
chosen = "from step 0 on"
alternative = "from the start of learning on"
moved = "not tried"
"""


# -- verdicts -------------------------------------------------------------------------------------


VERDICTS = [
    (ORDER, "holds", 2),
    (CHAIN, "does not hold", 2),
    (CHAIN.replace("score", "falls"), "holds", 2),
    (ORDER + '\nby = "iqm"', "holds", 2),
    (ORDER + '\nby = "median"\nthreshold = 0.3', "does not hold", 2),
    (ORDER + "\nper_task = true", "holds", 4),
    (BAND + "value = 2.2\ntolerance = 0.3", "holds", 1),
    (BAND + "value = 3.0\ntolerance = 0.3", "does not hold", 1),
    (BAND + "low = 2.2", "open", 1),
    (BAND + "normalized = true\nhigh = 0.3", "holds", 1),
    (BAND.replace('"b"', '"a"') + 'ratio_to = ["b", "c"]\nhigh = 0.7', "holds", 2),
    (BAND + "value = { near = 2.2, far = 9.0 }\ntolerance = 0.5\nat_least = 1", "holds", 2),
    (BAND + OF_TASKS % (2.2, 2.2), "holds", 2),
    (BAND + OF_TASKS % (3.0, 3.0), "does not hold", 2),
    (SHARE + 'better_than = ["a", "b"]\nat_least = 0.4', "holds", 1),
    (SHARE + "above = 9.0\nat_least = 0.6", "does not hold", 1),
    (SHARE + "below = 9.0\nat_least = 0.4", "holds", 1),
    (SHARE.replace("score", "falls") + 'better_than = "a"\nat_least = 0.6', "does not hold", 1),
]


@pytest.mark.parametrize(("settings", "verdict", "comparisons"), VERDICTS)
def test_kinds_and_their_verdicts(host, settings, verdict, comparisons):
    judgement = judged(host, settings)
    assert (judgement.verdict.value, len(judgement.findings)) == (verdict, comparisons)
    words = {finding.word for finding in judgement.findings}
    assert ("parts hold" in judgement.reason) == (verdict != "holds" and len(words) > 1)
    told = "compared with a published number"
    published = judgement.claim.kind == "band" and "value" in settings
    assert judgement.reason.startswith(told) == (published and verdict == "does not hold")
    assert (judgement.reason.removeprefix(told) == "") == (verdict == "holds" or words == {"false"})
    assert judgement.seeds == 5
    for finding in judgement.findings:
        low, high = finding.interval
        assert low <= finding.comparison.measured.estimate <= high


def test_an_undecided_claim_says_how_many_more_seeds_would_decide(host):
    judgement = judged(host, ORDER.replace('["a", "b"]', '"b"'), noisy)
    assert judgement.verdict is Verdict.OPEN
    told = as_json(judgement)
    assert 0 < told["more_seeds_low"] < told["more_seeds"]
    assert 0 < told["chance"] < 1
    said = f"about {told['more_seeds']} more seeds would decide ({told['more_seeds_low']} to "
    assert said in judgement.reason


@pytest.mark.parametrize(("seeds", "more"), [(1, 2), (2, 1)])
def test_with_fewer_than_three_seeds_nothing_is_decided(host, seeds, more):
    judgement = judged(host, ORDER, seeds=range(seeds))
    assert judgement.verdict is Verdict.OPEN
    assert as_json(judgement)["more_seeds"] == more
    assert [f.interval for f in judgement.findings] == [None, None]
    assert judgement.findings[0].comparison.measured.estimate == 1.0
    assert judged(host, ORDER, seeds=range(3)).verdict is Verdict.HOLDS


def test_the_part_of_a_conjunction_that_failed_is_named(host):
    judgement = judged(host, ORDER.replace('["a", "b"]', '"a", "b"'))
    assert judgement.verdict is Verdict.DOES_NOT_HOLD
    assert judgement.reason == "1 of 2 parts hold; false: a over b"

    def far(*run):
        return spread(*run) if run[1] == "near" else noisy(*run)

    per_task = judged(host, f"{ORDER}\nper_task = true", far)
    assert per_task.verdict is Verdict.OPEN
    assert per_task.reason.startswith("2 of 4 parts hold; open: c over a on far, c over b on far; ")


def test_means_that_differ_the_other_way_than_probabilities_of_improvement_are_named(host):
    """Method c is better four times in five, and much worse once."""

    def rarely_bad(method, task, seed):
        return spread(method, task, seed) - 20.0 * (method == "c" and seed == 0)

    judgement = judged(host, ORDER.replace('["a", "b"]', '"a"'), rarely_bad)
    assert judgement.findings[0].comparison.measured.estimate == 0.8
    said = "c over a: probability of improvement 0.8, but the means differ by -0.2"
    assert said in judgement.reason
    assert as_json(judgement)["comparisons"][0]["difference"] == pytest.approx(-0.2)


@pytest.mark.parametrize("budget", ["smoke", "long", "one-task"])
def test_under_another_budget_a_claim_is_not_applicable_whatever_the_runs_say(host, budget):
    for settings in (ORDER, WRONG):
        judgement = judged(host, settings, budget=budget)
        assert judgement.verdict is Verdict.NOT_RUN
        assert judgement.reason.startswith("the claim needs the budget paper; here, by score, ")
        assert judgement.findings[0].interval is not None
    assert judged(host, ORDER, budget=budget, change=missing).verdict is Verdict.NOT_RUN


def test_under_another_budget_the_estimate_is_of_the_methods_that_ran_whole(host):
    """Method c beats a in every run and b is not there: c over a alone is told of, exactly 1."""

    def without_b(score):
        return missing(score) if score.method == "b" else score

    lost = judged(host, ORDER, budget="long", change=without_b)
    (finding,) = lost.findings
    assert (finding.comparison.about, finding.comparison.measured.estimate) == ("c over a", 1.0)
    assert "; here, by score, c over a: probability of improvement 1 [" in lost.reason
    assert "over b" not in lost.reason
    assert "no runs of b here" in lost.reason
    assert (lost.runs.planned, lost.runs.finished) == (30, 20)  # b's count, though they are lost


def test_methods_that_a_claim_does_not_compare_are_not_compared_where_one_between_is_missing(host):
    """Tiers a, b, c, d: without b only c over d is left, and a over c is no part of the claim."""
    order = Order(metric="m", methods=("a", "b", "c", "d"))
    assert order.among({"a", "c", "d"}).methods == (("c",), ("d",))
    assert order.among({"a", "c"}) is None


def test_a_claim_about_one_raw_task_is_not_applicable_where_a_budget_has_several(host):
    """Raw values have no common scale: there is nothing to compare, and that is no fault."""
    text = stated(WRONG.replace("score", "falls") + '\nby = "mean"', '["one-task"]')
    for budget, verdict in (("one-task", Verdict.HOLDS), ("paper", Verdict.NOT_RUN)):
        plan = planned(host, text, budget)
        assert judge(plan, scores_of(plan, spread))[0].verdict is verdict


def test_steps_or_settings_that_were_set_by_hand_decide_nothing(host):
    for by_hand in ({"steps": 5}, {"settings": {"c": {"forward": 0.99}}}):
        judgement = judged(host, ORDER, **by_hand)
        assert judgement.verdict is Verdict.OPEN
        assert "set by hand" in judgement.reason
    assert judged(host, ORDER, seeds=range(8)).verdict is Verdict.HOLDS


def lost(score):
    """One run of c that failed, and one that is not there."""
    status = {("c", "far", 1): "failed", ("c", "far", 3): "missing"}
    own = status.get((score.method, score.task, score.seed))
    return replace(missing(score), status=own) if own else score


def test_missing_and_failed_runs_are_counted_where_they_matter(host):
    judgement = judged(host, ORDER, change=lost)
    assert (judgement.runs.planned, judgement.runs.finished, judgement.runs.failed) == (30, 28, 1)
    assert judgement.findings == ()
    assert judged(host, f'{ORDER}\ntasks = ["near"]', change=lost).verdict is Verdict.HOLDS


LACKING = [
    (ORDER, {"change": lost}, "c 8 of 10 runs, failed far/1, missing far/3"),
    (ORDER, {"change": missing}, "c 0 of 10 runs; a 0 of 10 runs; b 0 of 10 runs"),
    (ORDER.replace('"c"', '"d"'), {}, "there is no method d"),
    (ORDER, {"methods": ["a", "c"]}, "there is no method b"),
]


@pytest.mark.parametrize(("claim", "given", "reason"), LACKING)
def test_a_claim_that_lacks_runs_or_methods_is_not_run_and_names_them(host, claim, given, reason):
    judgement = judged(host, claim, **given)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_RUN, reason)


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_a_value_that_is_missing_or_no_number_is_never_left_out(host, value):
    def spoilt(method, task, seed):
        return value if (method, task, seed) == ("a", "far", 2) else spread(method, task, seed)

    judgement = judged(host, ORDER, spoilt)
    assert judgement.verdict is Verdict.OPEN
    assert judgement.reason == "1 finished without a finite score: far/a/2"


def test_runs_that_are_all_equal_decide_no_order_and_no_number_unless_it_is_exact(host):
    ties = judged(host, ORDER, lambda m, t, s: 1.0)
    assert (ties.verdict, ties.findings[0].comparison.measured.estimate) == (Verdict.OPEN, 0.5)
    band = BAND + "value = 1.0\ntolerance = 0.1"
    judgement = judged(host, band, lambda m, t, s: 1.0)
    assert judgement.verdict is Verdict.OPEN
    assert judgement.reason == (
        "all runs are equal for b, and no number of seeds would decide: say exact = true where the "
        "metric has no randomness, or give its range (lowest, highest, fails_beyond)"
    )
    exact = f"{band}\nexact = true"
    assert judged(host, exact, lambda m, t, s: 1.0).verdict is Verdict.HOLDS
    assert judged(host, exact, lambda m, t, s: 2.0).verdict is Verdict.DOES_NOT_HOLD
    differing = judged(host, exact, lambda m, t, s: 1.0 + 1e-9 * s)
    assert differing.verdict is Verdict.OPEN
    assert "declared exact, but" in differing.reason


def test_at_least_counts_tasks(host):
    def only_near(method, task, seed):
        return spread(method, task, seed) * (1 if task == "near" else -1)

    claim = f"{ORDER}\nper_task = true"
    assert judged(host, claim, only_near).verdict.value == "does not hold"
    assert judged(host, f"{claim}\nat_least = 1", only_near).verdict is Verdict.HOLDS


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError


class Endless(Location):
    """What a kind compares may raise, too, when it is asked for its interval."""

    def interval(self, alpha, seeds=None):
        raise ZeroDivisionError("no interval")


RAISED = [
    ("compare", KeyError("entropy"), "KeyError: 'entropy'"),
    ("compare", SystemExit(0), "SystemExit: 0"),
    ("compare", UnspeakableError(), "UnspeakableError (its message cannot be made"),
    ("named_methods", KeyError("x"), "KeyError: 'x'"),
    ("interval", ZeroDivisionError("no interval"), "ZeroDivisionError: no interval"),
    ("nothing", None, ""),
]


@pytest.mark.parametrize(("part", "error", "reason"), RAISED)
def test_a_claim_whose_kind_raises_is_open_and_the_others_are_judged(part, error, reason, host):
    """A plugin's kind, that a value lies above zero; one that raises nothing is judged."""

    @dataclass(frozen=True, kw_only=True)
    class Positive(ClaimKind):
        method: str

        @property
        def named_methods(self):
            if part == "named_methods" and judging:
                raise error
            return (self.method,)

        def compare(self, observations):
            if part == "compare":
                raise error
            measured = location(observations.values(self.method), "mean")
            if part == "interval":
                measured = Endless(**vars(measured))
            return Evidence((Comparison(self.method, "mean", measured, Region(low=0.0)),))

    judging = []
    name = f"broken-{part.replace('_', '-')}-{type(error).__name__.lower()}"
    added = Added({"claim kind": [Spec(name=name, version="1", factory=Positive, summary=".")]})
    add(host, name, lambda: added)
    good = '[[claims]]\nid = "good"\nsentence = "s."\nsource = "Figure 1"\nbudgets = ["paper"]\n'
    claim = f'kind = "{name}"\nmetric = "score"\nmethod = "a"'
    plan = planned(host, stated(claim) + good + ORDER)
    judging.append(True)
    scores = scores_of(plan, spread)
    own, other = judge(plan, scores)
    assert other.verdict is Verdict.HOLDS
    if error is None:
        assert own.verdict is Verdict.HOLDS
        assert judged(host, claim, lambda *run: -spread(*run)).verdict is Verdict.DOES_NOT_HOLD
        return
    assert own.verdict is Verdict.OPEN
    assert own.reason.startswith(f"its kind raised {reason}")
    assert as_text(own).splitlines()[1] == f"  open: {own.reason}"
    [row, *_] = csv.DictReader(io.StringIO(Board.of(plan, scores).files()["claims.csv"]))
    assert (row["claim"], row["verdict"]) == ("it", "open")


# -- suite files ----------------------------------------------------------------------------------


WRONG_CLAIMS = [
    (ORDER.replace("order", "ordre"), "kind: there is no claim kind 'ordre'. Did you mean"),
    (ORDER.replace("metric", "metrik"), "unknown key 'metrik'. Did you mean 'metric'"),
    (ORDER.replace('"score', '"scor'), "metric: there is no metric 'scor'. Did you mean"),
    (f'{ORDER}\ntasks = ["nera"]', "there is no task with score in budget 'paper', 'nera'"),
    (ORDER.replace(', ["a", "b"]', ""), "expected two tiers"),
    (ORDER.replace('["a", "b"]', "[]"), "expected two tiers"),
    (ORDER.replace('["a", "b"]', '["a", "c"]'), "'c' is named more than once"),
    (f"{ORDER}\nthreshold = 1.5", "threshold: expected a number in (0, 1)"),
    (f"{ORDER}\nat_least = 1", "needs per_task = true"),
    (f"{ORDER}\nper_task = true\nat_least = 3", "at_least = 3, of 2 tasks"),
    (f'{ORDER}\nby = "mode"', "by: Input should be"),
    (ORDER.replace("score", "falls") + '\nby = "iqm"', "'falls' has no normalization"),
    (BAND, "value and tolerance or error"),
    (BAND + "value = 1.0", "either value and tolerance or error"),
    (BAND + "value = 1.0\ntolerance = 1\nlow = 0", "either value and tolerance or error"),
    (BAND + "value = { near = 1.0 }\nerror = { far = 0.1 }", "a number above 0 for each task"),
    (BAND + "low = 2\nhigh = 1", "must be below high"),
    (BAND + 'low = 2\nratio_to = "b"', "method itself"),
    (BAND + "value = { nera = 1.0 }\ntolerance = 1", "'nera'. Did you mean 'near'"),
    (SHARE + "at_least = 0.5", "either 'better_than', 'above' or 'below'"),
    (SHARE + "above = 1\nat_least = 1.5", "a share is"),
    (SHARE + 'above = 2\nat_least = 0.5\ntasks = ["near"]', "5 seeds can never decide it"),
    ("metric = 3", "claims.it.kind: Field required"),
    (f'{ORDER}\nreadings = ["decai"]\n{READING}', "no reading 'decai'. Did you mean 'decay'"),
    (f"{ORDER}\n{READING}".replace("moved", "move"), "decay: unknown key 'move'. Did you mean"),
]


WRONG_BUDGETS = [
    ('["papre"]', "no budget 'papre'. Did you mean 'paper'"),
    ('["smoke"]', "the budget 'smoke' cannot rank methods"),
    ("[]", "budgets: Tuple should have at least 1"),
]
WRONG_TEXTS = [(stated(settings), message) for settings, message in WRONG_CLAIMS]
WRONG_TEXTS += [(stated(ORDER, budgets), message) for budgets, message in WRONG_BUDGETS]


@pytest.mark.parametrize(("text", "message"), WRONG_TEXTS)
def test_what_is_wrong_in_a_claim_is_told_with_file_key_and_nearest_name(host, text, message):
    with pytest.raises(UqbenchError) as caught:
        parse_suite(text, host, "claims.toml")
    assert str(caught.value).startswith("claims.toml: ")
    assert message in str(caught.value)


def test_a_published_number_says_where_it_stands(host):
    def parsed(claim, source):
        return parse_suite(stated(claim).replace("Figure 1", source), host, "claims.toml")

    published = BAND + "value = 2.2\ntolerance = 1.0"
    good = ("A 2019, Table 2", "A 2019, Figures C.2 and 3", "A 2019, section 5.1, on a GPU",
            "A 2019, figures on it; read off figures, not verifiable from the text")  # fmt: skip
    for source in good:
        parsed(published, source)
    for source in ("A 2019", "A 2019, figures on it", "A 2019, tables"):
        with pytest.raises(UqbenchError, match=f"source: '{source}' does not say where"):
            parsed(published, source)
        parsed(ORDER, source)


def test_a_plugin_joins_claims_and_ids_are_unique(host):
    suite = parse_suite(stated(ORDER), host, "claims.toml")
    own = suite.claims[0].model_dump() | {"id": "mine", "methods": ["mine", "a"]}
    joined, _ = extended(suite, {"claims": [own]}, host, "mine.toml", {})
    assert [claim.id for claim in joined.claims] == ["it", "mine"]
    wrong = [own | {"id": "it"}, own | {"metric": "scores"}]
    _, (taken, unknown) = extended(suite, {"claims": wrong}, host, "mine.toml", {})
    assert "the name 'it' is taken" in taken
    assert "no metric 'scores'" in unknown


def test_the_examples_of_the_documentation_are_read(host):
    text = (Path(__file__).parents[3] / "docs" / "claims.md").read_text(encoding="utf-8")
    kinds = []
    for block in text.split("```toml\n")[1:]:
        block = block.split("```")[0]
        for metric in ("online_return", "regret", "non_greedy_share", "cumulative_regret",
                       "distance"):  # fmt: skip
            block = block.replace(f'metric = "{metric}"', 'metric = "score"')
        block = block.replace("deepsea-4", "near").replace("deepsea-6", "far")
        if "[[claims]]" not in block:
            common = 'id = "it"\nsentence = ""\nsource = "A 2020, Figure 1"\nbudgets = ["paper"]'
            block = f"[[claims]]\n{common}\n{block}"
        suite = SUITE.replace("seeds = 5", "seeds = 10")
        kinds += [c.kind for c in parse_suite(suite + block, host, "claims.md").claims]
    assert kinds == ["order", "order", "order", "band", "share"]


# -- tables and commands --------------------------------------------------------------------------


def board(host, settings=ORDER, value=spread, **selection):
    plan = planned(host, stated(settings), **selection)
    return Board.of(plan, scores_of(plan, value))


def test_claims_csv_has_a_row_a_comparison_and_the_manifest_covers_it(host):
    files = board(host).files()
    rows = list(csv.DictReader(io.StringIO(files["claims.csv"])))
    assert [row["comparison"] for row in rows] == ["c over a", "c over b"]
    assert {row["verdict"] for row in rows} == {"holds"}
    assert {row["comparison_is"] for row in rows} == {"true"}
    assert rows[0]["estimate"] == "1"
    assert float(rows[0]["low"]) > 0.5
    assert (rows[0]["must_be_above"], rows[0]["confidence"]) == ("0.5", "0.975")
    assert (rows[0]["runs"], rows[0]["runs_planned"]) == ("20", "30")
    digest = sha256(files["claims.csv"].encode()).hexdigest()
    assert json.loads(files["manifest.json"])["sha256"]["claims.csv"] == digest
    assert board(host).files() == files


def test_a_suite_without_claims_has_a_table_without_rows(host):
    plan = planned(host, SUITE)
    text = Board.of(plan, scores_of(plan, spread)).files()["claims.csv"]
    assert text.startswith("claim,verdict,")
    assert text.count("\n") == 1


def test_without_the_package_a_suite_runs_and_its_claims_are_neither_checked_nor_judged(host):
    bare = with_plugins(BUILTIN, "toy_uqbench")
    plan = planned(bare, stated('kind = "mine, of no plugin"'))
    assert plan.claims == ()
    assert "claims.csv" not in Board.of(plan, scores_of(plan, spread)).files()


def test_the_text_gives_verdict_sentence_evidence_and_source(host):
    text = as_text(judged(host, ORDER))
    assert text.startswith("It is so.\n  holds\n  - c over a: probability of improvement 1 [")
    assert "2 comparisons, 95 % together (Holm)" in text
    assert text.endswith("Figure 1")
    assert "the claim needs the budget paper" in as_text(judged(host, ORDER, budget="long"))


def test_verdicts_are_printed_with_the_readings_that_they_rest_on(host):
    settings = f'{ORDER}\nreadings = ["decay"]\n{READING}'
    judgement = judged(host, settings)
    assert as_text(judgement).startswith("It is so.\n  holds, under decay\n")
    assert as_json(judgement)["readings"]["decay"]["moved"] == "not tried"
    found = board(host, settings)
    rows = csv.DictReader(io.StringIO(found.files()["claims.csv"]))
    assert {row["readings"] for row in rows} == {"decay"}
    shown = page(found, [], "")
    assert "| **holds** under the reading `decay` |" in shown
    assert "| `decay` | from step 0 on | from the start of learning on | not tried |" in shown
    assert "reading" not in as_text(judged(host, f"{ORDER}\n{READING}"))


def test_a_plugin_brings_the_readings_of_its_claims(host):
    suite = parse_suite(stated(f"{ORDER}\n{READING}"), host, "claims.toml")
    reading = suite.readings["decay"].model_dump()
    claim = suite.claims[0].model_dump() | {"id": "mine", "readings": ["ramp", "decay"]}
    rows = {"claims": [claim], "readings": {"ramp": reading}}
    joined, _ = extended(suite, rows, host, "mine.toml", {})
    assert [*joined.readings] == ["decay", "ramp"]
    _, (taken,) = extended(suite, {"readings": {"decay": reading}}, host, "mine.toml", {})
    assert "readings: the name 'decay' is taken" in taken
    _, (missing,) = extended(suite, {"claims": [claim]}, host, "mine.toml", {})
    assert "mine.toml: claims.mine.readings: there is no" in missing


@pytest.fixture
def stored(host, tmp_path, monkeypatch):
    """A stored board of the toy suite, and a command line that sees the toy plugin alone."""
    suite = read_suites(host).suite("toy")
    plan = make_plan(suite, host, "paper", device="cpu")
    generator = np.random.default_rng(0)

    def value(method, task, seed):
        return 5.0 + (method == "fast") + generator.normal()

    constants = suite.normalization_constants(suite.metric("online_return"))
    scores = [
        replace(s, score=constants[s.task].normalize(s.values["online_return"]))
        for s in scores_of(plan, value)
    ]
    folder = tmp_path / "toy" / "paper"
    for name, text in Board.of(plan, scores).files().items():
        write_data(folder / name, text.encode())
    monkeypatch.setattr(Host, "load", classmethod(lambda cls: host))
    made = "papers.bib, made_with.json, README.md, manifest.json changed"
    assert made in check(folder, 0, rewrite=True)
    return folder


def uqbench(*arguments, code=0):
    from uqbench.cli import group

    done = click.testing.CliRunner().invoke(group, list(map(str, arguments)), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert (done.return_value or 0) == code
    return done.output


def test_claims_are_judged_from_a_stored_board_and_from_runs(stored, tmp_path):
    text = uqbench("claims", "--suite", "toy", "--from", tmp_path)
    assert "\n  fast-first: " in text
    assert "12 of 12 runs, 3 seeds, budget paper" in text
    (entry,) = json.loads(uqbench("claims", "--suite", "toy", "--from", tmp_path, "--json"))
    assert entry["comparisons"][0]["comparison"] == "fast over slow"
    assert entry["runs_finished"] == 12
    text = uqbench("claims", "--suite", "toy", "--out", tmp_path / "nothing")
    assert "\n  not run: fast 0 of 6 runs; slow 0 of 6 runs\n" in text


def test_without_a_suite_there_is_a_line_for_each(stored, tmp_path):
    text = uqbench("claims", "--from", tmp_path)
    assert re.fullmatch(r"toy +paper: 1 (open|holds|does not hold) \(.+\)\n", text)
    (entry,) = json.loads(uqbench("claims", "--from", tmp_path, "--json"))
    assert sum(entry["verdicts"].values()) == entry["claims"] == 1
    nothing = uqbench("claims", "--out", tmp_path / "nothing")
    assert re.fullmatch(r"toy +no runs \(1 claim; .+\)\n", nothing)


def test_the_board_and_the_index_have_pages(stored, tmp_path):
    page = (stored / "README.md").read_text(encoding="utf-8")
    assert "| `fast` |" in page
    assert "**open**" in page or "**holds**" in page
    assert "Processor and versions were not kept" in page
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| [toy · paper](toy/paper/README.md) | 2 | 12 |" in index
    assert f"| paper | {' | '.join(v.value for v in Verdict)} | parts that hold |" in index


def check(stored, code, *, rewrite=False):
    option = "--rewrite" if rewrite else "--check"
    where = ("--to", stored.parents[1], "--out", stored / "nothing")
    return uqbench("leaderboard", "--suite", "toy", option, *where, code=code)


def test_a_stored_board_is_checked_with_its_claims(stored):
    told = check(stored, 0)
    assert "claims.csv" in told
    assert "made with other code than is installed: uqbench aaaa (here" in told
    text = (stored / "claims.csv").read_text()
    changed = text.replace("open", "holds", 1)
    assert changed != text
    (stored / "claims.csv").write_text(changed)
    assert "claims.csv: differs" in check(stored, 1)


def test_a_board_from_before_there_were_claims_is_written_anew_from_its_scores(stored):
    (stored / "claims.csv").unlink()
    scores = (stored / "scores.csv.gz").read_bytes()
    assert "claims.csv: differs" in check(stored, 1)
    told = check(stored, 0, rewrite=True)
    assert "claims.csv" in told
    assert "changed" in told
    assert (stored / "scores.csv.gz").read_bytes() == scores
    check(stored, 0)


def test_scores_of_other_settings_are_not_written_anew(stored):
    text = read_scores(stored)
    run = next(csv.DictReader(io.StringIO(text)))["run"]
    write_scores(stored, text.replace(run, f"{run[:-8]}00000000"))
    with pytest.raises(UqbenchError, match="was run with other settings or versions"):
        check(stored, 0, rewrite=True)


ALTERNATIVES = [
    (ORDER, "does not hold", Verdict.OPEN),
    (ORDER, "holds", Verdict.HOLDS),
    (WRONG, "holds", Verdict.OPEN),
    (WRONG, "does not hold", Verdict.DOES_NOT_HOLD),
]


@pytest.mark.parametrize(("order", "other", "expected"), ALTERNATIVES)
def test_a_claim_that_the_suite_s_own_alternative_turns_round_is_open(host, order, other, expected):
    """Whichever way the runs decide it; one that the alternative leaves as it is does not."""
    under = f'under = {{ decay = {{ verdict = "{other}", found = "7 of 9" }} }}\n{READING}'
    judgement = judged(host, f'{order}\nreadings = ["decay"]\n{under}')
    assert judgement.verdict is expected
    assert (f"{other} under 'decay' (7 of 9)" in judgement.reason) == (expected is Verdict.OPEN)
    with pytest.raises(UqbenchError, match=r"no reading 'decai'. Did you mean 'decay'"):
        judged(host, f"{order}\n{under}".replace("{ decay", "{ decai"))


def test_a_claim_in_another_setting_than_the_papers_is_open_and_says_what_the_runs_say(host):
    """Whatever the runs say: what differs may be what decides."""
    other = judged(host, f'{ORDER}\ndiffers = "a third of the images"')
    assert other.verdict is Verdict.OPEN
    said = "another setting than the paper's: a third of the images; here it holds"
    assert other.reason.startswith(said)
    assert other.findings


NEVER = "no budget can decide it: the paper's statistic is over 57 tasks, the suite has 2"


TOO_FEW = [
    (2, "one-task", "the paper's statistic is over 2 tasks, this budget has 1"),
    (57, "paper", NEVER),
    (57, "one-task", NEVER),
]


@pytest.mark.parametrize(("least", "budget", "reason"), TOO_FEW)
def test_a_statistic_over_more_tasks_than_there_are_is_not_run(host, least, budget, reason):
    """Where the suite has too few, no other budget is named that would decide it."""
    settings = f"{ORDER}\nleast_tasks = {least}"
    plan = planned(host, stated(settings, f'["paper", "{budget}"]'), budget)
    (few,) = judge(plan, scores_of(plan, spread))
    assert (few.verdict, few.reason) == (Verdict.NOT_RUN, reason)
    assert "needs" not in as_text(few)
    assert (judged(host, settings).verdict is Verdict.HOLDS) == (least == 2)


BEGUN = [
    ("2026-01-06T00:00:00+00:00", Verdict.DOES_NOT_HOLD),
    ("2026-01-05T23:00:00+00:00", Verdict.OPEN),  # of the same day: nobody can tell
    ("2025-12-31T00:00:00+00:00", Verdict.OPEN),
    ("", Verdict.OPEN),
]


@pytest.mark.parametrize(("began", "verdict"), BEGUN)
def test_a_margin_counts_for_runs_that_were_begun_after_it_was_set(host, began, verdict):
    order = stated(WRONG.replace("score", "falls") + '\ntasks = ["near"]')
    few = 'summary = "fewer are better"'
    plan = planned(host, order.replace(few, f'{few}, margin = 5.0, margin_set = "2026-01-05"'))
    scores = scores_of(plan, lambda m, t, s: (s * 3 + (m == "c")) % 4)
    (judgement,) = judge(plan, scores, began)
    assert judgement.verdict is verdict
    late = "the margin, 5, was set after the runs" in judgement.reason
    assert late == (verdict is Verdict.OPEN)
    with pytest.raises(UqbenchError, match="margin and margin_set: expected both"):
        planned(host, order.replace(few, f"{few}, margin = 5.0"))


def test_a_pair_of_methods_is_told_in_a_sentence_in_python_and_by_a_command(stored):
    """The first method that is named is what the sentence is about."""
    import uqbench as package

    board = package.load(stored.parents[1])["toy", "paper"]
    said, pair = board.sentence("fast", "slow"), board.pairs().iloc[0]
    assert (pair["first"], pair["second"]) == ("fast", "slow")
    better = "better" if pair["difference"] > 0 else "worse"
    assert said.startswith(f"fast is not significantly {better} than slow on toy · paper: ")
    assert f"{pair['difference']:+.3g} [" in said
    assert f"p = {pair['p_adjusted']:.2g}" in said
    assert " more seeds would decide (" in said
    assert uqbench("compare", stored, "--pair", "fast,slow") == f"{said}\n"
    none = r"toy · paper .* has no method"
    with pytest.raises(UqbenchError, match=f"{none} 'slo'. Did you mean 'slow'"):
        board.sentence("fast", "slo")
    with pytest.raises(UqbenchError, match=none):
        board.sentence("fast", "fast")
