"""The leaderboards of this repository follow from their scores, by the suites as they are now.

Those of a suite's earlier protocol cannot; the index says so.
"""

import gzip
import math
import re
import shutil
import sys
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from uqbench.cli import group, main
from uqbench.registry import Host
from uqbench.suites import read_suites

LEADERBOARDS = Path(__file__).parents[1] / "leaderboards"
INDEX = LEADERBOARDS / "README.md"
BOARDS = [path.parent for path in sorted(LEADERBOARDS.glob("*/*/scores.csv.gz"))]
FOLLOWING = [b for b in BOARDS if "/".join(b.parts[-2:]) + "/README.md) ‡" not in INDEX.read_text()]
"""All but those of an earlier protocol, which are kept as they were written."""


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: f"{board.parent.name}-{board.name}")
def test_a_committed_leaderboard_follows_from_its_scores(board, tmp_path, monkeypatch, capsys):
    command = f"uqbench leaderboard --suite {board.parent.name} --budget {board.name} --check"
    places = ["--to", str(LEADERBOARDS), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command.split(), *places])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    if "is of an earlier protocol" in told.err:  # kept until it is run again, and marked
        assert f"({board.parent.name}/{board.name}/README.md) ‡" in INDEX.read_text()
        return
    assert ended.value.code == 0, told
    assert "byte for byte" in told.out
    older = re.findall("Scored with older definitions: .*", told.out)
    note = (board / "README.md").read_text().split("\n\n")[2]
    assert older == [note[1:-1]] * note.startswith("*Scored with older definitions")


def aged(to: Path, name: str, old: str, new: str) -> None:
    """A copy of a board whose manifest has another text, and whose page says what follows."""
    shutil.copytree(LEADERBOARDS / name, to / name)
    manifest = to / name / "manifest.json"
    text = manifest.read_text("utf-8")
    assert old in text
    manifest.write_text(text.replace(old, new, 1), "utf-8")
    suite, budget = name.split("/")
    command = ["leaderboard", "--rewrite", "--suite", suite, "--budget", budget]
    command += ["--to", str(to), "--out", str(to / "none")]
    done = CliRunner().invoke(group, command, standalone_mode=False, catch_exceptions=False)
    assert done.return_value in (0, None)


def test_every_board_of_a_folder_is_checked_and_older_ones_are_listed(tmp_path):
    """One has older scores, one an earlier protocol, one is of a selection."""
    version = '"uncertainty/coverage_95": "%s"'
    aged(tmp_path, "five-state/paper", version % 2, version % 1)
    aged(tmp_path, "deepsea-deep/paper", '"seeds": 10', '"seeds": 9')
    shutil.copytree(tmp_path / "deepsea-deep/paper", tmp_path / "deepsea-deep/paper-selection-1")
    command = ["leaderboard", "--check", "--to", str(tmp_path), "--out", str(tmp_path / "none")]
    done = CliRunner().invoke(group, command, standalone_mode=False)
    assert done.return_value == 0
    lines = done.stdout.splitlines()
    assert lines[-2:] == [
        "Scored with older definitions: five-state/paper.",
        "Boards of an earlier protocol: deepsea-deep/paper.",
    ]
    assert sum("byte for byte" in line for line in lines) == 1
    assert sum("paper-selection-1: not checked" in line for line in lines) == 1
    (tmp_path / "five-state" / "paper" / "scores.csv.gz").write_bytes(b"damaged")
    done = CliRunner().invoke(group, command, standalone_mode=False)
    assert done.return_value == 1
    assert done.stdout.splitlines()[-2:] == [
        "Scored with older definitions: none.",
        "Boards of an earlier protocol: deepsea-deep/paper.",
    ]


def test_intervals_lie_in_the_declared_ranges_of_their_metrics():
    suites, looked = read_suites(Host.load(), check=()).suites, 0
    for board in FOLLOWING:
        tables = [pd.read_csv(board / name) for name in ("tasks.csv", "leaderboard.csv")]
        for metric in suites[board.parent.name].metrics:
            of = ((tables[0], metric.name), (tables[1], f"{metric.name}_mean"))
            raw = not suites[board.parent.name].normalization_constants(metric)
            for table, name in of[: 1 + raw]:
                if f"{name}_low" in table:
                    ends = table[[f"{name}_low", f"{name}_high"]].stack()
                    assert ends.between(*metric.ends).all(), (board, name)
                    looked += len(ends) * (metric.ends != (-math.inf, math.inf))
    assert looked > 1_500


def printed(page):
    """Numbers of the column P(better than …) of a page, by method; none without the column."""
    header = re.search(r"\| (P\(better than [^|]+\)) \|", page)
    cells = table(page, "method", header[1]) if header else []
    names = {name.split("`")[1]: cell for name, cell in cells}
    numbers = {name: [*map(float, re.findall(r"[\d.]+", cell))] for name, cell in names.items()}
    return {name: of for name, of in numbers.items() if of}


@pytest.mark.parametrize("board", FOLLOWING, ids=lambda at: f"{at.parent.name}-{at.name}")
def test_one_pair_has_one_probability_of_improvement_and_one_interval(board):
    """That of pairs.csv, in leaderboard.csv and on the page; to the digits of each."""
    text = {"method": str, "first": str, "second": str}
    rows, pairs = (pd.read_csv(board / f"{of}.csv", dtype=text) for of in ("leaderboard", "pairs"))
    known = pairs.set_index(["first", "second"])
    column = next((n for n in rows if n.startswith("improvement_over_")), "")
    baseline = column.removeprefix("improvement_over_")
    shown = printed((board / "README.md").read_text())
    ends, looked = ("", "_low", "_high"), 0
    for _, row in rows.set_index("method", drop=False).iterrows():
        if not column or row["method"] == baseline or np.isnan(row[column]):
            continue
        first, second = sorted((row["method"], baseline))
        of = known.loc[(first, second), [f"improvement{end}" for end in ends]].to_numpy(float)
        of = of if first == row["method"] else 1 - of[[0, 2, 1]]
        assert row[[f"{column}{end}" for end in ends]].to_numpy(float) == pytest.approx(
            of, abs=2e-6, nan_ok=True
        )
        assert shown[row["method"]] == pytest.approx(of[~np.isnan(of)], abs=6e-4)
        looked += 1
    assert looked == len(shown)


@pytest.mark.parametrize("board", FOLLOWING, ids=lambda at: f"{at.parent.name}-{at.name}")
def test_no_column_of_estimates_is_empty(board):
    rows = pd.read_csv(board / "leaderboard.csv")
    estimates = [n.removesuffix("_low") for n in rows if n.endswith("_low") and n != "rank_low"]
    assert [name for name in estimates if rows[name].isna().all()] == []


def test_intervals_of_exact_posteriors_hold_what_they_say():
    """Worlds are drawn: .9 of many values, dependent within a world, to .05."""
    found = {}
    for board in BOARDS:
        rows = pd.read_csv(board / "leaderboard.csv")
        if "coverage_90_mean" in rows:
            for held in rows.loc[rows["method"] == "exact-posterior", "coverage_90_mean"]:
                found[board.parent.name] = held
    assert {"noise-and-ignorance", "offline-values"} <= found.keys()
    assert found == {suite: pytest.approx(0.9, abs=0.05) for suite in found}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: f"{board.parent.name}-{board.name}")
def test_an_oracle_closes_half_of_what_the_best_trivial_row_leaves(board):
    """By every score that ranks; 1 is a perfect score."""
    rows = pd.read_csv(board / "leaderboard.csv").set_index("role")
    places = [c.removesuffix("_rank") for c in rows if str(c).endswith("_rank")]
    for score in ["mean", *(f"{name}_mean" for name in places)]:
        oracles, trivial = (rows[score].filter(like=role).max() for role in ("oracle", "trivial"))
        assert not 1 - oracles > (1 - trivial) / 2, (score, oracles, trivial)


def test_the_default_budget_of_a_suite_with_boards_has_one():
    suites = read_suites(Host.load(), check=()).suites
    budgets = {suite: {at.name for at in BOARDS if at.parent.name == suite} for suite in suites}
    without = [of for of, own in budgets.items() if own and suites[of].default_budget not in own]
    # an hour for all methods of profile, whose default asks one in minutes
    assert without == ["profile"]


def table(text, *columns):
    """Cells of these columns of the first table that has them, a tuple a row."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    head = next(k for k, cells in enumerate(lines) if set(columns) <= set(cells))
    rows = takewhile(lambda cells: len(cells) == len(lines[head]), lines[head + 2 :])
    return [tuple(row[lines[head].index(column)] for column in columns) for row in rows]


def test_a_plain_file_of_scores_beside_the_packed_one_is_compared(tmp_path):
    folder = tmp_path / "five-state" / "paper"
    shutil.copytree(LEADERBOARDS / "five-state" / "paper", folder)
    (folder / "scores.csv").write_bytes(gzip.decompress((folder / "scores.csv.gz").read_bytes()))
    command = ["leaderboard", "--suite", "five-state", "--budget", "paper", "--check"]
    command += ["--to", str(tmp_path), "--out", str(tmp_path / "none")]
    assert CliRunner().invoke(group, command, standalone_mode=False).return_value == 0
    with (folder / "scores.csv").open("a") as file:
        file.write("x")
    done = CliRunner().invoke(group, command, standalone_mode=False)
    assert done.return_value == 1
    assert "scores.csv: differs from scores.csv.gz, which alone is read" in done.output
