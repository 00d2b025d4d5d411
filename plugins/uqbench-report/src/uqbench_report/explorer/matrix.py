"""The matrix of methods by kinds of world: which stated intervals are right, in one picture.

A cell is the share of true values inside a method's stated 90 % intervals, with the mark and the
colour of its word; behind it, where a board has controls, what a stated width or a prediction is
worth beyond the best of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from uqbench.boards.calibration import CALIBRATED, NARROW, OPEN, WIDE

Data = dict[str, Any]
PAGES = jinja2.Environment(
    loader=jinja2.PackageLoader("uqbench_report.explorer", "files"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""Templates of the explorer."""
PAGES.filters["slug"] = lambda text: text.replace(" ", "-")
KINDS: Mapping[str, tuple[str, ...]] = {
    "DeepSea": ("deepsea", "deepsea-deep"), "Tables, fixed": ("priormdp", "widenarrow"),
    "Tables, drawn": ("priormdp-sbc", "drawn-worlds"), "Windy cliff": ("windy-cliff",),
    "Cartpole": ("cartpole",), "MinAtar": ("minatar",), "MinAtar, logged": ("offline-minatar",),
    "Values, logged": ("offline-values",), "Noise, ignorance": ("noise-and-ignorance",),
    "Regression": ("regression",), "Classes": ("predictive", "frozen"),
    "Images": ("fashion", "few-digits"),
}  # fmt: skip
"""Suites by the kind of their worlds; another suite is a kind of its own."""
LEVEL = 0.9
MARKS = {CALIBRATED: "●", WIDE: "▲", NARROW: "▼", OPEN: "◆"}
"""The shape of a word for stated intervals, so that a grey print tells them apart."""


def kind(suite: str) -> str:
    """The kind of a suite's worlds."""
    return next((name for name, suites in KINDS.items() if suite in suites), suite)


def matrix(boards: Mapping[str, Data], methods: list[Data]) -> Data:
    """The rows of the matrix, those with most calibrated cells first, and its kinds.

    One of a method's rows on boards of a kind stands in its cell: on a board of today's protocol
    before others, of more runs before fewer, of a better rank before a worse one.
    """
    rows = []
    for of in methods:
        own: Data = {"of": of["of"], "title": of["title"], "inside": {}, "skill": {}}
        ranked = sorted(of["rows"], key=lambda row: _order(boards[row["board"]], row))
        for row in ranked:
            board = boards[row["board"]]
            told = {"board": board["id"], "title": f"{board['title']}, {row['name']}"}
            place = kind(board["suite"])
            if row["covered"] and board["coverage"][1] == LEVEL:
                share = f"{100 * row['covered'][0]:.0f}"
                cell = {**told, "word": row["calibration"], "text": share, "said": row["word"]}
                own["inside"].setdefault(place, []).append(cell)
            if skill := _skill(board, row["name"]):
                own["skill"].setdefault(place, []).append({**told, **skill})
        if own["inside"]:
            rows.append(own)
    rows.sort(key=_best)
    known = {name: {k for row in rows for k in row[name]} for name in ("inside", "skill")}
    ordered = [*KINDS, *sorted({k for of in known.values() for k in of} - {*KINDS})]
    return {
        "rows": rows,
        **{name: [of for of in ordered if of in kinds] for name, kinds in known.items()},
        "without": sorted({of["title"] for of in methods} - {row["title"] for row in rows}),
    }


def html(of: Data, link: Callable[[str, str], str]) -> str:
    """The matrix as a table.

    Args:
        of: of :func:`matrix`.
        link: the address of a ``board`` or ``method`` by its id.
    """
    return PAGES.get_template("matrix.html.j2").render(of, link=link, marks=MARKS)


def _order(board: Data, row: Data) -> tuple[bool, int, int]:
    return bool(board["earlier"]), -board["runs"][0], row["place"][0] if row["place"] else 999


def _best(row: Data) -> tuple[int, float, str]:
    words = [cells[0]["word"] for cells in row["inside"].values()]
    wrong = sum(word in (NARROW, WIDE) for word in words) / len(words)
    return -words.count(CALIBRATED), wrong, str(row["title"]).lower()


def _skill(board: Data, name: str) -> Data | None:
    """A method's skill beyond its controls: a sign, and its value with the interval in words."""
    at = next(k for k, one in enumerate(board["methods"]) if one["name"] == name)
    value = board["skill"]["values"][at] if board["skill"] else None
    if value is None or value[1] is None:
        return None
    sign = "+" if value[1] > 0 else "−" if value[2] < 0 else "="
    word = {"+": CALIBRATED, "−": NARROW, "=": OPEN}[sign]
    ends = f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]".replace("-", "−")
    said = f"{board['skill']['name']} beyond the best control {ends}"
    return {"word": f"skill {word}", "text": sign, "said": said}
