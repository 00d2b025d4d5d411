"""A board's columns in three groups."""

from dataclasses import replace

import pytest

from uqbench.boards import Board, Score
from uqbench.boards.provenance import MadeWith
from uqbench.pages.markdown import page
from uqbench.registry import Host
from uqbench.suites import Metric, make_plan, read_suites


def test_what_a_metric_is_about_does_not_change_what_it_is():
    metric = Metric(name="m", summary="", kind="online")
    assert metric.definition() == metric.model_copy(update={"group": "risk"}).definition()


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
                  str(run.folder), run.digest, "uqbench:aaaa"))  # fmt: skip
    return Board.of(replace(plan, claims=()), scores)


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


def test_the_page_lists_machines_that_look_alike_once(host):
    board = board_of(host, "minatar", ["dqn"], lambda *_: 0.5)
    one = MadeWith(
        "cpu", "Linux", {"torch": "2", "a": "1"}, {}, "f" * 40, "2026-01-02", "2026-01-03", 6
    )
    other = replace(one, versions={"torch": "2", "b": "1"}, first="2026-01-01", runs=4)
    text = page(board, [one, other, replace(one, device="an older one")], "")
    section = text[text.index("## Made with") :]
    listed = [line for line in section.splitlines() if " runs on " in line]
    assert [line[:20] for line in listed] == ["- 10 runs on cpu (Li", "- 6 runs on an older"]
    assert listed[0].endswith("2026-01-01 to 2026-01-03")
