"""The site, below ``build/site``, and the pictures that the README shows.

    python tools/site.py

makes both, with ``--pictures`` only these, and the README's line of counts; pictures are the same
bytes for the same boards, and follow the reader's preference for light or dark. The site is built
by MkDocs: ``mkdocs.yml`` has its pages, ``site_hook.py`` those that are made from the boards.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from uqbench_claims.judged import distinct, judged_claims
from uqbench_report.plots import catalog, render

from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.pages.methods import names_of
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites

ROOT = Path(__file__).resolve().parents[1]
BOARDS = ROOT / "leaderboards"
PICTURES = ROOT / "docs" / "pictures"
SHOWN = (
    ("drawn-worlds", "demo", "trust"),
    ("minatar", "night", "curves"),
    ("priormdp-sbc", "paper", "reliability"),
    ("profile", "paper", "profile"),
)
"""Suite, board and figure that the README and docs/uncertainty.md show."""
COUNTED = re.compile(r"^\d+ boards · .*$", re.M)
"""The README's line that :func:`counts` makes."""


def pictures() -> Iterator[tuple[str, str]]:
    """Name and SVG of each picture."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    for suite, name, figure in SHOWN:
        board = StoredBoard.read(BOARDS / suite / name)
        drawn = catalog.draw(board, figure, suites.get(suite), host)
        yield f"{suite}-{name}.svg", render.svg(drawn, adaptive=True)
    yield "badges.svg", badges()


def counts() -> str:
    """The README's line on boards, methods and claims."""
    host = load_host()
    suites = read_suites(host, check=()).suites
    boards = [StoredBoard.read(folder) for folder in board_folders(BOARDS)]
    methods = {
        facts["of"]
        for board in boards
        for name, facts in names_of(board, host, suites.get(board.suite))
        if name in set(board.leaderboard.query("role == 'method'")["method"])
    }
    claims = distinct([claim for board in boards for claim in judged_claims(board)])
    return (
        f"{len(boards)} boards · {len(methods)} methods · {len(list(claims))} claims of papers, "
        f"each with a verdict"
    )


def badges() -> str:
    """What ``pyproject.toml`` says of the package, as one picture for the README."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    least = re.fullmatch(r">=([\d.]+)", about["project"]["requires-python"])
    if least is None or not about["tool"]["mypy"]["strict"]:
        raise ValueError("pyproject.toml: expected a least Python, and strict types.")
    if not (ROOT / "uqbench" / "py.typed").is_file():
        raise ValueError("uqbench/py.typed is missing: the package has types.")
    pairs = {"Python": f"≥ {least[1]}", "licence": about["project"]["license"], "types": "strict"}
    drawn, left = [], 0
    for name, said in pairs.items():
        for text, fill in ((name, "#555"), (said, "#2b6a99")):
            width = 7 * len(text) + 10
            drawn.append(
                f'<rect x="{left}" width="{width}" height="20" fill="{fill}"/>'
                f'<text x="{left + width / 2:g}" y="14">{text}</text>'
            )
            left += width
        left += 6
    words = ", ".join(" ".join(pair) for pair in pairs.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left - 6}" height="20" role="img" '
        f'aria-label="{words}"><g fill="#fff" font-family="Verdana, sans-serif" font-size="11" '
        f'text-anchor="middle">{"".join(drawn)}</g></svg>\n'
    )


def main() -> None:
    """Write everything."""
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures():
        (PICTURES / name).write_text(text, encoding="utf-8")
        print(PICTURES / name)
    readme = (ROOT / "README.md").read_text("utf-8")
    (ROOT / "README.md").write_text(COUNTED.sub(counts(), readme), "utf-8")
    if "--pictures" in sys.argv[1:]:
        return
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(ROOT / "build" / "site" / "index.html")


if __name__ == "__main__":
    main()
