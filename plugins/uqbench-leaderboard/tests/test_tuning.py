"""Tuning: what is tried, what is chosen, and how a board says so."""

import csv
import io
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from commands import toy_plugin
from hypothesis import given, settings
from hypothesis import strategies as st
from uqbench_leaderboard.tune import further, search, tune

import uqbench
from uqbench.api.execute import execute
from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards import Told, board
from uqbench.boards.protocol import departures
from uqbench.errors import UqbenchError
from uqbench.pages.board_view import BoardView
from uqbench.pages.markdown import page
from uqbench.suites import Plan
from uqbench.suites.tuning import Tables, Tried, outcomes, read_table, table

TOY = Path(__file__).parents[3] / "tests" / "toy"
AGENT = """
import dataclasses
import math
import uqbench
from uqbench.contract.agent import Agent
from uqbench.lanes import Uniform

@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    learning_rate: float = 1e-4
    hesitation: float = 0.0

class Climber(Agent):
    '''Goes forward with a probability that is 1 for a learning rate of .01, less for any other.'''

    def __init__(self, info, seeds, config: Config, device):
        self.forward = 1 - 0.3 * abs(math.log10(config.learning_rate) + 2) - config.hesitation
        self.uniform, self.t = Uniform(seeds, "climb", (info.actors,), device), 0

    def policy(self, obs, valid=None):
        return (self.uniform.at(self.t) < self.forward).long()

    act = policy

    def observe(self, step):
        self.t += 1

    def state_dict(self):
        return {"t": self.t}

    def load_state_dict(self, state):
        self.t = state["t"]

@uqbench.hookimpl
def uqbench_agents():
    return [uqbench.AgentSpec(name="climber", version="VERSION", factory=Climber, config=Config)]
"""
TUNING = """
[tuning]
budget = "smoke"
first_seed = 10_000
seeds = 2
configurations = 6
space = { learning_rate = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2] }

[budgets.tuned]
summary = "default and tuned"
steps = 200
seeds = 3
ranks = true
step_ms = 10.0
tuned = "with-default"

[[methods]]
name = "climber"
agent = "climber"
"""
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    toy_plugin(monkeypatch)
    (tmp_path / "agent.py").write_text(AGENT.replace("VERSION", "1"))
    toy = (TOY / "toy_uqbench" / "toy.toml").read_text().replace('name = "toy"', 'name = "hill"')
    toy, claims, _ = toy.partition("[[claims]]")
    assert claims
    (tmp_path / "hill.toml").write_text(toy + TUNING)
    plugins = [str(tmp_path / name) for name in ("agent.py", "hill.toml")]
    return Options(suite="hill", plugins=plugins, out=str(tmp_path / "out"), workers=1)


def adding(options: Options, text: str, **changed: object) -> Options:
    """The same of a suite file with more in it."""
    path = Path(options.plugins[1])
    path.write_text(path.read_text() + text)
    return replace(options, **changed)


def tried(scores: dict[str, tuple[float | None, ...]], method: str = "m") -> list[Tried]:
    return [
        Tried(method, "1", setting, f"t{k}", score, 2, 0.5)
        for setting, of in scores.items()
        for k, score in enumerate(of)
    ]


def of(scores: dict[str, tuple[float | None, ...]]):
    return outcomes(tried(scores)).get("m")


def test_one_setting_is_chosen_for_all_tasks_and_sensitivity_is_what_one_for_each_would_gain():
    # means .4, .5, .45; the best by task are .8 and .9, whose mean .85 is .35 above .5
    rates = {1: (0.8, 0.0), 2: (0.5, 0.5), 3: (0, 0.9)}
    came = of({f"learning_rate={rate}": own for rate, own in rates.items()})
    assert (came.setting, came.values) == ("learning_rate=2", {"learning_rate": 2})
    assert came.sensitivity == pytest.approx(0.35)
    assert came.words == "tuned over 3 settings on 2 tasks"


CHOICES = [
    ({"weight_decay=2": (1,), "weight_decay=1": (1,)}, "weight_decay=1"),  # the smaller rate
    ({"n=2": (1,), "n=1": (1,)}, "n=2"),  # the earlier setting
    ({"n=1": (9.0, None), "n=2": (0.0, 0.0)}, "n=2"),  # none with a failed run
    ({"n=1": (9.0, None)}, None),
]


@pytest.mark.parametrize(("scores", "chosen"), CHOICES)
def test_of_equal_scores_one_is_chosen_and_no_setting_with_a_failed_run(scores, chosen):
    came = of(scores)
    assert (came and came.setting) == chosen


def test_a_setting_at_the_end_of_its_numbers_is_at_the_edge():
    rates = {f"learning_rate={rate}": (float(rate),) for rate in (1, 2, 3)}
    assert of(rates).words == "tuned over 3 settings on 1 task, at the edge of the grid"
    assert not of(rates | {"learning_rate=2": (9.0,)}).at_edge
    assert not of({"risk=a": (1.0,), "risk=b": (2.0,)}).at_edge  # words have no order
    assert not of({"n=1": (1.0,)}).at_edge  # nor has a number that is the same in all


ROWS = st.dictionaries(
    st.sampled_from([f"learning_rate=1e-{k}" for k in range(1, 9)]),
    st.tuples(st.none() | st.floats(-1e6, 1e6).map(lambda x: float(f"{x:.6g}")), st.floats(0, 1)),
    min_size=1,
)


@settings(deadline=None)
@given(ROWS)
def test_a_table_reads_back_as_what_was_written(tmp_path_factory, rows):
    scores = {name: (a, float(f"{b:.6g}")) for name, (a, b) in rows.items()}
    written = tried(scores) + tried(scores, "other")
    path = tmp_path_factory.mktemp("table") / "a.csv"
    path.write_text(table(written))
    read = read_table(path)
    assert outcomes(read) == outcomes(written)
    assert [row.score for row in read] == [row.score for row in written]


EDITED = [
    (",yes", ",", "choice do not follow from its scores"),
    ("3,2,0.5", "nonsense,2,0.5", "is damaged"),
]


@pytest.mark.parametrize(("old", "new", "said"), EDITED)
def test_a_table_that_says_what_its_scores_do_not_is_refused(tmp_path, old, new, said):
    path = tmp_path / "a.csv"
    path.write_text(table(tried({"n=1": (1.0,), "n=2": (3.0,), "n=3": (2.0,)})).replace(old, new))
    with pytest.raises(UqbenchError, match=said):
        read_table(path)


WRONG = [
    ("first_seed = 10_000", "first_seed = 9_999", "tuning.first_seed"),
    ("seeds = 3", "seeds = 10_001", "seeds below 10000"),
    (", 3e-2]", "]", "expected 6 to 6 settings"),
    (", 3e-2]", ", 3e-2, 1e-1]", "expected 6 to 6 settings"),
    ("space = { learning_rate", "space = { n", "of learning_rate or weight_decay"),
    ("[tuning]", "[other]", "unknown key 'other'"),
    ("configurations = 6", "configurations = 5", "tuning.configurations"),
    ('budget = "smoke"', 'budget = "smok"', "smoke"),
    ("[budgets.tuned]", "[budgets.tuning]", "its budget is called 'tuning'"),
    (TUNING.partition("[budgets")[0], "", r"tuned: it is tuned: expected \[tuning\], too"),
]


@pytest.mark.parametrize(("before", "after", "said"), WRONG)
def test_a_search_that_is_small_or_meets_a_boards_seeds_is_refused(options, before, after, said):
    path = Path(options.plugins[1])
    head, tuning = path.read_text().split(TUNING)[0], TUNING.replace(before, after)
    assert tuning != TUNING
    path.write_text(head + tuning)
    with pytest.raises(UqbenchError, match=said):
        Session(options).plan()


def test_the_search_is_every_setting_on_seeds_of_its_own(options):
    plan = search(options).plan()
    assert (plan.name, plan.standard, plan.budget.ranks) == ("tuning", True, False)
    assert {run.seed for run in plan.runs} == {10_000, 10_001}
    assert {cell.method.name.partition("[")[0] for cell in plan.cells} == {"climber"}
    assert {cell.config.learning_rate for cell in plan.cells} == {*RATES}
    assert len(plan.runs) == 6 * 2 * 2


FEW = {"climber": {"learning_rate": uqbench.grid(1.0, 2.0)}}
EMPTY = "\n[search_spaces.{}]\n"
NO_SEARCHES = [
    ("", {"seeds": 3}, r"those of \[tuning\]"),
    ("", {"methods": ("slow",)}, "no search space for slow"),  # it has no such field
    ("", {"methods": ("climber",), "settings": FEW}, "expected 6 to 6 settings"),
    (EMPTY.format("climber"), {"methods": ("climber",)}, "no search space for climber"),
    # a method, not an agent
    (EMPTY.format("slow"), {}, r"search_spaces\.slow: there is no agent or estimator"),
]


@pytest.mark.parametrize(("text", "changed", "said"), NO_SEARCHES)
def test_a_search_of_other_seeds_or_without_a_space_is_refused(options, text, changed, said):
    with pytest.raises(UqbenchError, match=said):
        search(adding(options, text, **changed))


def test_what_is_set_takes_the_place_of_the_space_within_the_same_number_of_settings(options):
    values = uqbench.grid(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    own = replace(options, settings={"climber": {"learning_rate": values}}, methods=("climber",))
    assert {cell.config.learning_rate for cell in search(own).plan().cells} == {*values.values}


def written(options: Options, scores: dict[str, tuple[float, float]], version: str = "1") -> None:
    rows = [
        Tried("climber", version, setting, task, score, 2, 0.1)
        for setting, own in scores.items()
        for task, score in zip(("short", "long"), own, strict=True)
    ]
    (Path(options.plugins[1]).parent / "hill.tuning.csv").write_text(table(rows))


BEST = {"learning_rate=1e-4": (0.1, 0.1), "learning_rate=1e-2": (0.9, 0.7)}


def planned(options: Options, *methods: str) -> Plan:
    return Session(replace(options, budget="tuned", methods=methods or None)).plan()


def test_a_tuned_budget_takes_the_chosen_setting_and_has_a_row_for_the_default(options):
    before = planned(options)
    written(options, BEST)
    after, default = planned(options), "climber[learning_rate=1e-4]"
    rates = {cell.method.name: getattr(cell.config, "learning_rate", 0) for cell in after.cells}
    assert rates == {"slow": 0, "fast": 0, "climber": 1e-2, default: 1e-4}
    assert after.defaults == {"climber": default}
    assert (after.standard, after.as_written) == (True, True)
    assert {*planned(options, "climber").roles} == {"climber"}  # as a submission needs it
    first, then = ({(r.name, r.digest) for r in plan.runs} for plan in (before, after))
    same = {name.split("/")[1] for name, _ in first & then}
    assert same == {"slow", "fast"}  # other settings are other runs
    assert "short/climber/0" in {name for name, _ in first - then}


def test_a_default_that_was_chosen_is_one_row(options):
    written(options, {name: tuple(-x for x in own) for name, own in BEST.items()})
    assert {*planned(options).roles} == {"slow", "fast", "climber"}


def test_settings_of_another_version_are_refused(options):
    written(options, BEST, version="0")
    with pytest.raises(UqbenchError, match="has settings for version 0 of climber"):
        planned(options)


def test_tuning_and_the_board_of_what_it_chose(options, tmp_path):
    done = tune(options)
    assert (done.failed, done.tables) == ({}, (tmp_path / "hill.tuning.csv",))
    came = done.tuned["climber"]
    assert came.setting == "learning_rate=0.01"  # always forward: by construction the best
    assert came.words == "tuned over 6 settings on 2 tasks"
    text = done.tables[0].read_text()
    assert tune(options).tuned == done.tuned  # nothing to do: from the store
    assert done.tables[0].read_text() == text

    made = execute(Session(replace(options, budget="tuned"))).board
    shown = csv.DictReader(io.StringIO(made.files()["leaderboard.csv"]))
    rows = {row["method"]: row for row in shown}
    other = rows["climber[learning_rate=1e-4]"]
    assert rows["climber"]["tuned"] == came.words
    assert (other["tuned"], rows["slow"]["tuned"]) == ("default settings", "untuned")
    gain = float(rows["climber"]["mean"]) - float(other["mean"])
    assert float(rows["climber"]["tuning_gain"]) == pytest.approx(gain, abs=1e-5)
    assert float(rows["climber"]["tuning_gain_low"]) > 0
    assert float(rows["climber"]["sensitivity"]) == pytest.approx(came.sensitivity, abs=1e-5)
    assert made.told.note.startswith("Not tuned: fast, slow.")
    assert "`climber` (local, tuned over 6 settings on 2 tasks)" in page(made, [], "")
    assert "gain by tuning" in page(made, [], "")
    assert {line.method: line.notes for line in BoardView.of(made).lines}["slow"] == ("untuned",)


def test_a_board_knows_that_its_table_is_another_by_now(options, tmp_path):
    written(options, BEST)
    plan = planned(options)
    manifest = board(plan, Session(options).store).manifest({})
    assert departures(manifest, plan.suite, {}) == []
    path = tmp_path / "hill.tuning.csv"
    path.write_text(path.read_text().replace(",2,0.1,", ",2,0.3,"))  # the hours that it took
    assert departures(manifest, planned(options).suite, {}) == []
    written(options, BEST | {"learning_rate=3e-3": (1.0, 1.0)})
    assert departures(manifest, planned(options).suite, {}) == ["other settings by hill.tuning.csv"]


def test_the_note_of_a_board_says_which_methods_were_not_tuned(host):
    row = {"role": "method", "beats_trivial": "", "rank_low": math.nan, "rank_high": math.nan}
    rows = pd.DataFrame([row | {"mean": 0.5, "method": name} for name in "ab"])
    tuned = rows.assign(tuned=["tuned over 6 settings on 2 tasks", "default settings"])
    notes = [
        Told(of, "mean", searched, rows, ("mean", "max")).note
        for of, searched in ((rows, True), (rows, False), (tuned, True))
    ]
    assert notes[0].startswith("No method was tuned")
    assert "tuned" not in notes[1] + notes[2]


def rungs(best: float, default: float, error: float) -> list[Tried]:
    """Rows of a search of two rungs: n = 1, 2, 3, then 3 and the default 1, on two tasks each."""
    each = {1: {"n=1": 0.1, "n=2": 0.2, "n=3": 0.3}, 2: {"n=3": best, "n=1": default}}
    errors = {1: 0.01, 2: error}
    return [
        replace(row, rung=k, error=errors[k], default="yes" if row.setting == "n=1" else None)
        for k, scores in each.items()
        for row in tried({name: (score, score) for name, score in scores.items()})
    ]


LAST = [
    (0.5, 0.29, "n=3", ", the best of them on 2, at the edge of the grid"),
    (0.5, 0.31, "n=1", ", the best of them on 2, search undecided, default kept"),
    (0.2, 0.5, "n=1", ", the best of them on 2, default best, at the edge of the grid"),
]


@pytest.mark.parametrize(("best", "default", "setting", "words"), LAST)
def test_the_last_rung_keeps_the_default_within_two_standard_errors(best, default, setting, words):
    # of a mean over two tasks the standard error is .1 √2 / 2, of a difference of two such .1
    came = outcomes(rungs(best, default, 0.1))["m"]
    assert (came.setting, came.rung) == (setting, 2)
    assert came.words == "tuned over 3 settings on 2 tasks" + words


def test_the_edge_is_that_of_all_numbers_tried_and_of_the_methods_own():
    # n = 3 is the largest of both rungs; with its own m = 9 beyond 3, m = 3 is inside of 1, 3, 9
    assert outcomes(rungs(0.5, 0.1, 0.1))["m"].at_edge
    own = [
        replace(row, setting=row.setting.replace("n=1", "k=1").replace("n", "m"))
        for row in rungs(0.5, 0.1, 0.1)
    ]
    assert outcomes(own)["m"].at_edge
    with_default = [replace(row, default="m=9" if row.default else None) for row in own]
    assert not outcomes(with_default)["m"].at_edge


def test_a_table_of_two_rungs_reads_back_and_marks_what_was_decided(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(table(rungs(0.5, 0.31, 0.1)))
    read = read_table(path)
    assert {row.setting for row in read if row.chosen} == {"n=1"}
    assert {row.chosen for row in read} == {None, "search undecided, default kept"}
    assert [row.rung for row in read] == [1] * 6 + [2] * 4
    assert "rung" not in table(tried({"n=1": (1.0,)}))  # as tables were before


def test_a_search_of_which_the_last_rung_is_missing_tunes_nothing():
    whole = rungs(0.5, 0.1, 0.1)
    assert {*Tables(tuple(whole), None, 2).tuned} == {"m"}
    assert {*Tables(tuple(whole[:6]), None, 2).tuned} == set()
    assert Tables(tuple(whole), None, 2).kept("m", 2) == ["n=3", "n=2"]


LAST_RUNG = """
[tuning.last]
budget = "tuned"

[[search_spaces.climber]]
learning_rate = [1e-4, 1e-3, 3e-3, 1e-2]

[[search_spaces.climber]]
hesitation = [0.1, 0.2]
"""


@pytest.mark.parametrize("named", [None, ("climber",)])
def test_two_rungs_try_all_settings_and_then_the_best_beside_the_default(options, named):
    done = tune(adding(options, LAST_RUNG, methods=named))
    assert done.failed == {}
    rows = read_table(done.tables[0])
    assert len({row.setting for row in rows if row.rung == 1}) == 6
    last = [row for row in rows if row.rung == 2]
    # the best two by construction, 1e-2 forward always and 3e-3 .84 of the time, and the default;
    # who hesitates is slower than the default, and the second grid has no rate of its own
    assert {row.setting for row in last if not row.default} >= {"learning_rate=0.01"}
    assert {row.setting for row in last if row.default} == {"learning_rate=1e-4"}
    assert {row.runs for row in rows} == {2, 3}  # those of [tuning], those of the budget
    assert done.tuned["climber"].setting == "learning_rate=0.01"
    assert planned(options).defaults == {"climber": "climber[learning_rate=1e-4]"}


def test_a_grid_widens_until_the_choice_is_inside(options):
    """The best rate is .01: of 1e-3 and, by factors of 10/3, .00333, .0111 and .037 it is .0111."""
    rates = uqbench.grid(3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
    own = replace(options, settings={"climber": {"learning_rate": rates}}, methods=("climber",))
    came = tune(own).tuned["climber"]
    assert not came.at_edge
    assert came.values == {"learning_rate": 0.0111}
    assert came.words == "tuned over 9 settings on 2 tasks"
    assert tune(own).tuned["climber"] == came


BEYOND = [
    ((0.01, 0.03, 0.1), 0.1, 0.333),
    ((0.01, 0.03, 0.1), 0.01, 0.00333),
    ((0.01, 0.03, 0.1), 0.03, None),
    ((3, 8), 8, 21),
    ((1, 2), 1, None),  # below one there is no whole number
    ((0.0, 0.1), 0.1, None),
    ((True, False), True, None),
    (("a", "b"), "b", None),
    ((0.1,), 0.1, None),
]


@pytest.mark.parametrize(("tried", "chosen", "beyond"), BEYOND)
def test_the_value_beyond_an_edge_is_as_far_by_ratio_as_the_one_before(tried, chosen, beyond):
    assert further(tried, chosen) == beyond
