"""Boards of scores: aggregates by rliable's functions, and differences that seeds can show."""

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from uqbench_leaderboard.check import same_result

import uqbench
from uqbench.board_table import BoardTable
from uqbench.boards import Board, from_csv, to_csv
from uqbench.boards.detectable import detectable, detectable_note
from uqbench.errors import UqbenchError
from uqbench.pages.markdown import page
from uqbench.registry import Host
from uqbench.results import Folder, Score, Scores
from uqbench.specs import Spec
from uqbench.statistics.levels import ALPHA, POWER
from uqbench.suites import Plan, make_plan, read_suites
from uqbench.suites.checks import check_ranking


@pytest.fixture(scope="module")
def plan() -> Plan:
    host = Host.load()
    suite = read_suites(host, check=("minatar",)).suite("minatar")
    five = suite.budget("paper").model_copy(update={"seeds": 5})
    # what is simulated here has no range
    metrics = [m.model_copy(update={"may_fail": {}, "lowest": None}) if m.highest is None else m
               for m in suite.metrics]  # fmt: skip
    changed = {"budgets": suite.budgets | {"paper": five}, "metrics": tuple(metrics)}
    suite = suite.model_copy(update=changed)
    return make_plan(suite, host, "paper", device="cpu", methods=["dqn", "qr-dqn"])


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
        share = (run.seed + 1) / 10  # of metrics whose range is known
        values = {m.name: share if m.bounds else raw for m in plan.suite.metrics}
        content = "uqbench:aaaa uqbench_dqn:bbbb"
        found.append(
            Score(
                run.task, run.method, run.seed, "finished", "cpu", reference.normalize(raw),
                values, str(run.folder), run.digest, content,
            ))  # fmt: skip
    return found


def rows(board: Board, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(board.files()[name])))


def test_the_same_scores_give_the_same_bytes_in_any_order(plan, scores):
    files = Board.of(plan, scores).files()
    assert Board.of(plan, scores).files() == files
    again = from_csv(to_csv(Scores.of(scores), plan.suite.metrics).decode(), "scores.csv")
    assert Board.of(plan, again).files() == files
    np.random.default_rng(1).shuffle(scores)
    assert Board.of(plan, sorted(scores, key=lambda s: (s.task, s.method, s.seed))).files() == files


def test_a_failed_run_is_shown_and_never_averaged_away(plan, scores):
    failed = {"status": "failed", "score": None, "values": {}, "digest": "", "content": ""}
    gone = ("freeway", "qr-dqn", 2)
    hurt = [replace(s, **failed) if (s.task, s.method, s.seed) == gone else s for s in scores]
    board = Board.of(plan, hurt)
    dqn, qr = rows(board, "leaderboard.csv")
    assert (qr["runs_planned"], qr["runs_scored"], qr["runs_failed"]) == ("25", "24", "1")
    assert qr["iqm"] == qr["iqm_low"] == qr["rank"] == ""
    assert "improvement_over_dqn" not in qr  # nobody has any
    assert dqn["iqm"] != ""
    assert board.places == {}  # the other has no score: who is alone is first of nothing
    assert board.pairs == ()
    tasks = {(row["task"], row["method"]): row for row in rows(board, "tasks.csv")}
    assert tasks["freeway", "qr-dqn"]["online_return"] == ""
    assert tasks["breakout", "qr-dqn"]["online_return"] != ""
    assert json.loads(board.files()["manifest.json"])["runs"]["failed"] == 1


@pytest.mark.parametrize(("seeds", "interval"), [(2, False), (3, True)])
def test_with_fewer_than_three_seeds_there_is_no_interval(plan, scores, seeds, interval):
    few = [score for score in scores if score.seed < seeds]
    for row in rows(Board.of(plan, few), "leaderboard.csv"):
        assert row["mean"] != ""
        assert (row["mean_low"] != "") == (row["mean_high"] != "") == interval


def test_a_board_that_mixes_contents_says_so(plan, scores):
    other = [replace(scores[0], content="uqbench:cccc uqbench_dqn:bbbb"), *scores[1:]]
    same, mixed = (json.loads(Board.of(plan, s).files()["manifest.json"]) for s in (scores, other))
    assert (same["mixes_content"], mixed["mixes_content"]) == (False, True)
    assert mixed["content"] == {"uqbench": ["aaaa", "cccc"], "uqbench_dqn": ["bbbb"]}


# -- what is ranked by, and how surely ------------------------------------------------------------


def on_one_task(plan, scores):
    cells = tuple(cell for cell in plan.cells if cell.task.name == "freeway")
    one = replace(plan, cells=cells, budget=plan.budget.model_copy(update={"tasks": ("freeway",)}))
    return one, [score for score in scores if score.task == "freeway"]


def test_places_on_a_task_are_those_of_a_board_of_that_task(plan, scores):
    turned = [replace(s, score=-s.score) if s.task == "freeway" else s for s in scores]
    whole, alone = Board.of(plan, turned), Board.of(*on_one_task(plan, turned))
    assert whole.places_on("freeway") == alone.places != whole.places_on("breakout")


def test_ranks_by_a_further_metric_are_those_of_a_board_by_that_metric_alone(plan, scores):
    name = "evaluation_return"
    constants = plan.suite.normalization_constants(plan.suite.metric(name))
    late = {(s.method, s.seed): s.seed + 3.0 * (s.method == "dqn") for s in scores}
    worse = [replace(s, values=s.values | {name: late[s.method, s.seed]}) for s in scores]
    further, by_it = (
        replace(plan, budget=plan.budget.model_copy(update=changed))
        for changed in ({"also_ranked_by": (name,)}, {"primary": name})
    )
    board = Board.of(further, worse)
    own = [replace(s, score=constants[s.task].normalize(s.values[name])) for s in worse]
    alone = Board.of(by_it, own)
    assert "also_ranked_by" not in plan.budget.model_dump()
    assert board.further_places == {name: alone.places}
    assert board.pairs_by(plan.suite.metric(name)) == alone.pairs
    assert [of.places["dqn"].rank for of in (board, alone)] == [2, 1]
    assert "By evaluation return dqn (" in board.finding


def test_the_worst_quarter_is_the_mean_of_the_worst_quarter_of_the_runs(plan, scores):
    row, by_task = rows(Board.of(plan, scores), "leaderboard.csv")[0], {}
    for score in scores:
        if score.method == row["method"]:
            by_task.setdefault(score.task, []).append(score.score)
    # five runs: the worst, and a quarter of the second
    worst = [(v[0] + 0.25 * v[1]) / 1.25 for v in map(sorted, by_task.values())]
    assert float(row["worst_quarter"]) == pytest.approx(np.mean(worst), rel=1e-5)


def failing(plan):
    """The plan with a failure threshold of its primary metric, and its range."""
    metric = plan.suite.primary_metric(plan.budget)
    changed = metric.model_copy(update={"fails_beyond": 0.0, "lowest": -10.0, "highest": 1e4})
    metrics = tuple(changed if m == metric else m for m in plan.suite.metrics)
    return replace(plan, suite=plan.suite.model_copy(update={"metrics": metrics}))


def test_where_runs_may_fail_they_are_counted_and_mean_and_pairs_have_bounds(plan, scores):
    one, scores = on_one_task(plan, scores)
    student, bounded = Board.of(one, scores), Board.of(failing(one), scores)
    (before, after), (p, bounded_p) = (
        [rows(board, name)[0] for board in (student, bounded)]
        for name in ("leaderboard.csv", "pairs.csv")
    )
    assert float(after["mean_low"]) < float(before["mean_low"])
    assert float(after["mean_high"]) > float(before["mean_high"])
    assert float(bounded_p["p"]) > float(p["p"])
    hurt = [replace(s, values={"online_return": -1.0 * (s.seed == 0)}) for s in scores]
    for row in rows(Board.of(failing(one), hurt), "leaderboard.csv"):
        assert row["fail_share"] == "0.2"
        assert 0 < float(row["fail_share_low"]) < 0.2 < float(row["fail_share_high"])


def test_one_value_that_is_no_number_costs_its_own_cell_alone(plan, scores):
    clean = Board.of(plan, scores)
    scores[0] = replace(scores[0], values=scores[0].values | {"online_cvar25": float("nan")})
    board = Board.of(plan, scores)
    before, after = (rows(b, "leaderboard.csv") for b in (clean, board))
    assert after[0]["online_cvar25_mean"] == "" != before[0]["online_cvar25_mean"]
    assert after[0]["mean_low"] == before[0]["mean_low"]
    assert after[1] == before[1]
    json.loads(board.files()["manifest.json"], parse_constant=pytest.fail)


def test_what_could_never_be_ranked_is_an_error():
    coins = [(0.0, 1.0)]
    for seeds, given in ((2, {"paired": False, "ranges": None}),
                         (6, {"paired": False, "ranges": coins})):  # fmt: skip
        with pytest.raises(ValueError, match=f"{seeds} seeds can never tell any two of 9 methods"):
            check_ranking(seeds, 9, **given)
        check_ranking(10 * seeds, 9, **given)
    check_ranking(3, 9, paired="", ranges=None)


# -- two forms of scores.csv ----------------------------------------------------------------------


def test_a_missing_value_is_not_an_empty_one_and_scores_are_read_back_exactly(plan, scores):
    without = {n: v for n, v in scores[0].values.items() if n != "evaluation_return"}
    scores[0] = replace(scores[0], values=without)
    scores[1] = replace(scores[1], values=scores[1].values | {"evaluation_return": None})
    text = to_csv(Scores.of(scores), plan.suite.metrics).decode()
    cells = [row["evaluation_return"] for row in csv.DictReader(io.StringIO(text))]
    assert (cells[:2], [*from_csv(text, "scores.csv")]) == (["", "none"], scores)


def test_the_same_result_is_the_same_whatever_it_cost(plan, scores):
    one = scores[0]
    assert same_result(one, replace(one, content="uqbench:dddd"))
    slower = replace(one, values=one.values | {"steps_per_s": 1.0})
    assert not same_result(one, slower)
    assert same_result(one, slower, measured=["steps_per_s"])
    assert not same_result(one, replace(one, digest="0"))
    assert same_result(one, replace(one, digest="0", digest_of="record"))
    assert not same_result(one, replace(one, values=one.values | {"online_return": 0.25}))


def test_a_row_that_is_cut_before_its_score_is_named():
    head = "task,method,seed,status,device,score,run,results_digest,content"
    with pytest.raises(UqbenchError, match=r"scores\.csv"):
        from_csv(f"{head}\nshort,fast,0,finished,cpu\n", "scores.csv")


class Counts(BoardTable):
    """A table that a plugin adds to boards: the number of runs of each method."""

    kept, section = False, "## Counts"

    def __init__(self, board):
        self.board = board

    @property
    def applies(self):
        return self.board.ranks

    @property
    def frame(self):
        methods = self.board.methods.items()
        runs = {name: sum(map(len, own.cells.values())) for name, own in methods}
        return pd.DataFrame({"method": list(runs), "runs": list(runs.values())})


def test_a_table_of_a_plugin_is_a_file_where_it_applies_and_is_not_kept(plan, scores, monkeypatch):
    spec = Spec(name="counts", version="1", factory=Counts)
    board = Board.of(replace(plan, board_tables=(spec,)), scores)
    assert board.files()["counts.csv"].startswith("method,runs\ndqn,")
    assert "## Counts" in page(board, [], "")
    unranked = plan.budget.model_copy(update={"ranks": False})
    assert "counts.csv" not in Board.of(replace(board.plan, budget=unranked), scores).files()
    monkeypatch.setattr(Counts, "kept", True)
    assert "counts.csv" not in Board.of(board.plan, scores).files()


LEADERBOARDS = Path(__file__).parents[2] / "leaderboards"


def said(text: str) -> float:
    """The difference in the sentence."""
    found = re.search(r"differ by ([\d.e-]+) of score, with 80 %", text)
    assert found is not None
    return float(found[1])


def test_more_seeds_show_less_and_three_are_the_fewest():
    intervals = [(0.0, 1.0), (0.5, 0.7), (-2.0, 1.0)]  # the median one has a width of 1
    shown = [said(detectable(intervals, 10, seeds)) for seeds in (3, 10, 40)]
    assert shown == sorted(shown, reverse=True)
    assert shown[1] / shown[2] == pytest.approx(2, rel=0.1)
    assert said(detectable([(0.0, 1.0)] * 3, 10, 10)) == shown[1]
    assert "2 seeds are too few to distinguish any" in detectable(intervals, 10, 2)


def test_a_comparison_says_what_a_plan_does():
    generator = np.random.default_rng(3)
    compared = uqbench.compare({name: generator.normal(size=(10, 2)) for name in "ab"})
    [pair] = compared.board.pairs
    assert detectable([(pair.difference.low, pair.difference.high)], 10, 10) in repr(compared)


@pytest.mark.parametrize("pairs", [1, 3])
def test_few_seeds_reach_as_far_as_students_quantiles_of_their_own_say(pairs):
    """From five seeds to three, of which a pair has four degrees of freedom, at a shared level."""
    level = 1 - ALPHA / 2 / pairs
    error = 0.5 / stats.t.ppf(level, 8) * (5 / 3) ** 0.5
    reach = error * (stats.t.ppf(level, 4) + stats.t.ppf(POWER, 4))
    assert f"differ by {reach:.2g} of score" in detectable([(0.0, 1.0)] * pairs, 5, 3)


def test_a_plan_is_told_what_its_seeds_show_by_the_first_whole_board_of_its_budget(tmp_path):
    """Pairs' intervals and the number of seeds then are the stored board's, recomputed here."""
    host = Host.load()
    suite = read_suites(host, check=()).suite("ube-terms")
    plan = make_plan(suite, host, "paper", seeds=range(7), device="cpu")
    at, roots = LEADERBOARDS / "ube-terms/paper", [Folder(tmp_path), Folder(LEADERBOARDS)]
    pairs = pd.read_csv(at / "pairs.csv").dropna(subset=["p_adjusted"])
    then = pd.read_csv(at / "scores.csv.gz").groupby(["method", "task"]).size().max()
    assert then != 7
    of = [*zip(pairs["difference_low"], pairs["difference_high"], strict=True)]
    expected = f"By {at}, {detectable(of, then, 7)}"
    assert detectable_note(plan, roots) == expected

    copy = tmp_path / "ube-terms/paper"
    shutil.copytree(at, copy)
    assert detectable_note(plan, roots) == expected.replace(str(at), str(copy))
    (copy / "pairs.csv").write_text("damaged")
    assert detectable_note(plan, roots) == expected
    (copy / "pairs.csv").unlink()
    assert (detectable_note(plan, roots), detectable_note(plan, roots[:1])) == (expected, "")
    unranked = replace(plan, budget=plan.budget.model_copy(update={"ranks": False}))
    assert detectable_note(unranked, roots) == ""
