"""Tables that boards get: means over tables, and several questions about inputs of other kinds."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from uqbench_compare.predictions.registered import ORDERS
from uqbench_predictive.questions import WORDS, Questions
from uqbench_predictive.units import FEWEST, Units

from uqbench.boards import Board, Score
from uqbench.registry import Host
from uqbench.suites import make_plan, read_suites


def board(scores: dict[str, np.ndarray], roles: dict[str, str], dataset: str = "table"):
    tasks = [SimpleNamespace(name=f"t{k}", dataset=dataset) for k in range(FEWEST)]
    plan = SimpleNamespace(cells=[SimpleNamespace(task=task) for task in tasks], roles=roles)
    return SimpleNamespace(plan=plan, matrices=scores, ranks=True)


@pytest.fixture
def made():
    """Three splits of ten tables: a table's level, of all methods, is larger than their gaps."""
    generator = np.random.default_rng(0)
    level = generator.normal(size=FEWEST)
    gap = {"good": 0.3, "fair": 0.28, "bad": 0.1, "climatology": 0.0}
    scores = {n: level + of + 0.02 * generator.normal(size=(3, FEWEST)) for n, of in gap.items()}
    return board(scores, {**dict.fromkeys(scores, "method"), "climatology": "trivial"})


def test_a_mean_has_students_interval_over_tables(made):
    row = Units(made).frame.set_index("method").loc["good"]
    values = made.matrices["good"].mean(0)
    error = values.std(ddof=1) / np.sqrt(FEWEST)
    reach = stats.t.ppf(0.975, FEWEST - 1) * error
    assert float(row["mean"]) == pytest.approx(values.mean(), rel=1e-5)
    assert float(row["low"]) <= values.mean() - reach + 1e-5  # Hall's may reach further
    assert float(row["high"]) >= values.mean() + reach - 1e-5
    assert row["tables"] == FEWEST


def test_differences_are_taken_table_by_table_and_rank_what_means_cannot(made):
    """The means' intervals overlap by far; their differences over tables have errors of .02/√15."""
    frame = Units(made).frame.set_index("method")
    assert float(frame.loc["bad", "high"]) > float(frame.loc["good", "low"])
    assert (frame.loc["good", "rank_low"], frame.loc["bad", "rank_low"]) == (1, 3)
    gaps = made.matrices["good"].mean(0) - made.matrices["climatology"].mean(0)
    assert float(frame.loc["good", "beyond"]) == pytest.approx(gaps.mean(), rel=1e-5)
    assert float(frame.loc["bad", "beyond_low"]) > 0
    assert frame.loc["climatology", "beyond"] is None
    assert "| 1" in Units(made).section


def test_a_board_of_fewer_tables_or_of_other_data_has_none(made):
    assert Units(made).applies
    roles = made.plan.roles
    assert not Units(board(made.matrices, roles, "fashion")).applies
    few = board(made.matrices, roles)
    few.plan.cells = few.plan.cells[1:]
    assert not Units(few).applies


METHODS = ("nearest-input", "network", "deep-ensemble", "random-forest", "deep-knn")
MEANS = {
    "near_msp": (0.5, 0.70, 0.71, 0.80, 0.69),
    "near_mi": (0.5, 0.5, 0.85, 0.60, 0.5),
    "near_score": (0.75, None, None, None, 0.74),
    "near_energy": (None, 0.65, 0.66, None, 0.65),
}
"""By question, of each row: what is best differs, and not every row answers every question."""


def asked(budget: str) -> Board:
    host = Host.load()
    suite = read_suites(host, check=()).suite("fashion")
    plan = make_plan(suite, host, budget, device="cpu", methods=METHODS, seeds=range(8))
    rows = []
    for run in plan.runs:
        k = METHODS.index(run.method)
        own = {name: means[k] for name, means in MEANS.items() if means[k] is not None}
        for name, mean in own.items():
            noise = 0.001 * np.random.default_rng([run.seed, k]).standard_normal()
            own[name] = mean + noise * (mean != 0.5)
        score = 2 * own["near_msp"] - 1
        rows.append(Score(run.task, run.method, run.seed, "finished", "cpu", score, own, run.place))
    return Board.of(plan, rows)


@pytest.fixture(scope="module")
def told() -> Questions:
    return Questions(asked("ood"))


def test_each_question_has_its_own_best_and_its_own_comparison_with_the_distance(told):
    answers = {one.question: one for one in told.answers}
    assert {name: one.first for name, one in answers.items()} == {
        "msp": ["random-forest"], "mi": ["deep-ensemble"], "energy": ["deep-ensemble"],
        "score": []}  # fmt: skip
    assert {one.floor for one in told.answers} == {("nearest-input", "score")}
    assert "random-forest" not in answers["msp"].beaten
    assert "random-forest" in answers["mi"].beaten
    assert "deep-ensemble" in answers["msp"].beaten
    assert "deep-ensemble" not in answers["mi"].beaten


def test_a_row_that_says_the_same_of_all_inputs_does_not_answer(told):
    (mi,) = (one for one in told.answers if one.question == "mi")
    assert {*mi.means} == {"deep-ensemble", "random-forest"}
    assert ["deep-knn" in one.means for one in told.answers] == [False, False, False, True]
    assert "| `network` | **0." not in told.section.partition("mutual")[2].splitlines()[0]


def test_the_sentence_names_method_and_question_and_is_the_tables(told):
    frame = told.frame.set_index(["kind", "method"])
    best = frame["auroc"].groupby("kind").idxmax()
    assert "by the largest probability random-forest (0.8" in told.section
    assert "by the mutual information deep-ensemble (0.8" in told.section
    assert best["msp"] == ("msp", "random-forest")
    assert "Rows that beat nearest-input (0.7" in told.section
    assert "by some question: 2." in told.section


def test_every_question_has_words():
    assert {*WORDS} == {*ORDERS}


def test_a_board_without_such_questions_has_no_table():
    host = Host.load()
    plan = make_plan(read_suites(host, check=()).suite("testbed"), host, "smoke", device="cpu")
    empty = Board.of(plan, [])
    assert not Questions(empty).section
    assert "questions.csv" not in empty.frames
