"""Boards on which inputs of other kinds are told from test inputs, by several questions."""

import numpy as np
import pytest
from uqbench_compare.predictions.registered import ORDERS
from uqbench_predictive.questions import WORDS, Questions

from uqbench.boards import Board, Score
from uqbench.registry import Host
from uqbench.suites import make_plan, read_suites

METHODS = ("nearest-input", "network", "deep-ensemble", "random-forest", "deep-knn")
MEANS = {
    "near_msp": (0.5, 0.70, 0.71, 0.80, 0.69),
    "near_mi": (0.5, 0.5, 0.85, 0.60, 0.5),
    "near_score": (0.75, None, None, None, 0.74),
    "near_energy": (None, 0.65, 0.66, None, 0.65),
}
"""By question, of each row: what is best differs, and not every row answers every question."""


def board(budget: str) -> Board:
    host = Host.load()
    suite = read_suites(host, check=()).suite("fashion")
    plan = make_plan(suite, host, budget, device="cpu", methods=METHODS, seeds=range(8))
    rows = []
    for run in plan.runs:
        own = {}
        for name, means in MEANS.items():
            mean = means[METHODS.index(run.method)]
            noise = (
                0.001
                * np.random.default_rng([run.seed, METHODS.index(run.method)]).standard_normal()
            )
            if mean is not None:
                own[name] = mean + noise * (mean != 0.5)
        score = 2 * own["near_msp"] - 1
        rows.append(Score(run.task, run.method, run.seed, "finished", "cpu", score, own, run.place))
    return Board.of(plan, rows)


@pytest.fixture(scope="module")
def told() -> Questions:
    return Questions(board("ood"))


def test_each_question_has_its_own_best_and_its_own_comparison_with_the_distance(told):
    answers = {one.question: one for one in told.answers}
    assert {name: one.first for name, one in answers.items()} == {
        "msp": ["random-forest"], "mi": ["deep-ensemble"], "energy": ["deep-ensemble"],
        "score": [],
    }  # fmt: skip
    assert {one.floor for one in told.answers} == {("nearest-input", "score")}
    assert "random-forest" not in answers["msp"].beaten
    assert "random-forest" in answers["mi"].beaten
    assert "deep-ensemble" in answers["msp"].beaten
    assert "deep-ensemble" not in answers["mi"].beaten


def test_a_row_that_says_the_same_of_all_inputs_does_not_answer(told):
    (mi,) = (one for one in told.answers if one.question == "mi")
    assert {*mi.means} == {"deep-ensemble", "random-forest"}
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
    suite = read_suites(host, check=()).suite("testbed")
    plan = make_plan(suite, host, "smoke", device="cpu")
    empty = Board.of(plan, [])
    assert not Questions(empty).section
    assert "questions.csv" not in empty.frames
