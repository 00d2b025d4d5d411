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


@pytest.mark.parametrize(
    ("table", "field", "value", "said"),
    [
        ("suite", "version", "0", "suite version 0, now"),
        ("budget", "seeds", 77, "seeds 77, now"),
        ("budget", "schedule", 0.5, "schedule 0.5, now 1.0"),
        ("budget", "name", "weekly", "there is no budget 'weekly' any more"),
        ("primary_metric", "name", "length", "score length, now reward_per_step"),
        ("suite", "name", "five-state", ""),
        ("budget", "summary", "7", ""),
        ("budget", "step_ms", "7", ""),
        ("budget", "lanes", "7", ""),
    ],
)
def test_what_departs_is_named_and_what_changes_no_number_is_not(
    suite, manifest, table, field, value, said
):
    earlier = {**manifest, table: {**manifest[table], field: value}}
    found = departures(parsed(earlier), suite, VERSIONS)
    assert [said in one for one in found] == [True] * bool(said)
    ranked = departures(parsed({**manifest, "ranks_by": "median"}), suite, VERSIONS)
    assert ranked == ["ranks by median, now mean"]


def test_another_version_of_an_agent_or_an_environment_is_named(suite, manifest):
    assert departures(parsed(manifest), suite, {"psrl": "0"}) == ["psrl version 2, now 0"]
    of = {f"environment {task.environment}": "0" for task in suite.tasks}
    told = departures(parsed(manifest), suite, VERSIONS | of)
    assert told == [f"task {task.name} version 1, now 0" for task in suite.tasks]
    old = {key: value for key, value in manifest.items() if key != "task_versions"}
    assert departures(parsed(old), suite, VERSIONS | of) == []


@pytest.mark.parametrize(
    ("name", "budget", "method", "score"),
    [
        ("predictive", "paper", "network", "ece"),  # a registered one
        ("ood-digits", "smoke", "msp", "fpr95"),  # a data set's own
        ("priormdp-sbc", "smoke", "psrl", "contraction"),  # a query's
    ],
)
def test_scores_of_other_versions_are_named_where_a_board_has_them_and_stay_so(
    name, budget, method, score, tmp_path
):
    host = Host.load()
    suite = read_suites(host, check=()).suite(name)
    plan = make_plan(suite, host, budget, device="cpu", methods=[method], seeds=range(1))
    empty = board(plan, Store(tmp_path / "none"))
    values = {metric.name: 0.5 for metric in plan.suite.metrics}
    today = replace(empty, gathered=Scores.of([replace(s, values=values) for s in empty.scores]))
    then = replace(today, made_by={})
    said = older_scores(then)
    assert said.startswith("Scored with older definitions: ")
    assert f"{score} v1 (installed: v2)" in said
    assert older_scores(today) == older_scores(replace(empty, made_by={})) == ""
    assert f"\n\n# {then.title}\n\n*{said}*\n\n" in page(then, [], "")
    print_board(then, Console(file=(out := io.StringIO()), width=500))
    assert out.getvalue().splitlines()[0].strip() == f"{then.title}. {said}"
    assert today.manifest({}).score_versions == score_versions(plan)
    assert then.manifest({}).score_versions is None


def store(root: Path, suite, name: str, manifest) -> None:
    """The manifest of a board of one of the suite's budgets."""
    folder = root / "five-state" / name
    folder.mkdir(parents=True)
    budget = {**suite.budgets[name].model_dump(mode="json"), "name": name}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"budget": budget}))


def test_the_index_marks_boards_of_earlier_protocols(suite, manifest, tmp_path: Path):
    for name, version in (("paper", "0"), ("smoke", suite.version)):
        of = {"suite": {"name": "five-state", "version": version}}
        store(tmp_path, suite, name, manifest | of)
    index = index_page(Folder(tmp_path), {"five-state": suite}, VERSIONS)
    rows = [line for line in index.splitlines() if "](" in line]
    assert [" ‡ |" in row for row in rows] == [True, False]


DAMAGE = {
    "cut": b'{"suite": {"na',
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
        store(tmp_path, suite, name, manifest)
    bad = tmp_path / "five-state" / "paper" / file
    bad.unlink(missing_ok=True)
    if data is None:
        os.mkfifo(bad)
    else:
        bad.write_bytes(data if file == "manifest.json" else b"claim\n" + data + b"\n")
    index = index_page(Folder(tmp_path), {"five-state": suite}, VERSIONS, [Claims])
    assert "five-state · paper: damaged" in index
    assert "[five-state · smoke](" in index
