"""The explorer in a browser: as one file and as a folder, both from a file, without a request.

    tox -e browser

drives Debian's Chromium by Playwright and keeps a screenshot of each page. It is not part of the
default tests, whose environment has neither.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request
from uqbench_report.explorer.page import Explorer

from uqbench.boards import board_folders
from uqbench.registry.load_host import load_host
from uqbench.suites import read_suites

ROOT = Path(__file__).parents[4]
ROUTES = {
    "front": ("index.html", ""),
    "board": ("cartpole-paper.html", "#board=cartpole-paper"),
    "night": ("minatar-night.html", "#board=minatar-night"),
    "claims": ("claims.html", "#claims="),
    "methods": ("methods.html", "#methods="),
    "method": ("method-ua-dqn.html", "#method=ua-dqn"),
    "psrl": ("method-psrl.html", "#method=psrl"),
}
WIDTHS = (390, 1280)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_FIRST, MOST_ALL = 400_000, 3_000_000
"""Compressed bytes of the first load of any page, and of all boards with their figures."""


@pytest.fixture(scope="session")
def explorer() -> Explorer:
    """All committed boards."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    return Explorer(board_folders(ROOT / "leaderboards"), suites, host, "leaderboards")


@pytest.fixture(scope="session")
def pages(explorer: Explorer) -> dict[str, bytes]:
    """The pages of the site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        made = importlib.import_module("site_hook").explorer_pages(explorer)
        return {name: of if isinstance(of, bytes) else of.encode() for name, of in made}


@pytest.fixture(scope="session")
def folder(pages: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a folder."""
    root = tmp_path_factory.mktemp("explorer")
    for name, data in pages.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.fixture(scope="session")
def file(explorer: Explorer, pictures: Path) -> Path:
    """The pages as one file."""
    path = pictures / "report.html"
    path.write_text(explorer.file(), encoding="utf-8")
    return path


@dataclass
class Visit:
    """A page, and what went wrong on it."""

    page: Page
    root: Path
    complaints: list[str] = field(default_factory=list)

    def go(self, name: str, state: str = "") -> None:
        """Open a page afresh, in a state of its own."""
        page, route = ROUTES.get(name, (f"{name}.html", f"#board={name}"))
        self.page.goto("about:blank")
        if self.root.is_dir():
            self.page.goto((self.root / page).as_uri() + ("#" + state if state else ""))
        else:
            self.page.goto(self.root.as_uri() + route + ("&" + state if state else ""))
        self.page.wait_for_selector("h1")

    def rows(self) -> list[str]:
        """The names of the rows that are shown, in order."""
        found: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('#rows tbody tr')].map((row) => row.dataset.row)"
        )
        return found


@pytest.fixture(params=["file", "folder"])
def root(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def visits(browser: Browser, root: Path, width: int, scheme: Literal["light", "dark"]):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = Visit(context.new_page(), root.resolve())
    own = found.root.as_uri() if found.root.is_file() else found.root.as_uri() + "/"
    found.page.on("console", lambda said: found.complaints.append(f"{said.type}: {said.text}"))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))

    def asked(request: Request) -> None:
        if not request.url.startswith((own, "about:blank", "data:,", "blob:")):
            found.complaints.append(f"request: {request.url[:200]}")

    found.page.on("request", asked)
    yield found
    context.close()
    assert found.complaints == []


@pytest.fixture
def visit(browser: Browser, root: Path) -> Iterator[Visit]:
    """A page of either kind; it fails where it complained, or asked for anything."""
    yield from visits(browser, root, 1280, "light")


@pytest.fixture(params=[(w, s) for w in WIDTHS for s in SCHEMES], ids=lambda p: f"{p[0]}-{p[1]}")
def sized(request: pytest.FixtureRequest, browser: Browser, folder: Path) -> Iterator[Visit]:
    """A page of one width and scheme."""
    yield from visits(browser, folder, *request.param)


@pytest.mark.parametrize("name", ROUTES)
def test_a_page_fits_its_width_and_has_no_serious_finding(sized: Visit, name: str, pictures: Path):
    sized.go(name)
    page, size = sized.page, sized.page.viewport_size
    assert size is not None
    page.wait_for_timeout(200)
    scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    path = pictures / f"{name}-{size['width']}-{'dark' if scheme else 'light'}.png"
    page.screenshot(path=path, full_page=size["width"] > 1000)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("h1").count() == 1
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in serious] == []


def test_pages_are_small(explorer: Explorer, pages: dict[str, bytes]):
    sizes = {name: len(gzip.compress(data, mtime=0)) for name, data in pages.items()}
    shared = sum(sizes[name] for name in ("explorer.js", "explorer.css", "data/index.js"))
    first = {of: shared + sizes[f"{of}.html"] + sizes[f"data/{of}.js"] for of in explorer.boards}
    every = sum(size for name, size in sizes.items() if not name.endswith(".png"))
    print(f"first load {max(first.values()):,} at most, all {every:,}, previews "
          f"{sum(sizes.values()) - every:,}")  # fmt: skip
    assert max(first.values()) <= MOST_FIRST
    assert every <= MOST_ALL


def test_another_score_another_task_and_all_but_one_rank_by_own_sets(visit: Visit, explorer):
    data = explorer.boards["deepsea-paper"]
    names = [one["name"] for one in data["methods"]]
    visit.go("deepsea-paper", "open=all")
    for box, value, key in (
        ("#c-by", "late_regret_mean", "by:late_regret_mean"),
        ("#c-by", "", ""),
        ("#c-tasks", "only:deepsea-12", "only:deepsea-12"),
        ("#c-tasks", "without:deepsea-4", "without:deepsea-4"),
    ):
        visit.page.select_option(box, value)
        places = visit.page.locator("#rows .place").all_inner_texts()
        shown = dict(zip(visit.rows(), places, strict=True))
        for name, place in zip(names, data["ranks"][key], strict=True):
            low, high = place[1:3] if place else (0, 0)
            text = "–" if place is None else f"{low}" if low == high else f"{low}–{high}"
            assert shown[name].removesuffix(" =") == text, (key, name)


def test_any_other_choice_shows_values_and_no_ranks(visit: Visit):
    visit.go("deepsea-paper")
    visit.page.select_option("#c-tasks", "of")
    visit.page.check("fieldset.picks >> text=deepsea-8")
    visit.page.check("fieldset.picks >> text=deepsea-10")
    heads = visit.page.locator("#rows thead th").all_inner_texts()
    assert "ranks" not in heads
    assert heads[1:3] == ["deepsea-8", "deepsea-10"]
    assert "No ranks for this choice" in visit.page.inner_text("p[role=status]")
    visit.page.select_option("#c-tasks", "only:deepsea-8")
    visit.page.select_option("#c-by", "late_regret_mean")
    assert "ranks" not in visit.page.locator("#rows thead th").all_inner_texts()


def test_settings_are_folded_and_a_button_shows_them(visit: Visit):
    visit.go("deepsea-paper")
    assert "ube-zeta-1" not in visit.rows()
    visit.page.focus("[data-fold=ube]")
    visit.page.keyboard.press("Enter")
    assert visit.rows().index("ube-zeta-1") == visit.rows().index("ube") + 1
    assert visit.page.evaluate("document.activeElement.dataset.fold") == "ube"
    assert "open=ube" in visit.page.url


def test_filters_keep_the_rows_they_name(visit: Visit, explorer):
    methods = {one["name"]: one for one in explorer.boards["priormdp-sbc-paper"]["methods"]}
    visit.go("priormdp-sbc-paper", "open=all")
    every = visit.rows()
    visit.page.check(".chip:has-text('trusted') input")
    assert visit.rows() == [n for n in every if methods[n]["calibration"] == "calibrated"]
    assert 0 < len(visit.rows()) < len(every)
    visit.page.uncheck(".chip:has-text('trusted') input")
    visit.page.check(".chip:has-text('paper') input")
    assert visit.rows() == [n for n in every if methods[n]["source"]]
    visit.go("cartpole-paper", "open=all")
    methods = {one["name"]: one for one in explorer.boards["cartpole-paper"]["methods"]}
    every = visit.rows()
    visit.page.fill("input[type=search]", "too narrow")
    assert "filter=" not in visit.page.url
    assert visit.rows() == [n for n in every if "too narrow" in methods[n]["calibration"]]
    assert 0 < len(visit.rows()) < len(every)


def test_columns_are_chosen_and_sorted_by_full_values(visit: Visit, explorer):
    data = explorer.boards["cartpole-paper"]
    visit.go("cartpole-paper", "open=all")
    visit.page.click("summary:has-text('Columns')")
    before = visit.page.locator("#rows thead th").count()
    label = next(one for one in data["columns"] if one["name"] == "optimality_gap")["header"]
    visit.page.check(f"fieldset.picks >> text='{label}'")
    assert visit.page.locator("#rows thead th").count() == before + 1
    button = "[data-sort=optimality_gap]"
    for direction in ("descending", "ascending"):
        visit.page.click(button)
        assert visit.page.get_attribute(f"th:has({button})", "aria-sort") == direction
        cells = "[...document.querySelectorAll('[data-column=optimality_gap] data')]"
        values = visit.page.evaluate(f"{cells}.map((cell) => Number(cell.value))")
        assert values == sorted(values, reverse=direction == "descending")


def test_two_methods_are_compared_in_a_sentence_and_task_by_task(visit: Visit, explorer):
    visit.go("deepsea-paper")
    visit.page.select_option("#two-0", "psrl")
    visit.page.select_option("#two-1", "bql")
    data = explorer.boards["deepsea-paper"]
    names = [one["name"] for one in data["methods"]]
    two = {names.index("psrl"), names.index("bql")}
    (pair,) = [of for of in data["pairs"] if {*of[:2]} == two]
    text = visit.page.inner_text("[aria-live]")
    assert text.startswith("PSRL against BQL on deepsea · paper: ")
    assert "PSRL is better" in text
    assert f"{abs(pair[2][0]):.3f}" in text
    assert visit.page.locator("[aria-live] svg circle").count() == 2 * 5
    visit.page.select_option("#c-tasks", "only:deepsea-10")
    text = visit.page.inner_text("[aria-live]")
    (pair,) = [of for of in data["apart"]["deepsea-10"] if {*of[:2]} == two]
    assert text.startswith("PSRL against BQL on deepsea-10: ")
    assert f"{abs(pair[2][0]):.3f}" in text
    assert visit.page.locator("[aria-live] svg circle").count() == 2


def test_three_questions_are_two_clicks_from_the_front(visit: Visit):
    visit.go("front")
    page = visit.page
    assert page.locator(".matrix tbody tr").count() > 20  # which methods state right intervals?
    page.click("text=What does a run cost?")
    costs = page.locator("#methods tbody td[data-column=cost]").all_inner_texts()
    assert costs[0].endswith(" s")
    visit.go("front")
    page.click("text=UA-DQN against QR-DQN on Asterix")
    assert page.inner_text("[aria-live]").startswith("UA-DQN against QR-DQN on asterix: ")
    visit.go("front")
    page.click(".matrix td:not(.e) a >> nth=0")
    assert page.locator("#rows").count() == 1


def test_claims_of_a_method_on_several_boards_say_on_which(visit: Visit):
    visit.go("psrl")
    said = visit.page.locator(".card p").all_inner_texts()
    assert len({text.partition("\n")[0] for text in said}) == len(said) > 2


def test_the_choice_of_a_task_changes_headline_words_and_picture(visit: Visit, explorer):
    visit.go("night")
    page, before = visit.page, explorer.boards["minatar-night"]["finding"]
    words = "#rows tr[data-row=ua-dqn] td[data-column=intervals]"
    assert page.inner_text(".finding >> nth=0") == before.replace(" %", "\u00a0%")
    whole = page.inner_text(words)
    assert page.is_visible(".f-trust")
    page.select_option("#c-tasks", "only:asterix")
    assert "asterix" in page.inner_text(".finding >> nth=0")
    assert page.inner_text(words) != whole
    assert page.is_hidden(".f-trust")


def test_a_link_leads_to_exactly_this_state(visit: Visit):
    def shown() -> tuple[list[str], list[str], str]:
        heads = page.locator("#rows thead th").all_inner_texts()
        return visit.rows(), heads, page.inner_text("[aria-live]")

    state = "by=late_regret_mean&columns=fail_share,worst_quarter&filter=paper&open=ube"
    visit.go("deepsea-paper", f"{state}&compare=psrl,mm")
    page, seen = visit.page, shown()
    address = page.evaluate("document.querySelector('a.here').href")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#rows")
    assert shown() == seen
    assert "worst quarter of seeds" in seen[1]
    assert "Moment matching" in page.inner_text("[aria-live]")


def test_the_rows_that_are_shown_are_saved_as_csv(visit: Visit, explorer):
    data = explorer.boards["deepsea-paper"]
    visit.go("deepsea-paper", "open=all&tasks=only:deepsea-12")
    with visit.page.expect_download() as download:
        visit.page.click("text=CSV of these rows")
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert {row["method"] for row in rows} == {one["name"] for one in data["methods"]}
    for row in rows:
        k = [one["name"] for one in data["methods"]].index(row["method"])
        assert float(row["value"]) == data["sets"]["only:deepsea-12"][k][0]
        place = data["ranks"]["only:deepsea-12"][k]
        assert row["rank_high"] == ("" if place is None else str(place[2]))


def test_the_page_goes_by_keyboard_from_the_list_to_a_board_and_its_claims(visit: Visit):
    visit.go("front")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.className") == "skip"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "main"
    for _ in range(60):
        visit.page.keyboard.press("Tab")
        outline = visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
        if "deepsea-paper" in str(visit.page.evaluate("document.activeElement.href || ''")):
            break
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("h1:has-text('deepsea · paper')")
    assert visit.page.title() == "deepsea · paper · uqbench"
    assert visit.page.locator(".card svg").count() > 3
    visit.page.wait_for_selector(".f-curves svg")


def test_headers_and_points_say_what_they_are_by_keyboard_and_pointer(visit: Visit):
    visit.go("minatar-night")
    page, tip = visit.page, visit.page.locator(".tip")
    assert not tip.is_visible()
    page.hover("#rows thead [data-sort=intervals]")
    assert "stated intervals" in tip.inner_text()
    page.focus("#rows thead [data-sort=rank]")
    page.keyboard.press("Tab")
    assert "As its paper calls it" in tip.inner_text()
    page.wait_for_selector(".f-coverage svg")
    page.focus(".f-coverage .scroll")
    seen = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen.append(tip.inner_text())
    games = ("Asterix", "Breakout", "Space Invaders")
    assert [text.split(":")[0] for text in seen] == [f"UA-DQN, {game}" for game in games]
    page.keyboard.press("Escape")
    assert not tip.is_visible()


LETTERS = """() => [...document.querySelectorAll('main *')]
  .filter((of) => [...of.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
  .filter((of) => of.getBoundingClientRect().width)
  .map((of) => {
    const svg = of.closest('svg'), size = parseFloat(getComputedStyle(of).fontSize);
    return svg ? size * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : size;
  })"""
"""The sizes of all letters of a page, in pixels of the screen."""


@pytest.mark.parametrize("board", ["minatar-night", "deepsea-paper", "priormdp-sbc-paper"])
def test_a_phone_shows_trust_and_claims_whole_with_letters_of_ten_pixels(browser, file, board):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{file.resolve().as_uri()}#board={board}")
    page.wait_for_selector("h1")
    scrolls = "[...document.querySelectorAll('.scroll')]"
    wider = f"{scrolls}.filter((of) => of.scrollWidth > of.clientWidth).length"
    assert page.evaluate(wider) == 0  # nothing scrolls sideways
    page.evaluate("document.querySelectorAll('.figures figure > div').forEach((of) => of.click())")
    sizes = page.evaluate(LETTERS)  # pictures are whole, and grow by a tap
    whole = "[...document.querySelectorAll('.f-trust .scroll, .card .scroll')]"
    hidden = page.evaluate(f"{whole}.map((of) => of.scrollWidth - of.clientWidth)")
    page.close()
    assert min(sizes) >= 10
    assert len(hidden) > 1
    assert max(hidden) <= 0


@pytest.mark.parametrize("board", ["profile-paper", "minatar-night", "deepsea-paper"])
def test_a_board_prints_on_six_pages(browser: Browser, file: Path, board: str):
    page = browser.new_page()
    page.goto(f"{file.resolve().as_uri()}#board={board}")
    page.wait_for_selector("h1")
    printed = page.pdf(format="A4")
    page.close()
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 6
