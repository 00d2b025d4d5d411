import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rliable import metrics as rliable_metrics

from uqbench.registry.plugins import Host
from uqbench.scoring.leaderboard import Board, ranks
from uqbench.scoring.scores import Score, from_csv, to_csv
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites


@pytest.fixture(scope="module")
def plan() -> Plan:
    host = Host.load()
    suite = read_suites(host).suite("minatar")
    return make_plan(suite, host, "cpu", device="cpu", methods=["dqn", "qr-dqn"])


@pytest.fixture
def scores(plan: Plan) -> list[Score]:
    """Simulated scores: qr-dqn better than dqn by 0.3, spread 0.1."""
    generator = np.random.default_rng(0)
    constants = plan.suite.normalization_constants(plan.suite.metric("online_return"))
    found = []
    for run in sorted(plan.runs, key=lambda run: (run.task, run.method, run.seed)):
        reference = constants[run.task]
        normal = 0.5 + 0.3 * (run.method == "qr-dqn") + 0.1 * generator.standard_normal()
        raw = reference.zero + normal * (reference.one - reference.zero)
        values = {m.name: raw for m in plan.suite.metrics}
        content = "uqbench:aaaa uqbench_dqn:bbbb"
        found.append(
            Score(
                run.task, run.method, run.seed, "finished", "cpu", reference.normalize(raw),
                values, str(run.folder), run.digest, content,
            )
        )  # fmt: skip
    return found


def rows(board: Board, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(board.files()[name])))


def failed(score: Score) -> Score:
    return replace(score, status="failed", score=None, values={}, digest="", content="")


def test_point_estimates_are_rliables(plan, scores):
    board = Board.of(plan, scores)
    for row in rows(board, "leaderboard.csv"):
        own = [score for score in scores if score.method == row["method"]]
        tasks = sorted({score.task for score in own})
        matrix = np.array([[s.score for s in own if s.task == task] for task in tasks]).T
        assert matrix.shape == (5, 5)
        for name in ("iqm", "median", "mean", "optimality_gap"):
            expected = getattr(rliable_metrics, f"aggregate_{name}")(matrix)
            assert float(row[name]) == pytest.approx(expected, rel=1e-5)
            assert float(row[f"{name}_low"]) < float(row[name]) < float(row[f"{name}_high"])
    assert [row["rank"] for row in rows(board, "leaderboard.csv")] == ["2", "1"]
    assert float(rows(board, "leaderboard.csv")[1]["improvement_over_dqn"]) > 0.9


def test_the_same_scores_give_the_same_bytes_in_any_order(plan, scores):
    files = Board.of(plan, scores).files()
    assert Board.of(plan, scores).files() == files
    again = from_csv(to_csv(scores, plan.suite.metrics), "scores.csv")
    assert Board.of(plan, again).files() == files
    np.random.default_rng(1).shuffle(scores)
    shuffled = Board.of(plan, sorted(scores, key=lambda s: (s.task, s.method, s.seed)))
    assert shuffled.files() == files


def test_a_failed_run_is_shown_and_never_averaged_away(plan, scores):
    hurt = [failed(s) if (s.task, s.method, s.seed) == ("freeway", "qr-dqn", 2) else s
            for s in scores]  # fmt: skip
    board = Board.of(plan, hurt)
    dqn, qr = rows(board, "leaderboard.csv")
    assert (qr["runs_planned"], qr["runs_scored"], qr["runs_failed"]) == ("25", "24", "1")
    assert qr["iqm"] == qr["iqm_low"] == qr["improvement_over_dqn"] == qr["rank"] == ""
    assert dqn["iqm"] != ""
    assert ranks(board.lines) == {"dqn": 1}
    tasks = {(row["task"], row["method"]): row for row in rows(board, "tasks.csv")}
    assert tasks["freeway", "qr-dqn"]["online_return"] == ""
    assert tasks["breakout", "qr-dqn"]["online_return"] != ""
    assert json.loads(board.files()["manifest.json"])["runs"]["failed"] == 1


@pytest.mark.parametrize(("seeds", "interval"), [(2, False), (3, True)])
def test_with_fewer_than_three_seeds_there_is_no_interval(plan, scores, seeds, interval):
    few = [score for score in scores if score.seed < seeds]
    for row in rows(Board.of(plan, few), "leaderboard.csv"):
        assert row["iqm"] != ""
        assert (row["iqm_low"] != "") == (row["iqm_high"] != "") == interval


def test_a_budget_that_cannot_rank_shows_no_order(plan, scores):
    unranked = replace(plan, budget=plan.budget.model_copy(update={"ranks": False}))
    assert {row["rank"] for row in rows(Board.of(unranked, scores), "leaderboard.csv")} == {""}


def test_a_board_that_mixes_contents_says_so(plan, scores):
    manifest = json.loads(Board.of(plan, scores).files()["manifest.json"])
    assert manifest["mixes_content"] is False
    scores[3] = replace(scores[3], content="uqbench:cccc uqbench_dqn:bbbb")
    manifest = json.loads(Board.of(plan, scores).files()["manifest.json"])
    assert manifest["mixes_content"] is True
    assert manifest["content"] == {"uqbench": ["aaaa", "cccc"], "uqbench_dqn": ["bbbb"]}


def test_scores_are_read_back_exactly(plan, scores):
    scores[0] = failed(scores[0])
    text = to_csv(scores, plan.suite.metrics)
    read = from_csv(text, "scores.csv")
    assert [s.score for s in read] == [s.score for s in scores]
    assert to_csv(read, plan.suite.metrics) == text
