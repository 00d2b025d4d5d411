"""Debian's Chromium, driven by Playwright, on a report of committed boards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from uqbench.api.plugins import load_host
from uqbench.plots.tables import board_folders
from uqbench.report.page import page
from uqbench.suites.reading import read_suites

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("UQBENCH_CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where screenshots are kept."""
    folder = Path(os.environ["UQBENCH_PICTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def report(pictures: Path) -> str:
    """The address of a report of all committed boards."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    text, _ = page(board_folders(ROOT / "leaderboards"), "leaderboards", suites, host)
    path = pictures / "report.html"
    path.write_text(text, encoding="utf-8")
    return path.resolve().as_uri()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; without a sandbox, as CI is root in a container."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is not there: apt-get install chromium, or set UQBENCH_CHROMIUM")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()
