"""The page around the boards' data: one HTML file that requests nothing."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import resources
from pathlib import Path

from altair.utils.schemapi import debug_mode
from uqbench_claims.judged import WORDS, Counted, by_paper, distinct, judged_claims

from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError
from uqbench.pages.methods import entitled
from uqbench.registry.papers import cited
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.suites.suite import Suite
from uqbench_report.explorer.board import Data, board_data
from uqbench_report.explorer.matrix import MARKS, PAGES, html, matrix
from uqbench_report.plots.render import DARK
from uqbench_report.plots.theme import SIGNS

PAGE = PAGES.get_template("explorer.html.j2")
LISTED = ("id", "suite", "title", "summary", "finding", "earlier", "runs")
"""A board's values in the index."""
FEW = 5
"""Boards, up to which each has its picture of all pairs: the choice of two shows the same."""
LINKS = {"doi": "https://doi.org/{}", "eprint": "https://arxiv.org/abs/{}", "url": "{}"}
"""The fields of BibTeX that lead to a paper, and where."""
QUESTION = "Which method is best, and can its uncertainty be trusted?"


class Explorer:
    """Boards as static pages.

    Attributes:
        boards: their data, by the id of their page.
        index: the data that all pages share: boards, methods, claims.
        problems: a message for each board that is damaged, and each figure that was not drawn.

    Args:
        folders: of the boards.
        suites: the installed ones, by name.
        host: the plugins.
        root: what commands on the page call the folder of the boards; None for where each is.
        follow: gives the folders one by one, and may show how far they are.

    Raises:
        UqbenchError: every board is damaged.
    """

    def __init__(
        self,
        folders: Sequence[Folder],
        suites: dict[str, Suite],
        host: Host,
        root: str | None = None,
        follow: Callable[[Sequence[Folder]], Iterable[Folder]] = iter,
    ) -> None:
        left_out = ("pairs",) if len(folders) > FEW else ()
        self.boards: dict[str, Data] = {}
        self.problems: list[str] = []
        self.stored: dict[str, StoredBoard] = {}
        # without Altair's checks of every chart, a second of them: `uqbench plot` makes them
        with debug_mode(False):
            for folder in follow(folders):
                try:
                    board = StoredBoard.read(folder)
                    place, here = board.folder.parents[1], Path.cwd()
                    if place.is_relative_to(here):
                        place = place.relative_to(here)
                    suite = suites.get(board.suite)
                    data, why = board_data(board, suite, host, root or str(place), left_out)
                except UqbenchError as error:  # it costs itself, and no other
                    self.problems.append(str(error))
                    continue
                self.problems += why
                self.boards[data["id"]] = data
                self.stored[data["id"]] = entitled(board, host, suite)
        if not self.boards:
            raise UqbenchError("\n".join(self.problems))
        claims = [one for board in self.stored.values() for one in judged_claims(board)]
        papers = [*by_paper(claims), Counted("all papers", tuple(distinct(claims)))]
        methods = list(_methods(self.boards))
        self.matrix = matrix(self.boards, methods)
        self.index: Data = {
            "boards": [{key: of[key] for key in LISTED} for of in self.boards.values()],
            "methods": methods,
            "links": links(host, [one["source"] for one in methods] + [c.source for c in claims]),
            "claims": [_counted(of) for of in papers],
            "verdicts": WORDS,
            "signs": SIGNS,
            "marks": MARKS,
        }

    def file(self) -> str:
        """All of it as one HTML file that requests nothing."""
        index = {**self.index, "matrix": html(self.matrix, lambda kind, name: f"#{kind}={name}")}
        text = json.dumps({"index": index, **self.boards}, allow_nan=False, separators=(",", ":"))
        script = part("explorer.js")
        return PAGE.render(
            title="uqbench report",
            said=QUESTION,
            page="boards",
            data=b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
            script=script,
            digest=b64encode(sha256(script.encode()).digest()).decode(),
            sheet=style(),
        )


def style() -> str:
    """The style sheet of all pages."""
    return part("explorer.css") + part("matrix.css") + DARK


def links(host: Host, sources: list[str]) -> dict[str, str]:
    """Addresses of the papers that some sources cite, by the citation."""
    found: dict[str, str] = {}
    for paper in cited(host, sources)[0]:
        for key, address in LINKS.items():
            if match := re.search(rf"(?m)^\s*{key} = \{{([^}}]+)\}}", paper.bibtex):
                found |= dict.fromkeys(paper.cited_as, address.format(match[1]))
                break
    return found


def _methods(boards: dict[str, Data]) -> Iterator[Data]:
    """Each method with its settings, and a row for each of these on each board, by title.

    Methods that share a title have their own name behind it, where that is another.
    """
    found: dict[str, Data] = {}
    for name, board in boards.items():
        learn = ((k, of) for k, of in enumerate(board["methods"]) if of["role"] == "method")
        for k, one in learn:
            told = {key: one[key] for key in ("of", "about", "source", "code")}
            own = found.setdefault(one["of"], {**told, "title": one["family"], "rows": []})
            covered = board["coverage"] and board["values"][board["coverage"][0]][k]
            keys = ("name", "title", "calibration", "word", "seconds", "config")
            row = {"board": name, "covered": covered, **{key: one[key] for key in keys}}
            row |= {"place": board["ranks"][""][k], "score": board["values"][board["ranking"]][k]}
            own["rows"].append({**row, "band": board["coverage"] and board["coverage"][1:]})
    shared = Counter(own["title"] for own in found.values())
    for own in found.values():
        apart = shared[own["title"]] > 1 and own["of"] != own["title"].lower()
        own["title"] += f" ({own['of']})" * apart
    yield from sorted(found.values(), key=lambda one: str(one["title"]).lower())


def _counted(of: Counted) -> Data:
    claims = [
        {key: getattr(one, key) for key in ("id", "verdict", "sentence", "source", "reason")}
        | {"board": f"{one.board.suite}-{one.board.name}"}
        for one in of.claims
    ]
    counts = {word: of.count(word) for word in WORDS if of.count(word)}
    numbers = {key: getattr(of, key) for key in ("parts", "tested", "decided", "wrong")}
    return {"paper": of.paper, "counts": counts, **numbers, "claims": claims}


def part(name: str) -> str:
    """A style sheet or script of the page."""
    return (resources.files("uqbench_report.explorer") / "files" / name).read_text("utf-8")
