import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rliable import metrics as rliable_metrics
from uqbench_leaderboard.check import same_result

from uqbench.board_table import BoardTable
from uqbench.boards import Board, from_csv, to_csv
from uqbench.errors import UqbenchError
from uqbench.pages.markdown import page
from uqbench.registry import Host
from uqbench.results import Score, Scores
from uqbench.specs import Spec
from uqbench.statistics.location import location
from uqbench.statistics.ranks import compare, places
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
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            if name not in (board.ranking, "optimality_gap"):  # no interval was shown to cover
                assert ends == ["", ""]
                continue
            low, high = map(float, ends)
            assert low < float(row[name]) < high
            expected = location(matrix, name).interval(0.05)
            assert (low, high) == pytest.approx(expected, rel=1e-4)
    assert [row["rank"] for row in rows(board, "leaderboard.csv")] == ["2", "1"]
    assert float(rows(board, "leaderboard.csv")[1]["improvement_over_dqn"]) > 0.9


def test_the_same_scores_give_the_same_bytes_in_any_order(plan, scores):
    files = Board.of(plan, scores).files()
    assert Board.of(plan, scores).files() == files
    again = from_csv(to_csv(Scores.of(scores), plan.suite.metrics).decode(), "scores.csv")
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
    text = to_csv(Scores.of(scores), plan.suite.metrics).decode()
    read = from_csv(text, "scores.csv")
    assert [s.score for s in read] == [s.score for s in scores]
    assert to_csv(read, plan.suite.metrics).decode() == text


# -- what is ranked by, and how surely ------------------------------------------------------------


def on_one_task(plan, scores):
    cells = tuple(cell for cell in plan.cells if cell.task.name == "freeway")
    budget = plan.budget.model_copy(update={"tasks": ("freeway",)})
    one = replace(plan, cells=cells, budget=budget)
    return one, [score for score in scores if score.task == "freeway"]


def test_boards_are_ranked_by_the_mean_and_one_of_one_task_shows_no_median(plan, scores):
    board = Board.of(*on_one_task(plan, scores))
    assert board.ranking == "mean"
    row = rows(board, "leaderboard.csv")[0]
    assert "median" not in row
    assert {"mean", "iqm", "worst_quarter", "optimality_gap"} <= row.keys()
    assert Board.of(plan, scores).ranking == "mean"


def test_places_on_a_task_are_those_of_a_board_of_that_task(plan, scores):
    turned = [replace(s, score=-s.score) if s.task == "freeway" else s for s in scores]
    whole, alone = Board.of(plan, turned), Board.of(*on_one_task(plan, turned))
    assert whole.places_on("freeway") == alone.places != whole.places_on("breakout")


def test_ranks_by_a_further_metric_are_those_of_a_board_by_that_metric_alone(plan, scores):
    constants = plan.suite.normalization_constants(plan.suite.metric("evaluation_return"))
    late = {(s.method, s.seed): s.seed + 3.0 * (s.method == "dqn") for s in scores}
    worse = [
        replace(s, values=s.values | {"evaluation_return": late[s.method, s.seed]}) for s in scores
    ]
    budget = plan.budget.model_copy(update={"also_ranked_by": ("evaluation_return",)})
    board = Board.of(replace(plan, budget=budget), worse)
    alone = Board.of(
        replace(plan, budget=plan.budget.model_copy(update={"primary": "evaluation_return"})),
        [
            replace(s, score=constants[s.task].normalize(s.values["evaluation_return"]))
            for s in worse
        ],
    )
    assert "also_ranked_by" not in plan.budget.model_dump()
    assert board.manifest({}).budget["also_ranked_by"] == ["evaluation_return"]
    assert board.further_places == {"evaluation_return": alone.places}
    assert board.pairs_by(plan.suite.metric("evaluation_return")) == alone.pairs
    assert [of.places["dqn"].rank for of in (board, alone)] == [2, 1]
    row = next(row for row in rows(board, "leaderboard.csv") if row["method"] == "dqn")
    assert row["evaluation_return_rank"] == row["evaluation_return_rank_low"] == "1"
    first, second, *_ = board.finding.split(". ")
    assert re.fullmatch(r"qr-dqn \([\d.]+\) is best of 2 methods by online return", first)
    assert re.fullmatch(r"By evaluation return dqn \([\d.]+\) is best", second)
    assert "evaluation return rank" in page(board, [], "")


def test_a_suite_says_by_what_it_ranks(plan, scores):
    """A method whose worst run never recovers is first by IQM, and second by the mean."""
    spoilt = [
        replace(s, score={0: -3.0}.get(s.seed, 0.9))
        if s.method == "dqn" and s.task == "freeway"
        else replace(s, score=0.8 + 0.01 * s.seed)
        for s in scores
        if s.task == "freeway"
    ]
    one, spoilt = on_one_task(plan, spoilt)
    for statistic, first in (("iqm", "dqn"), ("mean", "qr-dqn")):
        suite = one.suite.model_copy(update={"ranks_by": statistic})
        board = Board.of(replace(one, suite=suite), spoilt)
        assert [m for m, place in board.places.items() if place.rank == 1] == [first]
        assert {"1", "2"} == {row["rank"] for row in rows(board, "leaderboard.csv")}
        assert all(row[statistic] for row in rows(board, "leaderboard.csv"))


def test_the_worst_quarter_is_the_mean_of_the_worst_quarter_of_the_runs(plan, scores):
    row = rows(Board.of(plan, scores), "leaderboard.csv")[0]
    by_task = {}
    for score in scores:
        if score.method == row["method"]:
            by_task.setdefault(score.task, []).append(score.score)
    # five runs: the worst, and a quarter of the second
    worst = [(v[0] + 0.25 * v[1]) / 1.25 for v in map(sorted, by_task.values())]
    assert float(row["worst_quarter"]) == pytest.approx(np.mean(worst), rel=1e-5)


def failing(plan, **range_):
    """The plan with a failure threshold of its primary metric, and its range."""
    metric = plan.suite.primary_metric(plan.budget)
    range_ = {"fails_beyond": 0.0, "lowest": -10.0, "highest": 1e4, **range_}
    changed = metric.model_copy(update=range_)
    metrics = tuple(changed if m == metric else m for m in plan.suite.metrics)
    return replace(plan, suite=plan.suite.model_copy(update={"metrics": metrics}))


def test_runs_beyond_the_failure_threshold_are_counted(plan, scores):
    assert "fail_share" not in rows(Board.of(plan, scores), "leaderboard.csv")[0]
    hurt = [
        replace(s, values=s.values | {"online_return": -1.0}) if s.seed == 0 else s for s in scores
    ]
    board = Board.of(failing(plan), hurt)
    for row in rows(board, "leaderboard.csv"):
        assert row["fail_share"] == "0.2"
        assert 0 < float(row["fail_share_low"]) < 0.2 < float(row["fail_share_high"])


def test_where_runs_may_fail_the_mean_has_a_bounded_interval_and_pairs_have_its_theory(
    plan, scores
):
    one, scores = on_one_task(plan, scores)
    student = rows(Board.of(one, scores), "leaderboard.csv")[0]
    board = Board.of(failing(one), scores)
    bounded = rows(board, "leaderboard.csv")[0]
    assert float(bounded["mean_low"]) < float(student["mean_low"])
    assert float(bounded["mean_high"]) > float(student["mean_high"])
    assert float(rows(board, "pairs.csv")[0]["p"]) > float(
        rows(Board.of(one, scores), "pairs.csv")[0]["p"]
    )


def test_the_probability_of_improvement_is_never_certain(plan, scores):
    sure = [replace(s, score=s.score + 100 * (s.method == "qr-dqn")) for s in scores]
    row = rows(Board.of(plan, sure), "leaderboard.csv")[1]
    assert row["improvement_over_dqn"] == "1"
    assert float(row["improvement_over_dqn_low"]) < 1
    (pair,) = rows(Board.of(plan, sure), "pairs.csv")
    assert (pair["first"], pair["second"], pair["improvement"]) == ("dqn", "qr-dqn", "0")
    assert float(pair["improvement_high"]) > 0


def test_one_value_that_is_no_number_costs_its_own_cell_alone(plan, scores):
    clean = Board.of(plan, scores)
    scores[0] = replace(scores[0], values=scores[0].values | {"online_cvar25": float("nan")})
    board = Board.of(plan, scores)
    before, after = (rows(b, "leaderboard.csv") for b in (clean, board))
    assert after[0]["online_cvar25_mean"] == "" != before[0]["online_cvar25_mean"]
    assert after[0]["mean_low"] == before[0]["mean_low"]
    assert after[1] == before[1]
    json.loads(board.files()["manifest.json"], parse_constant=pytest.fail)


def simulated(generator, means, runs=8):
    return {f"m{i}": mean + generator.normal(size=(runs, 2)) for i, mean in enumerate(means)}


@pytest.mark.parametrize("paired", [False, True])
def test_rank_sets_hold_all_true_places_in_95_of_100_boards(paired):
    """Four methods, two of them equal; 300 simulated boards, standard error 1.3 points."""
    generator = np.random.default_rng(3)
    wrong = 0
    for _ in range(300):
        scores = simulated(generator, (0.0, 1.0, 1.0, 3.0))
        found = places(scores, compare(scores, "mean", paired=paired), "mean")
        sets = [range(found[f"m{i}"].low, found[f"m{i}"].high + 1) for i in range(4)]
        # either of the equal two may be second
        wrong += not (4 in sets[0] and 1 in sets[3] and {2, 3} & {*sets[1]} and {2, 3} & {*sets[2]})
        wrong += 1 not in sets[3]
    assert wrong / 300 <= 0.05


def test_rank_sets_are_as_wide_as_the_runs_leave_them():
    generator = np.random.default_rng(4)
    scores = simulated(generator, (0.0, 0.0, 9.0), runs=10)
    found = places(scores, compare(scores, "iqm", paired=False), "iqm")
    assert [str(found[f"m{i}"]) for i in range(3)] == ["2–3", "2–3", "1"]
    few = {name: values[:2] for name, values in scores.items()}
    found = places(few, compare(few, "iqm", paired=False), "iqm")
    assert {str(place) for place in found.values()} == {"1–3"}


def test_shared_worlds_are_taken_out_of_paired_differences():
    generator = np.random.default_rng(6)
    world = 10 * generator.normal(size=(10, 1))
    scores = {name: world + shift + 0.1 * generator.normal(size=(10, 1))
              for name, shift in (("a", 1.0), ("b", 0.0))}  # fmt: skip
    (pair,) = compare(scores, "mean", paired=False)
    assert pair.p > 0.5
    assert pair.difference.low < 0
    (pair,) = compare(scores, "mean", paired=True)
    assert pair.difference.low > 0
    assert pair.adjusted == pair.p < 1e-6


def test_what_could_never_be_ranked_is_an_error():
    coins = [(0.0, 1.0)]
    for seeds, given in ((2, {"paired": False, "ranges": None}),
                         (6, {"paired": False, "ranges": coins})):  # fmt: skip
        with pytest.raises(ValueError, match=f"{seeds} seeds can never tell any two of 9 methods"):
            check_ranking(seeds, 9, **given)
        check_ranking(10 * seeds, 9, **given)
    check_ranking(3, 9, paired=False, ranges=None)


# -- two forms of scores.csv ----------------------------------------------------------------------


def test_a_missing_value_is_not_an_empty_one(plan, scores):
    without = {n: v for n, v in scores[0].values.items() if n != "evaluation_return"}
    scores[0] = replace(scores[0], values=without)
    scores[1] = replace(scores[1], values=scores[1].values | {"evaluation_return": None})
    text = to_csv(Scores.of(scores), plan.suite.metrics).decode()
    cells = [row["evaluation_return"] for row in csv.DictReader(io.StringIO(text))]
    assert cells[:2] == ["", "none"]
    assert [*from_csv(text, "scores.csv")] == scores


def test_a_board_of_the_older_form_keeps_its_form(plan, scores):
    old = [replace(s, digest_of="record") for s in scores]
    old[0] = replace(old[0], values=old[0].values | {"evaluation_return": None})
    text = to_csv(Scores.of(old), plan.suite.metrics).decode()
    assert "digest" in text.splitlines()[0].split(",")
    assert "none" not in text
    read = from_csv(text, "scores.csv")
    assert {s.digest_of for s in read} == {"record"}
    assert to_csv(read, plan.suite.metrics).decode() == text
    assert json.loads(Board.of(plan, read).files()["manifest.json"])["digests_of"] == "record"


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
