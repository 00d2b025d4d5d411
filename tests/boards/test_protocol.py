"""Boards of earlier protocols are told from those of the suite as it is."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from uqbench_claims.board import Claims

from uqbench.boards import Manifest, board
from uqbench.boards.protocol import departures, older_scores
from uqbench.pages.markdown import index_page, page
from uqbench.pages.terminal import print_board
from uqbench.registry import Host
from uqbench.results import Folder, Scores, Store
from uqbench.suites import make_plan, read_suites
from uqbench.uncertainty.scores import score_versions

VERSIONS = {"psrl": "2", "environment five-state": "1"}


def parsed(table) -> Manifest:
    return Manifest.model_validate_json(json.dumps(table))


@pytest.fixture(scope="module")
def suite():
    return read_suites(Host.load(), check=()).suite("five-state")


@pytest.fixture(scope="module")
def manifest(suite, tmp_path_factory):
    plan = make_plan(suite, Host.load(), "smoke", device="cpu", seeds=range(1))
    return json.loads(board(plan, Store(tmp_path_factory.mktemp("none"))).files()["manifest.json"])


def test_a_board_of_the_suite_as_it_is_departs_in_nothing(suite, manifest):
    assert departures(parsed(manifest), suite, VERSIONS) == []


@pytest.mark.parametrize(
    ("table", "field", "value", "said"),
    [
        ("suite", "version", "0", "suite version 0, now"),
        ("budget", "seeds", 77, "seeds 77, now"),
        ("budget", "schedule", 0.5, "schedule 0.5, now 1.0"),
        ("budget", "name", "weekly", "there is no budget 'weekly' any more"),
        ("primary_metric", "name", "length", "score length, now reward_per_step"),
    ],
)
def test_what_departs_is_named(suite, manifest, table, field, value, said):
    earlier = {**manifest, table: {**manifest[table], field: value}}
    (found,) = departures(parsed(earlier), suite, VERSIONS)
    assert said in found


def test_another_version_of_an_agent_is_named(suite, manifest):
    assert departures(parsed(manifest), suite, {"psrl": "0"}) == ["psrl version 2, now 0"]
    other_world = {task.environment: "0" for task in suite.tasks}
    of = {f"environment {name}": version for name, version in other_world.items()}
    told = departures(parsed(manifest), suite, VERSIONS | of)
    assert told == [f"task {task.name} version 1, now 0" for task in suite.tasks]
    old = {key: value for key, value in manifest.items() if key != "task_versions"}
    assert departures(parsed(old), suite, VERSIONS | of) == []


def test_scores_of_other_versions_are_named_where_a_board_has_them_and_stay_so(tmp_path):
    """Of a registered score, of a data set's own, and of a query's."""
    host = Host.load()
    for name, budget, method, said in (
        ("predictive", "paper", "network", ["ece v1 (installed: v2)"]),
        (
            "ood-digits", "smoke", "msp",
            [f"{score} v1 (installed: v2)" for score in ("aupr", "fpr95", "retention_auc")],
        ),
        ("priormdp-sbc", "smoke", "psrl", ["contraction v1 (installed: v2)"]),
    ):  # fmt: skip
        suite = read_suites(host, check=()).suite(name)
        plan = make_plan(suite, host, budget, device="cpu", methods=[method], seeds=range(1))
        empty = board(plan, Store(tmp_path / "none"))
        values = {metric.name: 0.5 for metric in plan.suite.metrics}
        scores = Scores.of([replace(score, values=values) for score in empty.scores])
        today = replace(empty, gathered=scores)
        assert older_scores(today) == ""
        then = replace(today, made_by={})
        assert older_scores(then).startswith("Scored with older definitions: ")
        assert set(said) <= set(older_scores(then)[31:-1].split(", "))
        assert older_scores(replace(empty, made_by={})) == ""
        assert f"\n\n# {then.title}\n\n*{older_scores(then)}*\n\n" in page(then, [], "")
        assert "older definitions" not in page(today, [], "")
        print_board(then, Console(file=(out := io.StringIO()), width=500))
        first = out.getvalue().splitlines()[0]
        assert first.strip() == f"{then.title}. {older_scores(then)}"
        assert today.manifest({}).score_versions == score_versions(plan)
        assert then.manifest({}).score_versions is None


@pytest.mark.parametrize("field", ["summary", "step_ms", "lanes"])
def test_what_changes_no_number_is_no_departure(suite, manifest, field):
    other = {**manifest, "budget": {**manifest["budget"], field: "7"}}
    assert departures(parsed(other), suite, VERSIONS) == []


def test_the_index_marks_boards_of_earlier_protocols(suite, manifest, tmp_path: Path):
    for name, version in (("paper", "0"), ("smoke", suite.version)):
        folder = tmp_path / "five-state" / name
        folder.mkdir(parents=True)
        budget = {**suite.budgets[name].model_dump(mode="json"), "name": name}
        entry = manifest | {"suite": {"name": "five-state", "version": version}, "budget": budget}
        (folder / "manifest.json").write_text(json.dumps(entry))
    index = index_page(Folder(tmp_path), {"five-state": suite}, VERSIONS)
    rows = [line for line in index.splitlines() if "](" in line]
    assert [" ‡ |" in row for row in rows] == [True, False]


DAMAGE = {
    "cut": b'{"suite": {"na',
    "empty": b"{}",
    "a list": b"[]",
    "not UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("data", [*DAMAGE.values(), None], ids=[*DAMAGE, "a pipe"])
@pytest.mark.parametrize("file", ["manifest.json", "claims.csv"])
def test_a_damaged_board_is_named_in_the_index_and_holds_up_no_other(
    suite, manifest, file, data, tmp_path: Path
):
    for name in ("paper", "smoke"):
        folder = tmp_path / "five-state" / name
        folder.mkdir(parents=True)
        budget = {**suite.budgets[name].model_dump(mode="json"), "name": name}
        (folder / "manifest.json").write_text(json.dumps(manifest | {"budget": budget}))
    bad = tmp_path / "five-state" / "paper" / file
    bad.unlink(missing_ok=True)
    if data is None:
        os.mkfifo(bad)
    else:
        bad.write_bytes(data if file == "manifest.json" else b"claim\n" + data + b"\n")
    index = index_page(Folder(tmp_path), {"five-state": suite}, VERSIONS, [Claims])
    assert "five-state · paper: damaged" in index
    assert "[five-state · smoke](" in index
