"""One browser for the tests of the report and of the site, and where their screenshots are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = os.environ.get("UQBENCH_CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where screenshots are kept."""
    folder = Path(os.environ["UQBENCH_PICTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; without a sandbox, as CI is root in a container."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is not there: apt-get install chromium, or set UQBENCH_CHROMIUM")
    from playwright.sync_api import sync_playwright  # `tox -e browser` has it

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()
