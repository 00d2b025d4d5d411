"""The report: its numbers are those of the CSV files, and it asks for nothing."""

import csv
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from uqbench.boards.claims.verdict import Verdict
from uqbench.boards.stored import StoredBoard
from uqbench.pages.report.page import page, policy
from uqbench.pages.verdicts import by_paper, distinct, judged_claims
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites

BOARDS = Path(__file__).parents[3] / "leaderboards"
FOLDER = BOARDS / "uncertainty-toy" / "paper"
HOSTILE = "<img src=http://x.test onerror=alert(1)>"


class Numbers(HTMLParser):
    """The ``data`` values of each cell of a leaderboard, and what a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.row = self.column = ""
        self.cells: dict[tuple[str, str], list[float]] = {}
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.tags.append(tag)
        self.row = of.get("data-method") or ("" if tag == "tr" else self.row)
        if tag in ("td", "th"):
            self.column = of.get("data-column") or ""
        if tag == "data" and self.row and self.column:
            self.cells.setdefault((self.row, self.column), []).append(float(of["value"] or "nan"))
        self.ids += [of["id"]] if of.get("id") else []
        for name in ("src", "href", "data", "action", "srcset", "xlink:href"):
            value = of.get(name)
            if value and not value.startswith(("#", "data:")):
                self.fetched.append(value)
        self.fetched += [name for name in of if name.startswith("on")]


@pytest.fixture(scope="module")
def host():
    return load_host()


@pytest.fixture(scope="module")
def text(host) -> str:
    found, _ = page([FOLDER], "leaderboards", read_suites(host, check=()).suites, host)
    return found


def test_numbers_are_those_of_the_leaderboard(text):
    parsed = Numbers()
    parsed.feed(text)
    with (FOLDER / "leaderboard.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert {method for method, _ in parsed.cells} == set(rows)
    assert len({column for _, column in parsed.cells}) >= 2
    for (method, column), shown in parsed.cells.items():
        expected = [rows[method][f"{column}{end}"] for end in ("", "_low", "_high")]
        assert shown == [float(cell) for cell in expected if cell], (method, column)


def test_nothing_is_fetched_and_ids_are_unique(text):
    parsed = Numbers()
    parsed.feed(text)
    assert parsed.fetched == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert "url(http" not in text
    assert "@import" not in text
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert script is not None
    assert policy(script[1]).replace("'", "&#39;") in text


def test_pictures_have_a_text_alternative_and_tables_a_caption(text):
    assert text.count("<svg") == text.count('role="img" aria-label="') > 3
    assert text.count("<table") == text.count("<caption")


@pytest.mark.long
def test_the_same_boards_give_the_same_page(text, host):
    again, _ = page([FOLDER], "leaderboards", read_suites(host, check=()).suites, host)
    assert again == text


def test_names_from_elsewhere_are_text_and_a_submitted_row_says_so(tmp_path, host):
    folder = tmp_path / "uncertainty-toy" / "paper"
    folder.mkdir(parents=True)
    for path in FOLDER.iterdir():
        if path.suffix in (".csv", ".json"):
            (folder / path.name).write_text(path.read_text().replace("unbiased", "unb<i>ased"))
    header, first, *others = (folder / "leaderboard.csv").read_text().splitlines()
    lines = [f"{header},submitted", f"{first},verified", *(f"{line}," for line in others)]
    (folder / "leaderboard.csv").write_text("\n".join(lines) + "\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["budget"]["summary"] = manifest["primary_metric"]["summary"] = HOSTILE
    manifest["sha256"] = {}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found, _ = page([folder], HOSTILE, {}, host)
    assert "<i>" not in found
    assert "<img" not in found
    assert "&lt;img src=http://x.test" in found
    assert found.count('<small class="role">verified</small>') == 1


def test_the_front_page_begins_with_a_finding_and_the_picture_of_trust(host):
    folder = BOARDS / "minatar" / "quick"
    board = StoredBoard.read(folder)
    found, _ = page([folder], "leaderboards", read_suites(host, check=()).suites, host)
    front = found[found.index('id="front"') : found.index('id="suites"')]
    assert board.title in front
    shown = html.unescape(re.sub(r"<[^>]*>", "", front))
    assert shown.count(board.finding[:30]) == 1  # not in the picture, too
    assert front.count("<svg") == 1
    of_board = found[found.index('<section class="page" id="board-') :]
    places = [of_board.index(what) for what in ("finding", "f-trust", "<table", 'class="figures"')]
    assert places == sorted(places)
    assert of_board.count("f-trust") == 1
    rows = board.leaderboard[["method", "calibration"]].dropna()
    for method, word in rows.itertuples(index=False):
        row = found[found.index(f'data-method="{method}"') :]
        cell = re.compile(rf'data-column="calibration">([^<]*, )?{re.escape(word)}</td>')
        assert cell.search(row[: row.index("</tr>")])


def test_the_front_page_has_the_board_whose_intervals_differ_most(host):
    folders = [BOARDS / "minatar" / "quick", BOARDS / "priormdp-sbc" / "paper"]
    found, _ = page(folders, "leaderboards", read_suites(host, check=()).suites, host)
    front = found[found.index('id="front"') : found.index('id="suites"')]
    assert '<a href="#board-priormdp-sbc-paper">' in front.partition("<svg")[0]


def test_the_matrix_counts_each_claim_once_and_only_tested_ones_can_be_wrong():
    board = StoredBoard.read(FOLDER)
    judged = judged_claims(board)
    with (FOLDER / "claims.csv").open() as file:
        assert len(judged) == len({row["claim"] for row in csv.DictReader(file)})
    (paper,) = by_paper(judged)
    assert paper.decided == paper.count("holds") + paper.count("does not hold")
    assert paper.wrong == pytest.approx(0.05 * len(judged))
    assert sum(paper.count(verdict.value) for verdict in Verdict) == len(judged)
    untested = [replace(claim, tested=False) for claim in judged]
    assert by_paper(untested)[0].wrong == 0


def test_a_claim_counts_as_the_board_of_most_seeds_that_it_needs_has_it():
    """Not as the one that suits it best; *not judged* is no *not run*."""
    (claim, *_) = judged_claims(StoredBoard.read(FOLDER))

    def counted(*others):
        (one,) = distinct([replace(claim, **other) for other in others])
        return one.verdict

    few = {"verdict": "holds", "seeds": 3}
    many = {"verdict": "does not hold", "seeds": 20}
    assert counted(few, many) == counted(many, few) == "does not hold"
    assert counted(many, {"verdict": "not run", "seeds": 99}) == "does not hold"
    elsewhere = {"verdict": "not applicable", "seeds": 99, "needed_here": False}
    assert counted(elsewhere, few) == "holds"
    assert counted(elsewhere) == "not run"
    assert counted({"verdict": "not judged"}) == "not judged"
    assert counted({"verdict": "not applicable"}) == "not applicable"
