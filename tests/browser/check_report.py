"""The report in a browser: both widths, light and dark, by keyboard, without a request or error.

    tox -e browser

drives Debian's Chromium by Playwright and keeps a screenshot of each page. It is not part of the
default tests, whose environment has neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from uqbench.boards.stored import board_folders
from uqbench.pages.report.page import page
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites

ROOT = Path(__file__).parents[2]
ROUTES = {
    "front": "",
    "board": "#board-highway-paper",
    "claims": "#claim-highway-paper-table-1-value",
    "night": "#board-minatar-cpu",
}
WIDTHS = (360, 1920)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="session")
def report(pictures: Path) -> str:
    """The address of a report of all committed boards."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    text, _ = page(board_folders(ROOT / "leaderboards"), "leaderboards", suites, host)
    path = pictures / "report.html"
    path.write_text(text, encoding="utf-8")
    return path.resolve().as_uri()


@dataclass
class Visit:
    """A page, and what went wrong on it."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def go(self, route: str) -> None:
        """Open a route as a fresh page."""
        self.page.goto("about:blank")
        self.page.goto(self.address + route)


@pytest.fixture(params=[(w, s) for w in WIDTHS for s in SCHEMES], ids=lambda p: f"{p[0]}-{p[1]}")
def visit(request: pytest.FixtureRequest, browser: Browser, report: str) -> Iterator[Visit]:
    """A page of one width and scheme; it fails where it complained, or asked for anything."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = Visit(context.new_page(), report)
    own = (report, "about:blank", "data:,")
    found.page.on("console", lambda said: found.complaints.append(f"{said.type}: {said.text}"))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on(
        "request",
        lambda asked: (
            None
            if asked.url.split("#")[0] in own
            else found.complaints.append(f"request: {asked.url[:200]}")
        ),
    )
    yield found
    context.close()
    assert found.complaints == []


@pytest.mark.parametrize("name", ROUTES)
def test_a_page_fits_its_width_and_shows_one_section(visit: Visit, name: str, pictures: Path):
    visit.go(ROUTES[name])
    size = visit.page.viewport_size
    assert size is not None
    scheme = visit.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    path = pictures / f"{name}-{size['width']}-{'dark' if scheme else 'light'}.png"
    visit.page.screenshot(path=path, full_page=size["width"] > 1000)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    shown = "[...document.querySelectorAll('.page')].filter((of) => of.offsetParent).length"
    assert visit.page.evaluate(shown) == 1
    assert visit.page.evaluate("document.querySelectorAll('h1:not(:empty)').length") > 1


def test_text_has_contrast(visit: Visit):
    visit.go("")
    for selector in ("body", ".lead", ".v-holds", ".v-does-not-hold", ".v-undecided", "main a"):
        assert visit.page.evaluate(CONTRAST, selector) >= 4.5, selector


def test_every_page_is_reached_by_keyboard(visit: Visit):
    visit.go("")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.className") == "skip"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "main"
    assert visit.page.evaluate("document.getElementById('front').offsetParent !== null")
    for _ in range(200):
        visit.page.keyboard.press("Tab")
        target = str(visit.page.evaluate("document.activeElement.getAttribute('href') || ''"))
        outline = visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", target
        if target.startswith("#claim-"):
            break
    visit.page.keyboard.press("Enter")
    board = visit.page.evaluate("document.querySelector('.page:has(:target)').id")
    assert str(board).startswith("board-")


def test_a_table_is_sorted_by_full_values_and_filtered(visit: Visit):
    visit.go("#board-highway-paper")
    board = "#board-highway-paper table.board"
    visit.page.click(f"{board} thead th:nth-child(3) button")
    values = visit.page.evaluate(
        f"[...document.querySelectorAll('{board} tbody tr')]"
        ".map((row) => Number(row.cells[2].querySelector('data').value))"
    )
    assert values == sorted(values, reverse=True)
    visit.page.fill("#board-highway-paper .filter", "cdqn")
    shown = visit.page.locator(f"{board} tbody tr:visible").all_inner_texts()
    assert 0 < len(shown) < len(values)
    assert all("cdqn" in text for text in shown)


def test_headers_and_points_say_what_they_are_by_keyboard_and_pointer(visit: Visit):
    visit.go("#board-minatar-cpu")
    page, board, tip = visit.page, "#board-minatar-cpu", visit.page.locator(".tip")
    assert not tip.is_visible()
    page.hover(f"{board} table.board thead th:nth-child(4)")
    assert "stated intervals" in tip.inner_text()
    page.focus(f"{board} .filter")
    for said in ("ranks that the runs leave open", "With its role"):
        page.keyboard.press("Tab")
        while page.evaluate("document.activeElement.tagName") != "BUTTON":
            page.keyboard.press("Tab")
        assert said in tip.inner_text()
    page.focus(f"{board} .f-coverage .scroll")
    seen = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen.append(tip.inner_text())
    assert [text.split(":")[0] for text in seen] == [
        "ube-dqn-150, Asterix", "ube-dqn-150, Breakout", "ube-dqn-150, Freeway"
    ]  # fmt: skip
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("ArrowLeft")
    assert tip.inner_text().startswith("sentinel-4-composite, Space Invaders")


CONTRAST = """(selector) => {
  const luminance = (text) => {
    const [r, g, b] = text.match(/[0-9.]+/g).map(Number).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ink = luminance(getComputedStyle(document.querySelector(selector)).color);
  const ground = luminance(getComputedStyle(document.body).backgroundColor);
  return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
}"""
"""The contrast of an element's text with the page (WCAG 2.2, 1.4.3)."""


LETTERS = """() => [...document.querySelectorAll('.page:has(:target) *, .page:target *')]
  .filter((of) => [...of.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
  .filter((of) => of.getBoundingClientRect().width)
  .map((of) => {
    const svg = of.closest('svg'), size = parseFloat(getComputedStyle(of).fontSize);
    return svg ? size * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : size;
  })"""
"""The sizes of all letters of a page, in pixels of the screen."""


@pytest.mark.parametrize("board", ["minatar-cpu", "deepsea-paper", "priormdp-sbc-paper"])
def test_a_phone_shows_trust_and_claims_whole_with_letters_of_ten_pixels(
    browser: Browser, report: str, board: str
):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{report}#board-{board}")
    sizes = page.evaluate(LETTERS)
    hidden = page.evaluate(
        "[...document.querySelectorAll('.f-trust .scroll, .card .scroll')]"
        ".filter((of) => of.offsetParent).map((of) => of.scrollWidth - of.clientWidth)"
    )
    page.close()
    assert min(sizes) >= 10
    assert len(hidden) > 1
    assert max(hidden) <= 0


@pytest.mark.parametrize("board", ["profile-paper", "minatar-cpu", "deepsea-paper"])
def test_a_board_prints_on_six_pages(browser: Browser, report: str, board: str):
    page = browser.new_page()
    page.goto(f"{report}#board-{board}")
    printed = page.pdf(format="A4")
    page.close()
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 6
