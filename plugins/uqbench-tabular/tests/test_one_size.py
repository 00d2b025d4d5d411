"""A method's widths in all tasks of ``noise-and-ignorance``, times one factor."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import uqbench_dqn.sizes
from uqbench_leaderboard.tune import tried_of

import uqbench
from uqbench.boards import gather
from uqbench.boards.detectable import detectable_note
from uqbench.registry import Host
from uqbench.results import Folder, Store
from uqbench.suites import make_plan, read_suites
from uqbench.suites.tuning import Tuning

METHODS, LEARN = ["exact-posterior", "one-doubt"], ["bdqn", "bootstrapped-dqn"]
RANKED = str(Path(__file__).with_name("ranked.toml"))


def at_one_factor(plan, store):
    """By NumPy, from the records: of 41 factors, by the mean of all other runs of both tasks."""
    found = {}
    for method in plan.roles:
        runs = [run.on_device("cpu") for run in plan.runs if run.method == method]
        assert len({run.task for run in runs}) == 2
        curves = []
        for run in runs:
            records, _ = store.columns(run)
            own = dict(zip(records["metric"].tolist(), records["value"].tolist(), strict=True))
            curves.append([own[f"queries/size@{k}"] for k in range(len(uqbench_dqn.sizes.SIZES))])
            assert own["queries/size@20"] == own["queries/size"]
        for place, run in enumerate(runs):
            best = np.delete(curves, place, 0).mean(0).argmax()
            found[run.place] = curves[place][best]
    return found


def test_one_factor_for_all_tasks_is_the_best_one_in_a_method_s_other_runs(tmp_path):
    uqbench.run("noise-and-ignorance", "smoke", methods=METHODS, out=tmp_path, workers=1)
    host, store = Host.load(), Store(tmp_path)
    suite = read_suites(host, check=()).suite("noise-and-ignorance")
    plan = make_plan(suite, host, "smoke", methods=METHODS, device="cpu")
    found = {row.run: row.values["size_at_one_factor"] for row in gather(plan, store)}
    assert (len(found), found) == (8, at_one_factor(plan, store))


def test_a_budget_that_ranks_by_it_has_its_scores_in_every_reader(tmp_path, monkeypatch):
    """No record of a run has it; the board that is shown, loaded, written and tuned by has."""
    monkeypatch.setenv("UQBENCH_LOCAL", "[]")
    out, boards = tmp_path / "results", tmp_path / "boards"
    chosen = {"methods": LEARN, "plugins": [RANKED], "out": out}
    options = uqbench.Options("noise-and-ignorance", "formed", **chosen)
    [board] = uqbench.run("noise-and-ignorance", "formed", **chosen, workers=1).boards
    expected, store = at_one_factor(board.plan, Store(out)), Store(out)
    assert len(expected) == 12
    assert {store.read(place).record.scalars["formed"] for place in expected} == {None}
    written = uqbench.leaderboard(options, boards)
    for one in (board, *uqbench.load(out).boards, written.board):
        assert {row.run: row.score for row in one.scores} == expected
        assert [pair.adjusted is None for pair in one.pairs] == [False]
    search = Tuning(budget="formed", first_seed=10_000, seeds=3, configurations=6, metric="formed")
    tuned = replace(board.plan, suite=board.plan.suite.model_copy(update={"tuning": search}))
    for row in tried_of(replace(board, plan=tuned), Host.load()):
        own = [x for place, x in expected.items() if f"/{row.task}/{row.method}/" in place]
        assert row.score == pytest.approx(np.mean(own), rel=1e-5)
    shutil.copytree(written.folder, written.folder.parent / "formed")
    assert "3 seeds tell two methods apart" in detectable_note(board.plan, [Folder(boards)])
    assert uqbench.check_leaderboard(options, boards).good
    shutil.rmtree(store.at(next(iter(expected))).path)
    assert uqbench.check_leaderboard(options, boards).good
