"""The explorer: its numbers are those of the CSV files, and it asks nobody for anything."""

import csv
import importlib
import json
import re
import shutil
from base64 import b64decode, b64encode
from dataclasses import replace
from gzip import decompress
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from packed import read_scores, write_scores
from uqbench_claims.judged import by_paper, distinct, judged_claims
from uqbench_claims.verdict import Verdict
from uqbench_report.explorer.board import board_data
from uqbench_report.explorer.matrix import MARKS, html, matrix
from uqbench_report.explorer.page import PAGE, Explorer, _methods
from uqbench_report.explorer.ranks import places_by
from uqbench_report.plots import catalog

from uqbench.boards import StoredBoard
from uqbench.boards.calibration import word
from uqbench.pages.methods import entitled, names_of
from uqbench.registry.load_host import load_host
from uqbench.results import Folder
from uqbench.suites import Selection, read_suites

BOARDS = Path(__file__).parents[4] / "leaderboards"
FOLDER = BOARDS / "uncertainty-toy" / "paper"
HOSTILE = "</script><img src=http://x.test onerror=alert(1)>"


class Elements(HTMLParser):
    """What a browser would fetch or run of a page, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.meta: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.tags.append(tag)
        self.scripts += [""] * (tag == "script")
        for name in ("src", "href", "data", "action", "srcset", "xlink:href"):
            value = of.get(name)
            if value and not value.startswith(("#", "data:,")):
                self.fetched.append(value)
        self.fetched += [name for name in of if name.startswith("on")]
        key = of.get("property") or of.get("name") or of.get("http-equiv") or ""
        if tag == "meta":
            self.meta[key] = of.get("content") or ""

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"]:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def host():
    return load_host()


@pytest.fixture(scope="module")
def suites(host):
    return read_suites(host, check=()).suites


@pytest.fixture(scope="module")
def explorer(host, suites) -> Explorer:
    return Explorer([Folder(FOLDER)], suites, host, "leaderboards")


@pytest.fixture(scope="module")
def deepsea(host, suites) -> Explorer:
    return Explorer([Folder(BOARDS / "deepsea" / "demo")], suites, host)


@pytest.fixture(scope="module")
def computed(host):
    """The board of the same runs, computed from its scores."""
    selection = Selection("deepsea", "demo")
    stored = StoredBoard.read(BOARDS / "deepsea" / "demo")
    return stored.board(selection.plan(host, "cpu"), selection, host)


@pytest.fixture(scope="module")
def site():
    """The site's builder of pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BOARDS.parent / "tools"))
        yield importlib.import_module("site_hook")


def test_numbers_are_those_of_the_leaderboard(explorer):
    data = explorer.boards["uncertainty-toy-paper"]
    with (FOLDER / "leaderboard.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert {one["name"] for one in data["methods"]} == set(rows)
    assert len(data["values"]) > 2
    for column, values in data["values"].items():
        for one, shown in zip(data["methods"], values, strict=True):
            cells = [rows[one["name"]][f"{column}{end}"] for end in ("", "_low", "_high")]
            expected = [float(cell) if cell else None for cell in cells]
            assert shown == (None if expected[0] is None else expected), (one["name"], column)
    with (FOLDER / "tasks.csv").open() as file:
        for row in csv.DictReader(file):
            k = [one["name"] for one in data["methods"]].index(row["method"])
            for metric, means in data["tasks"][row["task"]].items():
                shown = means[k]
                assert (shown and shown[0]) == (float(row[metric]) if row[metric] else None)


def test_a_task_alone_and_all_but_one_have_the_ranks_of_these_runs(deepsea, computed):
    data, board = deepsea.boards["deepsea-demo"], computed
    ranked = {key for key in data["ranks"] if key.startswith(("only", "without"))}
    assert ranked == {f"{how}:{task}" for how, task in board.subsets}
    for (how, task), tasks in board.subsets.items():
        places, rows = board.places_on(*tasks), zip(
            data["methods"], data["ranks"][f"{how}:{task}"], data["sets"][f"{how}:{task}"],
            strict=True)  # fmt: skip
        for one, place, value in rows:
            columns = [board.methods[one["name"]].tasks.index(name) for name in tasks]
            mean = board.matrices[one["name"]][:, columns].mean()
            assert value[0] == pytest.approx(mean, rel=1e-5, abs=1e-9)
            own = places.get(one["name"])
            assert place == (own and [own.rank, own.low, own.high])


def test_a_score_of_which_less_is_better_ranks_the_least_first(computed):
    """Regret that is not normalized: the signs of scores and of their ranges turn."""
    board = computed
    (column,) = [one for one in board.columns if one.metric.name == "late_regret"]
    by_score = places_by(board, column)
    raw = places_by(board, replace(column, normalized=False))
    regret = {name: board.methods[name].raw(column.metric) for name in raw}
    assert raw
    assert by_score.keys() == raw.keys()
    order = sorted(raw, key=lambda name: raw[name].rank)
    means = {name: float(np.mean(of)) for name, of in regret.items()}
    assert [means[name] for name in order] == sorted(means.values())


def test_a_score_whose_right_value_lies_between_ranks_nobody(deepsea):
    data = deepsea.boards["deepsea-demo"]
    ranked = {key.removeprefix("by:") for key in data["ranks"] if key.startswith("by:")}
    assert "coverage_90_mean" in data["values"]
    assert "coverage_90_mean" not in ranked
    assert "late_regret_mean" in ranked


def test_a_board_of_an_earlier_protocol_says_why_it_is_not_ranked_anew(host, suites):
    pages = sorted(BOARDS.glob("*/*/README.md"), key=lambda page: page.stat().st_size)
    earlier = next(page for page in pages if "Of an earlier protocol" in page.read_text("utf-8"))
    (data,) = Explorer([Folder(earlier.parent)], suites, host).boards.values()
    assert data["earlier"]
    assert list(data["ranks"]) == [""]
    assert "earlier protocol" in data["unranked"]


def test_a_board_of_other_runs_than_planned_says_so_and_is_not_ranked_anew(tmp_path, host, suites):
    folder = tmp_path / "deepsea" / "demo"
    shutil.copytree(BOARDS / "deepsea" / "demo", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    planned = sum(manifest["runs"].values())
    manifest["runs"]["finished"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (data,) = Explorer([Folder(folder)], suites, host).boards.values()
    assert data["unranked"] == f"The board has {planned + 1} runs, its budget {planned}."
    assert list(data["ranks"]) == [""]


def test_a_column_whose_name_would_mislead_has_its_metrics_title(host, suites):
    """``frozen``: ``shifted_nll`` is of corruptions, the score of another vendor's drawings."""
    board = StoredBoard.read(BOARDS / "frozen" / "paper")
    data, _ = board_data(board, suites["frozen"], host, "leaderboards", [*catalog.FIGURES])
    headers = {one["name"]: one["header"] for one in data["columns"]}
    assert headers["shifted_nll_mean"] == "NLL, corruptions"
    assert headers["shifted_nll_beyond"] == "shifted nll beyond"


def test_settings_of_a_method_have_its_name_and_what_sets_them_apart(deepsea):
    methods = {one["name"]: one for one in deepsea.boards["deepsea-demo"]["methods"]}
    assert methods["psrl"]["title"] == "PSRL"
    assert methods["ube-zeta-1"]["title"] == "UBE, ζ = 1.0"
    assert methods["ube"]["of"] == methods["ube-zeta-1"]["of"]
    assert methods["ube"]["family"] == "UBE"
    assert any("Donoghue" in name for name in deepsea.index["links"])
    (ube,) = [one for one in deepsea.index["methods"] if one["of"] == "ube"]
    assert {row["name"] for row in ube["rows"]} == {"ube", "ube-zeta-1"}


def test_one_file_requests_nothing_and_runs_its_own_script_alone(explorer):
    page = Elements(explorer.file())
    assert page.fetched == []
    data, script = page.scripts
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = page.meta["Content-Security-Policy"]
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy
    assert set(json.loads(decompress(b64decode(data)))) == {"index", "uncertainty-toy-paper"}
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|eval\(", script)


def test_a_folder_has_a_page_with_title_and_picture_for_each_board_and_method(explorer, site):
    files = dict(site.explorer_pages(explorer, "https://x.test/boards/"))
    page = Elements(files["uncertainty-toy-paper.html"])
    board = explorer.stored["uncertainty-toy-paper"]
    assert page.meta["og:title"] == "uncertainty-toy · paper · uqbench"
    assert page.meta["og:description"] == board.finding
    assert page.meta["og:image"] == "https://x.test/boards/uncertainty-toy-paper.png"
    assert files["uncertainty-toy-paper.png"].startswith(b"\x89PNG")
    assert page.meta["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert all(name in files for name in page.fetched)
    assert "method-anchored-quantiles.html" in files
    later = files["data/uncertainty-toy-paper.figures.js"]
    assert later.count("<svg") == len(explorer.boards["uncertainty-toy-paper"]["figures"]) - 1
    assert "<svg" in files["data/uncertainty-toy-paper.js"]


def test_ids_in_pictures_are_unique_and_pictures_have_a_text_alternative(deepsea):
    data = deepsea.boards["deepsea-demo"]
    pictures = [of["svg"] for of in [*data["figures"], *data["claims"]] if of["svg"]]
    ids = [one for svg in pictures for one in re.findall(r'\bid="([^"]+)"', svg)]
    assert len(ids) == len(set(ids))
    assert all('role="img" aria-label="' in svg for svg in pictures)


@pytest.mark.long
def test_the_same_boards_give_the_same_page(explorer, host, suites):
    assert Explorer([Folder(FOLDER)], suites, host, "leaderboards").file() == explorer.file()


def test_names_from_elsewhere_are_text_and_a_submitted_row_says_so(tmp_path, host, site):
    folder = tmp_path / "uncertainty-toy" / "paper"
    folder.mkdir(parents=True)
    for path in FOLDER.iterdir():
        if path.suffix in (".csv", ".json"):
            (folder / path.name).write_text(path.read_text().replace("unbiased", "unb<i>ased"))
    write_scores(folder, read_scores(FOLDER).replace("unbiased", "unb<i>ased"))
    header, first, *others = (folder / "leaderboard.csv").read_text().splitlines()
    lines = [f"{header},submitted", f"{first},self-reported", *(f"{line}," for line in others)]
    (folder / "leaderboard.csv").write_text("\n".join(lines) + "\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["budget"]["summary"] = manifest["primary_metric"]["summary"] = HOSTILE
    manifest["sha256"] = {}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = Explorer([Folder(folder)], {}, host, HOSTILE)
    text = found.file()
    assert text.count("</script>") == 2
    assert "<i>" not in text
    assert "<img" not in text
    for name, page in site.explorer_pages(found):
        if name.endswith(".html"):
            assert "img" not in Elements(page).tags
            assert "i" not in Elements(page).tags
    (data,) = found.boards.values()
    assert data["about"] == (
        f"{HOSTILE} Hours are a core's: 0.07 in all, Linux x86_64, AMD EPYC (cost.csv)."
    )
    assert [one["state"] for one in data["methods"]].count("self-reported") == 1


def test_titles_of_pages_and_cells_are_text():
    called = dict.fromkeys(("title", "said", "page", "image"), HOSTILE)
    page = Elements(PAGE.render(called, sources=[]))
    assert page.meta["og:title"] == HOSTILE
    cell = {"word": "open", "text": "90", "said": HOSTILE}
    row = {"of": "m", "title": HOSTILE, "inside": {"k": cell}, "skill": {}}
    of = {"rows": [row], "inside": {"k": HOSTILE}, "skill": {}, "without": [HOSTILE]}
    table = Elements(html(of, lambda kind, name: f"#{kind}={name}"))
    assert table.tags.count("a") == 2
    assert "img" not in [*page.tags, *table.tags]


def test_the_matrix_counts_each_claim_once_and_only_tested_ones_can_be_wrong():
    judged = judged_claims(StoredBoard.read(FOLDER))
    with (FOLDER / "claims.csv").open() as file:
        assert len(judged) == len({row["claim"] for row in csv.DictReader(file)})
    (paper,) = by_paper(judged)
    assert paper.decided == paper.count("holds") + paper.count("does not hold")
    assert paper.wrong == pytest.approx(0.05 * len(judged))
    assert sum(paper.count(verdict.value) for verdict in Verdict) == len(judged)
    assert by_paper([replace(claim, tested=False) for claim in judged])[0].wrong == 0


def test_a_claim_counts_as_the_board_of_most_seeds_that_it_needs_has_it():
    """Not as the one that suits it best."""
    (claim, *_) = judged_claims(StoredBoard.read(FOLDER))

    def counted(*others):
        (one,) = distinct([replace(claim, **other) for other in others])
        return one.verdict

    few, many = {"verdict": "holds", "seeds": 3}, {"verdict": "does not hold", "seeds": 20}
    assert counted(few, many) == counted(many, few) == "does not hold"
    assert counted(many, {"verdict": "not run", "seeds": 99}) == "does not hold"
    elsewhere = {"verdict": "not run", "seeds": 99, "needed_here": False}
    assert (counted(elsewhere, few), counted(elsewhere)) == ("holds", "not run")
    assert counted({"verdict": "open"}) == "open"
    assert counted({"verdict": "not run"}) == "not run"


def test_the_finding_and_the_pictures_say_the_names_of_papers(deepsea):
    """Names on the board, such as ``mm``, are in neither; the rows' data keep them."""
    data = deepsea.boards["deepsea-demo"]
    assert "mm" in {one["name"] for one in data["methods"] if one["title"] != one["name"]}
    drawn = " ".join(re.sub(r"<[^>]*>", " ", one["svg"]) for one in data["figures"])
    assert "Moment matching" in drawn
    for key in ("mm", "ube-zeta-1"):
        assert not re.search(rf"(?<![\w-]){key}(?![\w-])", data["finding"] + " " + drawn)


@pytest.mark.parametrize(
    "name", ["cartpole/paper", "minatar/night", "deepsea/paper", "fashion/ood"]
)
def test_a_method_has_one_name_in_table_headline_and_figures(name, host, suites):
    """Also where its title is too long for a picture, or is that of another row."""
    board = StoredBoard.read(BOARDS / name)
    suite = suites[board.suite]
    titles = [of["title"] for _, of in names_of(board, host, suite)]
    assert len({*titles}) == len(titles)
    assert [*entitled(board, host, suite).leaderboard["method"]] == titles


def test_two_methods_on_one_task_have_the_interval_of_their_difference_there(deepsea, computed):
    data = deepsea.boards["deepsea-demo"]
    names = [one["name"] for one in data["methods"]]
    assert set(data["apart"]) == set(deepsea.stored["deepsea-demo"].tasks["task"])
    for task, pairs in data["apart"].items():
        known = {(of.first, of.second): of for of in computed.pairs_on(task)}
        assert len(pairs) == len(known)
        for first, second, apart, better in pairs:
            own = known[names[first], names[second]]
            assert apart[0] == pytest.approx(own.difference.value, rel=1e-5, abs=1e-9)
            assert better[0] == pytest.approx(own.improvement.value, rel=1e-5, abs=1e-9)


def test_a_cell_of_the_matrix_is_a_boards_word_and_leads_to_it(deepsea, site):
    data, table = deepsea.boards["deepsea-demo"], html(deepsea.matrix, site.page_of)
    assert deepsea.matrix["inside"] == {"deepsea-demo": data["title"]}
    for row in deepsea.matrix["rows"]:
        cell = row["inside"]["deepsea-demo"]
        own = [of for of in data["methods"] if cell["said"] == f"{of['name']}: {of['word']}"]
        (k,) = map(data["methods"].index, own)
        assert cell["word"] == data["methods"][k]["calibration"]
        assert cell["text"] == f"{100 * data['values']['coverage_90_mean'][k][0]:.0f}"
        assert f'href="deepsea-demo.html">{MARKS[cell["word"]]}{cell["text"]}</a>' in table
    assert table.count('<td class="m-') == len(deepsea.matrix["rows"])


def front_page(*stored):
    """A matrix of boards, each a title, its suite, its runs, its score, and methods with shares."""
    boards, methods = {}, {}
    for title, suite, runs, score, shares in stored:
        words = {name: word(of, of, 0.9) for name, of in shares.items()}
        boards[title] = {
            "id": title, "title": title, "suite": suite, "coverage": ["c", 0.9, 0.85, 0.95],
            "earlier": "", "runs": [runs, runs], "methods": [{"name": name} for name in shares],
            "skill": score and {"name": score, "values": [[1.0, 0.5, 1.5]] * len(shares)},
        }  # fmt: skip
        for name, share in shares.items():
            row = {"board": title, "name": name, "covered": [share] * 3, "place": None,
                   "calibration": words[name], "word": words[name]}  # fmt: skip
            methods.setdefault(name, {"of": name, "title": name, "rows": []})["rows"].append(row)
    return matrix(boards, list(methods.values()))


def visible(table):
    """The cells of a table without what only a mouse shows, by the heads of row and column."""
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    head, *body = [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells[1:]]
    return {(row[0], of): cell for row in body for of, cell in zip(head[1:], row[1:], strict=True)}


def test_a_cell_is_of_the_board_and_the_score_that_its_column_names_without_a_mouse():
    """A world where a method's intervals fail is seen, and no column has two boards or scores."""
    of = front_page(
        ("sea · paper", "sea", 9, None, {"psrl": 0.9}),
        ("deep · paper", "deep", 4, None, {"psrl": 0.6}),
        ("wear · ood", "wear", 9, "AUROC", {"psrl": 0.9, "mm": 0.99}),
        ("wear · paper", "wear", 5, "NLL", {"mm": 0.9}),
        ("wear · more", "wear", 5, "NLL", {"more": 0.9}),
    )
    assert visible(html(of, lambda kind, name: name)) == {
        ("more", "deep · paper"): "", ("more", "sea · paper"): "", ("more", "wear · more"): "●90",
        ("more", "wear · ood"): "", ("more", "wear · more: NLL"): "+",
        ("more", "wear · ood: AUROC"): "",
        ("psrl", "deep · paper"): "▼60", ("psrl", "sea · paper"): "●90",
        ("psrl", "wear · more"): "", ("psrl", "wear · ood"): "●90",
        ("psrl", "wear · more: NLL"): "", ("psrl", "wear · ood: AUROC"): "+",
        ("mm", "deep · paper"): "", ("mm", "sea · paper"): "", ("mm", "wear · more"): "",
        ("mm", "wear · ood"): "▲99", ("mm", "wear · more: NLL"): "",
        ("mm", "wear · ood: AUROC"): "+",
    }  # fmt: skip


def test_a_row_of_another_paper_is_a_method_of_its_own(host, suites):
    """SNGP is no setting of Laplace, by whose estimator it is made."""
    board, suite = StoredBoard.read(BOARDS / "regression" / "paper"), suites["regression"]
    told = dict(names_of(board, host, suite))
    assert (told["sngp"]["of"], told["sngp"]["title"]) == ("sngp", "SNGP")
    assert told["sngp"]["source"].startswith("Liu, Lin et al. 2020")
    assert told["laplace"]["title"] == "Laplace"
    assert "laplace" in told["sngp"]["code"]  # the estimator that implements it


@pytest.mark.parametrize("name", ["fashion", "frozen", "predictive", "regression", "ood-digits"])
def test_every_row_with_a_paper_of_its_own_has_a_title_and_a_line_about_it(suites, name):
    for row in suites[name].methods:
        assert row.source is None or (row.title and row.summary), row.name


def test_a_method_has_its_cost_configuration_and_code(deepsea):
    (of,) = [one for one in deepsea.index["methods"] if one["of"] == "psrl"]
    assert of["code"] == "uqbench_tabular.agents.psrl:PSRL"
    assert all(row["seconds"] > 0 and "replan_every" in row["config"] for row in of["rows"])


def test_each_method_is_counted_and_named_apart_where_titles_are_shared():
    """As many on the front page, as rows or among those without intervals, as there are."""
    none = dict.fromkeys(("about", "source", "code", "seconds", "config"), "")
    boards = {
        name: {
            "id": name, "title": name, "suite": name, "earlier": "", "runs": [1], "skill": None,
            "coverage": ["c", 0.9, 0.85, 0.95], "ranking": "mean", "ranks": {"": [None]},
            "values": {"c": [share], "mean": [[0.5, 0.4, 0.6]]},
            "methods": [{**none, "of": name, "family": title, "role": "method", "name": name,
                         "title": name, "calibration": "open", "word": "open"}],
        }
        for name, title, share in (
            ("ube", "UBE", [0.9, 0.8, 1.0]), ("ube-chain", "UBE", None), ("ube-terms", "UBE", None),
            ("dqn", "DQN", None),
        )
    }  # fmt: skip
    methods = [*_methods(boards)]
    of = matrix(boards, methods)
    named = [row["title"] for row in of["rows"]] + of["without"]
    assert named == ["UBE", "DQN", "UBE (ube-chain)", "UBE (ube-terms)"]
    assert len(named) == len(methods)
