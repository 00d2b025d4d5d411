"""The site, below ``build/site``, and the pictures that the README shows.

    python tools/site.py

makes both, with ``--pictures`` only these; pictures are the same bytes for the same boards, and
follow the reader's preference for light or dark. The site is built by MkDocs: ``mkdocs.yml`` has
its pages, ``site_hook.py`` those that are made from the boards.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from uqbench.boards.stored import StoredBoard
from uqbench.plots import catalog, render
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites

ROOT = Path(__file__).resolve().parents[1]
BOARDS = ROOT / "leaderboards"
PICTURES = ROOT / "docs" / "pictures"
SHOWN = (
    ("deepsea", "demo", "trust"),
    ("deepsea", "paper", "intervals"),
    ("minatar", "cpu", "trust"),
    ("priormdp-sbc", "paper", "reliability"),
    ("profile", "paper", "profile"),
)
"""Suite, board and figure that the README and docs/uncertainty.md show."""


def pictures() -> Iterator[tuple[str, str]]:
    """Name and SVG of each picture."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    for suite, name, figure in SHOWN:
        board = StoredBoard.read(BOARDS / suite / name)
        drawn = catalog.draw(board, figure, suites.get(suite), host)
        yield f"{suite}-{name}.svg", render.svg(drawn, adaptive=True)


def main() -> None:
    """Write everything."""
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures():
        (PICTURES / name).write_text(text, encoding="utf-8")
        print(PICTURES / name)
    if "--pictures" in sys.argv[1:]:
        return
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(ROOT / "build" / "site" / "index.html")


if __name__ == "__main__":
    main()
