"""A board's columns in three groups."""

import csv
import io
import json
from dataclasses import replace

import pytest

from uqbench.boards import Board, Score
from uqbench.boards.provenance import MadeWith
from uqbench.pages.markdown import page
from uqbench.registry import Host
from uqbench.suites import Metric, make_plan, read_suites


def metric(kind, **fields):
    return Metric(name="m", summary="", kind=kind, **fields)


@pytest.mark.parametrize(
    ("of", "about"),
    [
        (metric("online"), "return"),
        (metric("evaluation", statistic="reward_per_step"), "return"),
        (metric("online", statistic="events_per_step/regret", group="return"), "return"),
        (metric("online", risk="cvar(0.25)"), "risk"),
        (metric("online", statistic="events/falls", direction="min"), "risk"),
        (metric("queries", statistic="queries/crps"), "uncertainty"),
        (metric("agent", statistic="uncertainty/coverage_90"), "uncertainty"),
        (metric("agent", statistic="non_greedy_share"), None),
        (metric("online", statistic="length"), None),
        (metric("cost", statistic="steps_per_s"), None),
        (metric("dataset", statistic="auroc"), None),
    ],
)
def test_a_metric_is_about_what_its_kind_says(of, about):
    assert of.about == about


def test_what_a_metric_is_about_does_not_change_what_it_is():
    assert metric("online").definition() == metric("online", group="risk").definition()


@pytest.fixture(scope="module")
def host():
    return Host.load()


def board_of(host, name, methods, value, budget="paper"):
    """A board whose runs have the metrics ``value(method, metric)``."""
    suite = read_suites(host, check=()).suite(name)
    plan = make_plan(suite, host, budget, device="cpu", methods=methods, seeds=range(3))
    constants = suite.normalization_constants(suite.primary_metric(plan.budget))
    scores = []
    for run in sorted(plan.runs, key=lambda run: (run.task, run.method, run.seed)):
        values = {m.name: value(run.method, m) for m in suite.metrics}
        own = {name: one for name, one in values.items() if one is not None}
        normal = constants[run.task].normalize(own[suite.primary])
        scores.append(
            Score(run.task, run.method, run.seed, "finished", "cpu", normal, own,
                  str(run.folder), run.digest, "uqbench:aaaa")
        )  # fmt: skip
    return Board.of(replace(plan, claims=()), scores)


@pytest.fixture(scope="module")
def cartpole(host):
    """Bayes knows what it does not know and falls; c51-cvar says nothing of its uncertainty."""

    def value(method, metric):
        if metric.kind == "queries" and method == "c51-cvar":
            return None
        if metric.name == "q_coverage_90_ceiling":
            return 0.6
        return 0.01 if metric.name == "falls_per_step" else 0.25

    return board_of(host, "cartpole", ["sentinel-4", "c51-cvar"], value)


def test_leaderboard_csv_has_the_groups_in_order_and_the_manifest_names_them(cartpole):
    files = cartpole.files()
    groups = json.loads(files["manifest.json"])["groups"]
    assert list(groups) == ["return", "risk", "uncertainty"]
    names = [name for group in groups.values() for name in group]
    header = next(csv.reader(io.StringIO(files["leaderboard.csv"])))
    assert [name for name in header if name in names] == names
    assert "q_coverage_90_mean" in groups["uncertainty"]
    (own,) = (
        row
        for row in csv.DictReader(io.StringIO(files["leaderboard.csv"]))
        if row["method"] == "sentinel-4"
    )
    assert (own["q_coverage_90_mean"], own["q_coverage_90_ceiling_mean"]) == ("0.25", "0.6")


def test_scores_in_units_of_return_have_no_mean_over_tasks(host):
    board = board_of(host, "minatar", ["dqn", "qr-dqn"], lambda *_: 0.5)
    names = {column.name for column in board.columns}
    assert {"return_proper_mean", "novelty_mean", "q_coverage_90_mean"} <= names
    assert not any(name.startswith(("q_error", "bias", "cvar25_error")) for name in names)


def test_a_page_shows_beside_the_score_what_its_suite_says_and_no_manifest_knows(host):
    """By rank correlation QUAM is first on two moons, by absolute error csg-HMC."""

    def value(method, metric):
        errors = {"quam": 0.3, "csg-hmc": 0.2}  # nats; both tasks' constants are .3325 and 9.714
        return errors[method] if metric.name.endswith("mae") else 0.5

    board = board_of(host, "two-moons", ["quam", "csg-hmc"], value)
    header, _, *rows = [line for line in page(board, [], "").splitlines() if line[:1] == "|"][:4]
    at = header.split(" | ").index("mae")
    shown = {row.split("`")[1]: row.split(" | ")[at].split(" ")[0] for row in rows}
    wanted = {"quam": 1 - 0.15 / 0.3325 - 0.15 / 9.714, "csg-hmc": 1 - 0.1 / 0.3325 - 0.1 / 9.714}
    assert shown == {name: f"{mean:.3f}" for name, mean in wanted.items()}
    assert "beside" not in board.files()["manifest.json"]


def test_the_page_lists_machines_that_look_alike_once(cartpole):
    versions = {"torch": "2", "a": "1"}
    one = MadeWith("cpu", "Linux", versions, {}, "f" * 40, "2026-01-02", "2026-01-03", 6)
    other = replace(one, versions={"torch": "2", "b": "1"}, first="2026-01-01", runs=4)
    slower = replace(one, device="an older one")
    text = page(cartpole, [one, other, slower], "")
    section = text[text.index("## Made with") :]
    listed = [line for line in section.splitlines() if " runs on " in line]
    assert [line[:20] for line in listed] == ["- 10 runs on cpu (Li", "- 6 runs on an older"]
    assert listed[0].endswith("2026-01-01 to 2026-01-03")


COST = """task,method,device,runs,steps_per_s,device_hours,clock
a,sentinel-4,{0},3,9.0,0.5,cpu
b,sentinel-4,{0},3,9.0,0.25,cpu
a,c51-cvar,cpu,3,9.0,1200.004,cpu
"""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cpu", "Hours are a core's: 1,200.75 in all, Linux, AMD EPYC, Darwin (`cost.csv`)."),
        ("cuda", "Hours are a device's: 1,200.75 in all, an H200 (`cost.csv`)."),
    ],
)
def test_hours_of_each_row_and_the_processors_stand_at_the_first_table(cartpole, kind, said):
    one = MadeWith("an H200", "Linux, AMD EPYC", {}, {}, None, "2026-01-02", "2026-01-03", 3)
    text = page(cartpole, [one, one, replace(one, platform="Darwin")], COST.format(kind))
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| rank"))
    assert lines[first].endswith("| hours |")
    hours = {row.split("`")[1]: row.split(" | ")[-1] for row in lines[first + 2 : first + 4]}
    assert hours == {"sentinel-4": "0.75 |", "c51-cvar": "1,200.00 |"}
    assert lines[first + 5] == said
    without = page(cartpole, [one], "")
    assert "| hours |" not in without
    assert "Hours are" not in without
