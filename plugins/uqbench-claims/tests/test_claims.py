"""Claims from suite files to verdicts, tables and commands."""

import csv
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

SUITE = """
name = "claims"
version = "1"
summary = "a suite for tests"
primary = "score"
baseline = "a"
default_budget = "paper"
tasks = [
    { name = "near", environment = "corridor", config = { length = 3 }, discount = 1.0 },
    { name = "far", environment = "corridor", config = { length = 6 }, discount = 1.0 },
]
methods = [
    { name = "a", agent = "walker", config = { forward = 0.6 } },
    { name = "b", agent = "walker", config = { forward = 0.7 } },
    { name = "c", agent = "walker", config = { forward = 0.8 }, tasks.far = { forward = 0.9 } },
]

[[metrics]]
name = "score"
summary = "more is better"
kind = "online"

[[metrics]]
name = "falls"
summary = "fewer are better"
kind = "online"
direction = "min"

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


def with_plugins(*names):
    """A host of these plugins, whatever else is installed."""
    host = Host()
    for name in names:
        plugin = host.register(
            name=name,
            distribution=name,
            version="1",
            load=lambda name=name: importlib.import_module(name),
        )
        assert plugin.failure is None
    return host


@pytest.fixture(scope="module")
def host():
    """uqbench's own pieces, claims and the toy plugin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOY))
        yield with_plugins(
            "uqbench.registry.builtin.plugin", "uqbench_claims.plugin", "toy_uqbench"
        )


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
                  str(run.folder), run.digest, "uqbench:aaaa")
        )  # fmt: skip
    return sorted(found, key=lambda s: (s.task, s.method, s.seed))


def spread(method, task, seed):
    """Methods that are a unit apart, runs that differ by less."""
    return {"a": 1.0, "b": 2.0, "c": 3.0}[method] + 0.1 * ((seed * 7 + len(task)) % 5)


def judged(host, claim, value=spread, *, budget="paper", change=None, **selection):
    """The judgement of one claim on simulated scores."""
    suite = parse_suite(stated(claim), host, "claims.toml")
    plan = make_plan(suite, host, budget, device="cpu", **selection)
    scores = scores_of(plan, value)
    (judgement,) = judge(plan, [change(s) if change else s for s in scores])
    return judgement


ORDER = 'kind = "order"\nmetric = "score"\nmethods = ["c", ["a", "b"]]'
READING = """
[readings.decay]
chosen = "from step 0 on"
alternative = "from the start of learning on"
moved = "not tried"
"""


# -- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "verdict", "comparisons"),
    [
        (ORDER, "holds", 2),
        ('kind = "order"\nmetric = "score"\nmethods = ["a", "b", "c"]', "does not hold", 2),
        ('kind = "order"\nmetric = "falls"\nmethods = ["a", "b", "c"]', "holds", 2),
        (f'{ORDER}\nby = "iqm"', "holds", 2),
        (f'{ORDER}\nby = "median"\nthreshold = 0.3', "does not hold", 2),
        (f"{ORDER}\nper_task = true", "holds", 4),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nvalue = 2.2\ntolerance = 0.3', "holds", 1),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nvalue = 3.0\ntolerance = 0.3',
         "does not hold", 1),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nlow = 2.2', "open", 1),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nnormalized = true\nhigh = 0.3',
         "holds", 1),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nratio_to = ["b", "c"]\nhigh = 0.7',
         "holds", 2),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nvalue = { near = 2.2, far = 9.0 }\n'
         "tolerance = 0.5\nat_least = 1", "holds", 2),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nvalue = { near = 2.2, far = 2.2 }\n'
         "error = { near = 0.2, far = 0.2 }", "holds", 2),
        ('kind = "band"\nmetric = "score"\nmethod = "b"\nvalue = { near = 3.0, far = 3.0 }\n'
         "error = { near = 0.2, far = 0.2 }", "does not hold", 2),
        ('kind = "share"\nmetric = "score"\nmethod = "c"\nbetter_than = ["a", "b"]\n'
         "at_least = 0.4", "holds", 1),
        ('kind = "share"\nmetric = "score"\nmethod = "c"\nabove = 9.0\nat_least = 0.6',
         "does not hold", 1),
        ('kind = "share"\nmetric = "score"\nmethod = "c"\nbelow = 9.0\nat_least = 0.4',
         "holds", 1),
        ('kind = "share"\nmetric = "falls"\nmethod = "c"\nbetter_than = "a"\nat_least = 0.6',
         "does not hold", 1),
    ],
)  # fmt: skip
def test_kinds_and_their_verdicts(host, settings, verdict, comparisons):
    judgement = judged(host, settings)
    assert (judgement.verdict.value, len(judgement.findings)) == (verdict, comparisons)
    words = {finding.word for finding in judgement.findings}
    assert ("parts hold" in judgement.reason) == (verdict != "holds" and len(words) > 1)
    published = judgement.claim.kind == "band" and "value" in settings
    assert judgement.reason.startswith("compared with a published number") == (
        published and verdict == "does not hold"
    )
    rest = judgement.reason.removeprefix("compared with a published number")
    assert (rest == "") == (verdict == "holds" or words == {"false"})
    assert judgement.seeds == 5
    for finding in judgement.findings:
        low, high = finding.interval
        assert low <= finding.comparison.measured.estimate <= high


def test_an_undecided_claim_says_how_many_more_seeds_would_decide(host):
    judgement = judged(
        host, ORDER.replace('["a", "b"]', '"b"'), lambda m, t, s: (s * 3 + (m == "c")) % 7
    )
    assert judgement.verdict is Verdict.OPEN
    told = as_json(judgement)
    assert 0 < told["more_seeds_low"] < told["more_seeds"]
    assert 0 < told["chance"] < 1
    assert (
        f"about {told['more_seeds']} more seeds would decide ({told['more_seeds_low']} to "
    ) in judgement.reason


@pytest.mark.parametrize(("seeds", "more"), [(1, 2), (2, 1)])
def test_with_fewer_than_three_seeds_nothing_is_decided(host, seeds, more):
    judgement = judged(host, ORDER, seeds=range(seeds))
    assert judgement.verdict is Verdict.OPEN
    assert as_json(judgement)["more_seeds"] == more
    assert [f.interval for f in judgement.findings] == [None, None]
    assert judgement.findings[0].comparison.measured.estimate == 1.0
    assert judged(host, ORDER, seeds=range(3)).verdict is Verdict.HOLDS


def test_the_part_of_a_conjunction_that_failed_is_named(host):
    order = 'kind = "order"\nmetric = "score"\nmethods = ["c", "a", "b"]'
    judgement = judged(host, order)
    assert judgement.verdict is Verdict.DOES_NOT_HOLD
    assert judgement.reason == "1 of 2 parts hold; false: a over b"
    per_task = judged(
        host,
        f"{ORDER}\nper_task = true",
        lambda m, t, s: spread(m, t, s) if t == "near" else (s * 3 + (m == "c")) % 7,
    )
    assert per_task.verdict is Verdict.OPEN
    assert per_task.reason.startswith("2 of 4 parts hold; open: c over a on far, c over b on far; ")


def test_means_that_differ_the_other_way_than_probabilities_of_improvement_are_named(host):
    """Method c is better four times in five, and much worse once."""

    def rarely_bad(method, task, seed):
        return spread(method, task, seed) - 20.0 * (method == "c" and seed == 0)

    judgement = judged(host, ORDER.replace('["a", "b"]', '"a"'), rarely_bad)
    assert judgement.findings[0].comparison.measured.estimate == 0.8
    assert (
        "c over a: probability of improvement 0.8, but the means differ by -0.2" in judgement.reason
    )
    assert as_json(judgement)["comparisons"][0]["difference"] == pytest.approx(-0.2)


@pytest.mark.parametrize("budget", ["smoke", "long", "one-task"])
def test_under_another_budget_a_claim_is_not_applicable_whatever_the_runs_say(host, budget):
    for settings in (ORDER, ORDER.replace('["c", ["a", "b"]]', '["a", "c"]')):
        judgement = judged(host, settings, budget=budget)
        assert judgement.verdict is Verdict.NOT_RUN
        assert judgement.reason.startswith("the claim needs the budget paper; here, by score, ")
        assert judgement.findings[0].interval is not None
    nothing = judged(
        host, ORDER, budget=budget, change=lambda s: replace(s, status="missing", values={})
    )
    assert nothing.verdict is Verdict.NOT_RUN


def test_under_another_budget_the_estimate_is_of_the_methods_that_ran_whole(host):
    """Method c beats a in every run and b is not there: c over a alone is told of, exactly 1."""
    lost = judged(
        host,
        ORDER,
        budget="long",
        change=lambda s: replace(s, status="missing", values={}) if s.method == "b" else s,
    )
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
    order = 'kind = "order"\nmetric = "falls"\nmethods = ["a", "c"]\nby = "mean"'
    suite = parse_suite(stated(order, '["one-task"]'), host, "claims.toml")
    for budget, verdict in (("one-task", Verdict.HOLDS), ("paper", Verdict.NOT_RUN)):
        plan = make_plan(suite, host, budget, device="cpu")
        (judgement,) = judge(plan, scores_of(plan, spread))
        assert judgement.verdict is verdict


def test_steps_or_settings_that_were_set_by_hand_decide_nothing(host):
    for by_hand in ({"steps": 5}, {"settings": {"c": {"forward": 0.99}}}):
        judgement = judged(host, ORDER, **by_hand)
        assert judgement.verdict is Verdict.OPEN
        assert "set by hand" in judgement.reason
    assert judged(host, ORDER, seeds=range(8)).verdict is Verdict.HOLDS


def test_missing_and_failed_runs_are_counted_and_named(host):
    def lost(score):
        if score.method == "c" and score.task == "far" and score.seed in (1, 3):
            status = {1: "failed", 3: "missing"}[score.seed]
            return replace(score, status=status, score=None, values={})
        return score

    judgement = judged(host, ORDER, change=lost)
    assert judgement.verdict is Verdict.NOT_RUN
    assert judgement.reason == "c 8 of 10 runs, failed far/1, missing far/3"
    assert (judgement.runs.planned, judgement.runs.finished, judgement.runs.failed) == (30, 28, 1)
    assert judgement.findings == ()
    near = judged(host, f'{ORDER}\ntasks = ["near"]', change=lost)
    assert near.verdict is Verdict.HOLDS


def test_where_nothing_ran_it_says_so_in_one_line(host):
    judgement = judged(
        host, ORDER, change=lambda s: replace(s, status="missing", score=None, values={})
    )
    assert judgement.reason == "c 0 of 10 runs; a 0 of 10 runs; b 0 of 10 runs"


def test_a_method_that_no_plugin_gives_is_named(host):
    judgement = judged(host, ORDER.replace('"c"', '"d"'))
    assert judgement.verdict is Verdict.NOT_RUN
    assert judgement.reason == "there is no method d"


def test_a_method_that_was_not_selected_is_not_run(host):
    judgement = judged(host, ORDER, methods=["a", "c"])
    assert judgement.reason == "there is no method b"


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_a_value_that_is_missing_or_no_number_is_never_left_out(host, value):
    def spoilt(method, task, seed):
        return value if (method, task, seed) == ("a", "far", 2) else spread(method, task, seed)

    judgement = judged(host, ORDER, spoilt)
    assert judgement.verdict is Verdict.OPEN
    assert judgement.reason == "1 finished without a finite score: far/a/2"


def test_runs_that_are_all_equal_do_not_decide_a_number_unless_it_is_exact(host):
    band = 'kind = "band"\nmetric = "score"\nmethod = "a"\nvalue = 1.0\ntolerance = 0.1'
    judgement = judged(host, band, lambda m, t, s: 1.0)
    assert judgement.verdict is Verdict.OPEN
    assert judgement.reason == (
        "all runs are equal for a, and no number of seeds would decide: say exact = true where the "
        "metric has no randomness, or give its range (lowest, highest, fails_beyond)"
    )
    many = judged(host, band, lambda m, t, s: 1.0, seeds=range(7))
    assert many.verdict is Verdict.OPEN
    assert judged(host, f"{band}\nexact = true", lambda m, t, s: 1.0).verdict is Verdict.HOLDS
    other = judged(host, f"{band}\nexact = true", lambda m, t, s: 2.0)
    assert other.verdict is Verdict.DOES_NOT_HOLD
    differing = judged(host, f"{band}\nexact = true", lambda m, t, s: 1.0 + 1e-9 * s)
    assert differing.verdict is Verdict.OPEN
    assert "declared exact, but" in differing.reason


def test_ties_leave_an_order_open(host):
    judgement = judged(host, ORDER, lambda m, t, s: 1.0)
    assert judgement.verdict is Verdict.OPEN
    assert judgement.findings[0].comparison.measured.estimate == 0.5


def test_at_least_counts_tasks(host):
    def only_near(method, task, seed):
        return spread(method, task, seed) * (1 if task == "near" else -1)

    claim = f"{ORDER}\nper_task = true"
    assert judged(host, claim, only_near).verdict.value == "does not hold"
    assert judged(host, f"{claim}\nat_least = 1", only_near).verdict is Verdict.HOLDS


def test_a_plugin_adds_a_kind(host):
    @dataclass(frozen=True, kw_only=True)
    class Positive(ClaimKind):
        method: str

        @property
        def named_methods(self):
            return (self.method,)

        def compare(self, observations):
            measured = location(observations.values(self.method), "mean")
            return Evidence((Comparison(self.method, "mean", measured, Region(low=0.0)),))

    class Plugin:
        @staticmethod
        def uqbench_claim_kinds():
            return [Spec(name="positive", version="1", factory=Positive, summary="above zero")]

    from uqbench import hookimpl

    Plugin.uqbench_claim_kinds = staticmethod(hookimpl(Plugin.uqbench_claim_kinds))
    plugin = host.register(
        name="positive", distribution="positive", version="1", load=lambda: Plugin
    )
    assert plugin.failure is None
    claim = 'kind = "positive"\nmetric = "score"\nmethod = "a"'
    assert judged(host, claim).verdict is Verdict.HOLDS
    assert judged(host, claim, lambda m, t, s: -spread(m, t, s)).verdict.value == "does not hold"


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError


class Endless(Location):
    """What a kind compares may raise, too, when it is asked for its interval."""

    def interval(self, alpha, seeds=None):
        raise ZeroDivisionError("no interval")


@pytest.mark.parametrize(
    ("part", "error", "reason"),
    [
        ("compare", KeyError("entropy"), "KeyError: 'entropy'"),
        ("compare", SystemExit(0), "SystemExit: 0"),
        (
            "compare",
            UnspeakableError(),
            "UnspeakableError (its message cannot be made: RuntimeError)",
        ),
        ("named_methods", KeyError("x"), "KeyError: 'x'"),
        ("interval", ZeroDivisionError("no interval"), "ZeroDivisionError: no interval"),
    ],
)
def test_a_claim_whose_kind_raises_is_undecided_and_says_so_and_the_others_are_judged(
    part, error, reason, host
):
    @dataclass(frozen=True, kw_only=True)
    class Broken(ClaimKind):
        method: str

        @property
        def named_methods(self):
            if part == "named_methods" and judging:
                raise error
            return (self.method,)

        def compare(self, observations):
            if part == "compare":
                raise error
            measured = Endless(**vars(location(observations.values(self.method), "mean")))
            return Evidence((Comparison(self.method, "mean", measured, Region(low=0.0)),))

    judging = []
    name = f"broken-{part.replace('_', '-')}-{type(error).__name__.lower()}"
    added = Added({"claim kind": [Spec(name=name, version="1", factory=Broken, summary=".")]})
    plugin = host.register(name=name, distribution=name, version="1", load=lambda: added)
    assert plugin.failure is None
    good = '[[claims]]\nid = "good"\nsentence = "s."\nsource = "Figure 1"\nbudgets = ["paper"]\n'
    text = stated(f'kind = "{name}"\nmetric = "score"\nmethod = "a"') + good + ORDER
    plan = make_plan(parse_suite(text, host, "claims.toml"), host, "paper", device="cpu")
    judging.append(True)
    scores = scores_of(plan, spread)
    broken, other = judge(plan, scores)
    assert (broken.verdict, broken.reason) == (Verdict.OPEN, f"its kind raised {reason}")
    assert as_text(broken).splitlines()[1] == f"  open: its kind raised {reason}"
    assert other.verdict is Verdict.HOLDS
    [row, *_] = csv.DictReader(io.StringIO(Board.of(plan, scores).files()["claims.csv"]))
    assert (row["claim"], row["verdict"]) == ("it", "open")


# -- suite files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ORDER.replace("order", "ordre"), "kind: there is no claim kind 'ordre'. Did you mean"),
        (ORDER.replace("metric", "metrik"), "unknown key 'metrik'. Did you mean 'metric'"),
        (ORDER.replace('"score"', '"scor"'), "metric: there is no metric 'scor'. Did you mean"),
        (f'{ORDER}\ntasks = ["nera"]', "there is no task with score in budget 'paper', 'nera'"),
        (ORDER.replace('["c", ["a", "b"]]', '["c"]'), "expected two tiers"),
        (ORDER.replace('["c", ["a", "b"]]', '["c", []]'), "expected two tiers"),
        (ORDER.replace('["a", "b"]', '["a", "c"]'), "'c' is named more than once"),
        (f"{ORDER}\nthreshold = 1.5", "threshold: expected a number in (0, 1)"),
        (f"{ORDER}\nat_least = 1", "needs per_task = true"),
        (f"{ORDER}\nper_task = true\nat_least = 3", "at_least = 3, of 2 tasks"),
        (f'{ORDER}\nby = "mode"', "by: Input should be"),
        (ORDER.replace("score", "falls") + '\nby = "iqm"', "'falls' has no normalization"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"', "value and tolerance or error"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nvalue = 1.0',
         "either value and tolerance or error"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nvalue = { near = 1.0 }\n'
         "error = { far = 0.1 }", "a number above 0 for each task"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nvalue = 1.0\ntolerance = 1\n'
         "low = 0", "either value and tolerance or error"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nlow = 2\nhigh = 1', "must be below high"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nlow = 2\nratio_to = "a"', "method itself"),
        ('kind = "band"\nmetric = "score"\nmethod = "a"\nvalue = { nera = 1.0 }\ntolerance = 1',
         "'nera'. Did you mean 'near'"),
        ('kind = "share"\nmetric = "score"\nmethod = "a"\nat_least = 0.5',
         "either 'better_than', 'above' or 'below'"),
        ('kind = "share"\nmetric = "score"\nmethod = "a"\nabove = 1\nat_least = 1.5', "a share is"),
        ("metric = 3", "claims.it.kind: Field required"),
        ('kind = "share"\nmetric = "score"\nmethod = "c"\nabove = 2\nat_least = 0.5\n'
         'tasks = ["near"]',
         "5 seeds can never decide it"),
        (f'{ORDER}\nreadings = ["decai"]\n{READING}', "no reading 'decai'. Did you mean 'decay'"),
        (f"{ORDER}\n{READING}".replace("moved", "move"), "decay: unknown key 'move'. Did you mean"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_claim_is_told_with_file_key_and_nearest_name(host, settings, message):
    with pytest.raises(UqbenchError) as caught:
        parse_suite(stated(settings), host, "claims.toml")
    assert str(caught.value).startswith("claims.toml: ")
    assert message in str(caught.value)


def test_a_published_number_says_where_it_stands(host):
    published = 'kind = "band"\nmetric = "score"\nmethod = "b"\nvalue = 2.2\ntolerance = 1.0'
    good = ("A 2019, Table 2", "A 2019, Figures C.2 and 3", "A 2019, section 5.1, on a GPU",
            "A 2019, figures on it; read off figures, not verifiable from the text")  # fmt: skip
    for source in good:
        parse_suite(stated(published).replace("Figure 1", source), host, "claims.toml")
    for source in ("A 2019", "A 2019, figures on it", "A 2019, tables"):
        with pytest.raises(UqbenchError, match=f"source: '{source}' does not say where"):
            parse_suite(stated(published).replace("Figure 1", source), host, "claims.toml")
        parse_suite(stated(ORDER).replace("Figure 1", source), host, "claims.toml")


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ('["papre"]', "no budget 'papre'. Did you mean 'paper'"),
        ('["smoke"]', "the budget 'smoke' cannot rank methods"),
        ("[]", "budgets: Tuple should have at least 1"),
        ('"paper"', "budgets: Input should be a valid array"),
    ],
)
def test_a_claim_needs_budgets_that_can_rank(host, budgets, message):
    with pytest.raises(UqbenchError, match="claims") as caught:
        parse_suite(stated(ORDER, budgets), host, "claims.toml")
    assert message in str(caught.value)


def test_a_plugin_joins_claims_and_ids_are_unique(host):
    suite = parse_suite(stated(ORDER), host, "claims.toml")
    own = {
        "id": "mine",
        "sentence": "Mine is better.",
        "source": "my paper",
        "budgets": ["paper"],
        "kind": "order",
        "metric": "score",
        "methods": ["mine", "a"],
    }
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
    suite = parse_suite(stated(settings), host, "claims.toml")
    plan = make_plan(suite, host, "paper", device="cpu", **selection)
    return Board.of(plan, scores_of(plan, value))


def test_claims_csv_has_a_row_a_comparison_and_the_manifest_covers_it(host):
    files = board(host).files()
    rows = list(csv.DictReader(io.StringIO(files["claims.csv"])))
    assert [row["comparison"] for row in rows] == ["c over a", "c over b"]
    assert {row["verdict"] for row in rows} == {"holds"}
    assert {row["comparison_is"] for row in rows} == {"true"}
    assert rows[0]["estimate"] == "1"
    assert float(rows[0]["low"]) > 0.5
    assert rows[0]["must_be_above"] == "0.5"
    assert rows[0]["confidence"] == "0.975"
    assert (rows[0]["runs"], rows[0]["runs_planned"]) == ("20", "30")
    digest = sha256(files["claims.csv"].encode()).hexdigest()
    assert json.loads(files["manifest.json"])["sha256"]["claims.csv"] == digest
    assert board(host).files() == files


def test_a_suite_without_claims_has_a_table_without_rows(host):
    suite = parse_suite(SUITE, host, "claims.toml")
    plan = make_plan(suite, host, "paper", device="cpu")
    text = Board.of(plan, scores_of(plan, spread)).files()["claims.csv"]
    assert text.startswith("claim,verdict,")
    assert text.count("\n") == 1


def test_without_the_package_a_suite_runs_and_its_claims_are_neither_checked_nor_judged(host):
    bare = with_plugins("uqbench.registry.builtin.plugin", "toy_uqbench")
    suite = parse_suite(stated('kind = "mine, of no plugin"'), bare, "claims.toml")
    plan = make_plan(suite, bare, "paper", device="cpu")
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
    text = as_text(judgement)
    assert text.startswith("It is so.\n  holds, under decay\n")
    assert as_json(judgement)["readings"]["decay"]["moved"] == "not tried"
    found = board(host, settings)
    assert {
        row["readings"] for row in csv.DictReader(io.StringIO(found.files()["claims.csv"]))
    } == {"decay"}
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


def test_a_board_of_older_code_says_so(stored):
    assert "made with other code than is installed: uqbench aaaa (here" in check(stored, 0)


def check(stored, code, *, rewrite=False):
    option = "--rewrite" if rewrite else "--check"
    where = ("--to", stored.parents[1], "--out", stored / "nothing")
    return uqbench("leaderboard", "--suite", "toy", option, *where, code=code)


def test_a_stored_board_is_checked_with_its_claims(stored):
    assert "claims.csv" in check(stored, 0)
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


def test_a_claim_that_the_suite_s_own_alternative_turns_round_is_open(host):
    """Whichever way the runs decide it; one that the alternative leaves as it is does not."""
    holds, fails = ORDER, ORDER.replace('["c", ["a", "b"]]', '["a", "c"]')
    for order, other, expected in (
        (holds, "does not hold", Verdict.OPEN),
        (holds, "holds", Verdict.HOLDS),
        (fails, "holds", Verdict.OPEN),
        (fails, "does not hold", Verdict.DOES_NOT_HOLD),
    ):
        under = f'{{ decay = {{ verdict = "{other}", found = "7 of 9" }} }}'
        judgement = judged(host, f'{order}\nreadings = ["decay"]\nunder = {under}\n{READING}')
        assert judgement.verdict is expected
        assert (f"{other} under 'decay' (7 of 9)" in judgement.reason) == (expected is Verdict.OPEN)
    wrong = f'{ORDER}\nunder = {{ decai = {{ verdict = "holds", found = "" }} }}\n{READING}'
    with pytest.raises(UqbenchError, match=r"no reading 'decai'. Did you mean 'decay'"):
        judged(host, wrong)


def test_a_claim_in_another_setting_than_the_papers_is_open_and_says_what_the_runs_say(host):
    """Whatever the runs say: what differs may be what decides."""
    assert judged(host, ORDER).verdict is Verdict.HOLDS
    other = judged(host, f'{ORDER}\ndiffers = "a third of the images"')
    assert other.verdict is Verdict.OPEN
    said = "another setting than the paper's: a third of the images; here it holds"
    assert other.reason.startswith(said)
    assert other.findings


def test_a_statistic_over_more_tasks_than_there_are_is_not_run(host):
    assert judged(host, f"{ORDER}\nleast_tasks = 2").verdict is Verdict.HOLDS
    suite = stated(f"{ORDER}\nleast_tasks = 2", '["one-task"]')
    plan = make_plan(parse_suite(suite, host, "claims.toml"), host, "one-task", device="cpu")
    (few,) = judge(plan, scores_of(plan, spread))
    assert few.verdict is Verdict.NOT_RUN
    assert few.reason == "the paper's statistic is over 2 tasks, this budget has 1"


@pytest.mark.parametrize("budget", ["paper", "one-task"])
def test_a_statistic_over_more_tasks_than_the_suite_has_needs_no_other_budget(host, budget):
    few = judged(host, f"{ORDER}\nleast_tasks = 57", budget=budget)
    assert few.verdict is Verdict.NOT_RUN
    said = "no budget can decide it: the paper's statistic is over 57 tasks, the suite has 2"
    assert few.reason == said
    assert "needs" not in as_text(few)


@pytest.mark.parametrize(
    ("began", "verdict"),
    [
        ("2026-01-06T00:00:00+00:00", Verdict.DOES_NOT_HOLD),
        ("2026-01-05T23:00:00+00:00", Verdict.OPEN),  # of the same day: nobody can tell
        ("2025-12-31T00:00:00+00:00", Verdict.OPEN),
        ("", Verdict.OPEN),
    ],
)
def test_a_margin_counts_for_runs_that_were_begun_after_it_was_set(host, began, verdict):
    order = 'kind = "order"\nmetric = "falls"\nmethods = ["a", "c"]\ntasks = ["near"]'
    few = 'summary = "fewer are better"'
    dated = stated(order).replace(few, f'{few}\nmargin = 5.0\nmargin_set = "2026-01-05"')
    plan = make_plan(parse_suite(dated, host, "claims.toml"), host, "paper", device="cpu")
    scores = scores_of(plan, lambda m, t, s: (s * 3 + (m == "c")) % 4)
    (judgement,) = judge(plan, scores, began)
    assert judgement.verdict is verdict
    late = "the margin, 5, was set after the runs" in judgement.reason
    assert late == (verdict is Verdict.OPEN)
    with pytest.raises(UqbenchError, match="margin and margin_set: expected both"):
        parse_suite(stated(order).replace(few, f"{few}\nmargin = 5.0"), host, "claims.toml")


def test_a_pair_of_methods_is_told_in_a_sentence_in_python_and_by_a_command(stored):
    """The first method that is named is what the sentence is about."""
    import uqbench as package

    board = package.load(stored.parents[1])["toy", "paper"]
    said = board.sentence("fast", "slow")
    pair = board.pairs().iloc[0]
    assert (pair["first"], pair["second"]) == ("fast", "slow")
    better = "better" if pair["difference"] > 0 else "worse"
    assert said.startswith(f"fast is not significantly {better} than slow on toy · paper: ")
    assert f"{pair['difference']:+.3g} [" in said
    assert f"p = {pair['p_adjusted']:.2g}" in said
    assert " more seeds would decide (" in said
    told = uqbench("compare", stored, "--pair", "fast,slow")
    assert told == f"{said}\n"
    with pytest.raises(
        UqbenchError, match=r"toy · paper .* has no method 'slo'. Did you mean 'slow'"
    ):
        board.sentence("fast", "slo")
    with pytest.raises(UqbenchError, match=r"toy · paper .* has no method"):
        board.sentence("fast", "fast")
