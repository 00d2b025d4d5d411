"""The site in a browser: both widths, light and dark, by keyboard; how much it loads at first.

    tox -e browser

builds it with MkDocs, serves it from this machine, and keeps a screenshot of each page.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Response

ROOT = Path(__file__).parents[4]
MOST_BYTES = 400_000
"""Of the first load, compressed as servers do."""
ROUTES = {
    "front": "", "board": "boards/deepsea-paper.html", "claims": "boards/claims.html",
    "ignorance": "ignorance/", "notebook": "notebooks/first-board/"}  # fmt: skip
WIDTHS = (390, 1200)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site: UQBENCH_SITE, a folder in which it is already built, or built."""
    folder = os.environ.get("UQBENCH_SITE") or str(tmp_path_factory.mktemp("site"))
    if "UQBENCH_SITE" not in os.environ:
        build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder]
        subprocess.run(build, cwd=ROOT, check=True)
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(params=[(w, s) for w in WIDTHS for s in SCHEMES], ids=lambda p: f"{p[0]}-{p[1]}")
def page(request: pytest.FixtureRequest, browser: Browser, site: str) -> Iterator[Page]:
    """A page of one width and scheme; it fails where it complained, or asked another server."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found, complaints = context.new_page(), list[str]()
    found.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    found.on("pageerror", lambda error: complaints.append(str(error)))

    def answered(answer: Response) -> None:
        if not (answer.ok and answer.url.startswith((site, "data:"))):
            complaints.append(f"{answer.status}: {answer.url[:200]}")

    found.on("response", answered)
    yield found
    context.close()
    assert complaints == []


def go(page: Page, site: str, route: str) -> None:
    page.goto(site + route)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("name", ROUTES)
def test_a_page_fits_its_width(page: Page, site: str, name: str, pictures: Path):
    go(page, site, ROUTES[name])
    size = page.viewport_size
    assert size is not None
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    path = pictures / f"site-{name}-{size['width']}-{'dark' if dark else 'light'}.png"
    page.screenshot(path=path, full_page=name == "front")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("h1").count() == 1


def test_the_first_load_is_small(browser: Browser, site: str):
    page, loaded = browser.new_page(), list[int]()
    page.on("response", lambda answer: loaded.append(len(gzip.compress(answer.body()))))
    go(page, site, "")
    page.close()
    assert 0 < sum(loaded) <= MOST_BYTES


def test_the_chooser_answers_to_the_keyboard(page: Page, site: str):
    go(page, site, "")
    cards = "document.getElementById('uq-cards').innerText"
    before = page.evaluate(cards)
    page.focus("input[name=world]:checked")
    for _ in range(2):  # tabular, small, pixels
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "need"
    outline = "getComputedStyle(document.activeElement.nextElementSibling).outlineStyle"
    assert page.evaluate(outline) != "none"
    for _ in range(2):  # a high score, low risk, honest uncertainty
        page.keyboard.press("ArrowRight")
    assert page.evaluate(cards) != before
    assert "world=pixels&need=uncertainty" in page.url
    said = page.evaluate(cards)
    page.reload()
    assert page.evaluate(cards) == said


def test_beliefs_move_by_the_keyboard_and_by_play(page: Page, site: str):
    go(page, site, "ignorance/")
    told = "document.querySelector('#ignorance output').textContent"
    cells = "[...document.querySelectorAll('.ig-map rect')].map((r) => r.style.fillOpacity).join()"
    first, before = page.evaluate(told), page.evaluate(cells)
    page.focus("#ignorance input")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    assert page.evaluate(told) != first
    assert page.evaluate(cells) != before
    now = page.evaluate(told)
    page.click("#ignorance button")
    page.wait_for_function(f"{told} !== {now!r}")
    page.click("#ignorance button")
    page.select_option("#ignorance select", label="Windy cliff")
    page.keyboard.press("Tab")
    assert page.evaluate(told).startswith("0 of ")
    page.focus("#ignorance input")
    page.keyboard.press("End")  # at the end of training BQL is surer than it may be, on DeepSea
    page.select_option("#ignorance select", label="DeepSea, N = 8")
    page.focus("#ignorance input")
    page.keyboard.press("End")
    assert "0 of 8 true values inside" in page.locator(".ig-rows").inner_text()


def test_every_link_of_the_made_pages_leads_somewhere(browser: Browser, site: str):
    page, known = browser.new_page(), dict[str, set[str]]()
    for route in ("", "boards/index.html", "boards/methods.html", "boards/claims.html"):
        page.goto(site + route)
        ids = "[...document.querySelectorAll('[id]')].map((one) => one.id)"
        known[site + route] = set(page.evaluate(ids))
    wrong, others = [], dict[str, bool]()
    for address in list(known):
        page.goto(address)
        links = "[...document.querySelectorAll('main a[href]')].map((a) => a.href)"
        for link in page.evaluate(links):
            target, _, anchor = link.partition("#")
            if not target.startswith(site):
                continue
            target = target.split("?")[0]
            if target in known:
                if anchor and "=" not in anchor and anchor not in known[target]:  # else a view
                    wrong.append(link)
            elif target not in others:
                others[target] = page.request.head(target).ok
    page.close()
    assert [*wrong, *(target for target, there in others.items() if not there)] == []
