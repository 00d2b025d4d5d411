"""The manifest has a digest of every other file; boards of earlier protocols are told."""

import io
import json
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from packed import read_scores, write_scores
from rich.console import Console
from uqbench_claims.board import Claims
from uqbench_leaderboard.check import altered_files, check, rewrite

from uqbench.boards import Board, Manifest, StoredBoard, board, board_at, gather
from uqbench.boards.cost import step_costs
from uqbench.boards.manifest import SCHEMA_VERSION, read_manifest
from uqbench.boards.protocol import departures, older_scores
from uqbench.errors import UqbenchError
from uqbench.pages.board_folders import all_files, write_files
from uqbench.pages.markdown import index_page, page
from uqbench.pages.terminal import print_board
from uqbench.registry import Host
from uqbench.results import Folder, Scores, Store
from uqbench.suites import Selection, make_plan, read_suites
from uqbench.uncertainty.scores import score_versions

ROOT = Path(__file__).parents[2]
COMMITTED = sorted((ROOT / "leaderboards").glob("*/*/manifest.json"))
SELECTION = Selection("toy", "paper")
COST = b"task,method,device,runs,steps_per_s,device_hours\nshort,fast,cpu,3,10.0,0.5000\n"
RECORDED = {
    "cost.csv": COST,
    "made_with.json": b'{"older": "", "runs": []}\n',
    "papers.bib": b"@article{a}",
    "curves.parquet": b"PAR1",
}


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_a_committed_manifest_is_read_and_lists_every_other_file_of_its_board(path):
    manifest = read_manifest(path.read_bytes(), str(path))
    assert manifest.text.encode() == path.read_bytes()
    files = {other.name: sha256(other.read_bytes()).hexdigest() for other in path.parent.iterdir()}
    files["scores.csv"] = sha256(read_scores(path.parent).encode()).hexdigest()
    del files["manifest.json"], files["scores.csv.gz"]
    assert manifest.sha256 == files


def test_the_published_schema_is_that_of_the_model():
    published = json.loads((ROOT / "docs" / "manifest.schema.json").read_text())
    assert published == Manifest.model_json_schema()


@pytest.fixture
def folder(host, tmp_path, monkeypatch):
    """A stored board without finished runs, and files that were recorded with it."""
    plan = SELECTION.plan(host, "cpu")
    board = Board.of(plan, gather(plan, Store(tmp_path / "none")))
    folder = tmp_path / "toy" / "paper"
    write_files(all_files(board, RECORDED), board_at(folder), host)
    return folder


def read(folder, host):
    stored = StoredBoard(board_at(folder))
    return stored, stored.board(SELECTION.plan(host, "cpu"), SELECTION, host, print)


def altered(folder, **fields):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_a_board_of_schema_3_is_read_and_a_rewrite_adds_the_digests_of_all_files(folder, host):
    listed = json.loads((folder / "manifest.json").read_text())["sha256"]
    tables = {name: digest for name, digest in listed.items() if name not in RECORDED}
    altered(folder, schema_version=3, sha256=tables, rliable={"reps": 2000})
    assert StoredBoard.read(folder).manifest.schema_version == 3
    assert StoredBoard.read(folder).leaderboard is not None
    assert altered_files(StoredBoard.read(folder)) == []
    assert rewrite(*read(folder, host), host)[-1] == folder / "manifest.json"
    manifest = StoredBoard(board_at(folder)).manifest
    assert manifest.schema_version == SCHEMA_VERSION
    assert manifest.sha256.keys() >= RECORDED.keys()


@pytest.mark.parametrize("version", [2, 99])
def test_a_manifest_of_another_schema_is_refused_and_says_so(folder, host, version):
    altered(folder, schema_version=version)
    with pytest.raises(UqbenchError, match=f"schema {version}, .* reads 3 and {SCHEMA_VERSION}"):
        read(folder, host)
    with pytest.raises(UqbenchError, match=f"schema {version}"):
        StoredBoard.read(folder)


@pytest.mark.parametrize(
    "fields",
    [{"runs": {"finished": -1}}, {"methods": [1]}, {"budget": {"name": "paper"}}, {"more": 1}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_damaged_manifest_is_named_with_what_is_wrong(folder, host, fields):
    altered(folder, **fields)
    (name,) = fields
    with pytest.raises(UqbenchError, match=rf"manifest\.json is damaged, because {name}"):
        read(folder, host)


@pytest.mark.parametrize("name", RECORDED)
def test_a_flipped_bit_of_what_no_score_implies_is_noticed(folder, host, name, tmp_path, capsys):
    store = Store(tmp_path / "none")
    assert check(*read(folder, host), store, print)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    capsys.readouterr()
    assert not check(*read(folder, host), store, print)
    assert f"{name}: is not the file whose digest manifest.json lists" in capsys.readouterr().out
    with pytest.raises(UqbenchError, match=rf"{name} is not the file"):
        rewrite(*read(folder, host), host)
    (folder / name).unlink()
    assert not check(*read(folder, host), store, print)
    (folder / name).write_bytes(data)
    (folder / "uncertainty.parquet").write_bytes(b"PAR1")
    capsys.readouterr()
    assert not check(*read(folder, host), store, print)
    assert "uncertainty.parquet: is not" in capsys.readouterr().out  # it is not listed


def test_a_check_of_rows_out_of_order_says_that_the_order_is_wrong(folder, host, tmp_path, capsys):
    header, *rows = read_scores(folder).splitlines(keepends=True)
    write_scores(folder, "".join([header, *rows[::-1]]))
    assert not check(*read(folder, host), Store(tmp_path / "none"), print)
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("scores.csv: differs from its own rows by task, method and seed")
    rewrite(*read(folder, host), host)
    assert check(*read(folder, host), Store(tmp_path / "none"), print)


def test_what_a_step_costs_is_read_from_the_first_board_that_says_so(folder, host, tmp_path):
    roots = [Folder(tmp_path / "none"), Folder(tmp_path)]
    chosen = Selection("toy", "paper", seeds=(7,)).plan(host, "cpu")
    assert step_costs(chosen, roots) == {("short", "fast", "cpu"): (0.1, str(folder / "cost.csv"))}
    (folder / "cost.csv").write_bytes(COST.replace(b"10.0", b"20.0"))
    assert step_costs(chosen, roots) == {}, "it is not the file that the manifest lists"


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
def test_what_departs_is_named_and_the_harmless_is_not(suite, manifest, table, field, value, said):
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
def test_scores_of_other_versions_are_named_and_stay_so(name, budget, method, score, tmp_path):
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
    "cut": b'{"suite": {"na', "a list": b"[]", "not UTF-8": b"\xff\xfe", "deep": b"[" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("data", [*DAMAGE.values(), None], ids=[*DAMAGE, "a pipe"])
@pytest.mark.parametrize("file", ["manifest.json", "claims.csv"])
def test_a_damaged_board_is_named_and_holds_up_no_other(suite, manifest, file, data, tmp_path):
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
