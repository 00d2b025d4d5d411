"""The matrix of methods by boards: which stated intervals are right, in one picture.

A cell is the share of true values inside a method's stated 90 % intervals, with the mark and the
colour of its word; behind it, where a board has controls, what a stated width or a prediction is
worth beyond the best of them. A column is of one board, which its head names, and has one score.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
LEVEL = 0.9
MARKS = {CALIBRATED: "●", WIDE: "▲", NARROW: "▼", OPEN: "◆"}
"""The shape of a word for stated intervals, so that a grey print tells them apart."""


def matrix(boards: Mapping[str, Data], methods: list[Data]) -> Data:
    """The rows of the matrix, those with most calibrated cells first, and its columns.

    A cell has the setting of a method with the best rank on the board. A board is a
    column where some method is on no better one of its suite: one of today's protocol before
    others, of more runs before fewer.
    """
    rows = []
    for of in methods:
        own: Data = {"of": of["of"], "title": of["title"], "inside": {}, "skill": {}}
        for row in sorted(of["rows"], key=lambda row: row["place"] or [999]):
            board, name = boards[row["board"]], row["name"]
            if row["covered"] and board["coverage"][1] == LEVEL:
                share = f"{100 * row['covered'][0]:.0f}"
                cell = {"word": row["calibration"], "text": share, "said": f"{name}: {row['word']}"}
                own["inside"].setdefault(board["id"], cell)
            if skill := _skill(board, name):
                own["skill"].setdefault(board["id"], skill)
        if own["inside"]:
            rows.append(own)
    columns = {name: _columns(boards, rows, name) for name in ("inside", "skill")}
    rows.sort(key=lambda row: _best(row, columns["inside"]))
    without = sorted({of["title"] for of in methods} - {row["title"] for row in rows})
    return {"rows": rows, **columns, "without": without}


def html(of: Data, link: Callable[[str, str], str]) -> str:
    """The matrix as a table.

    Args:
        of: of :func:`matrix`.
        link: the address of a ``board`` or ``method`` by its id.
    """
    return PAGES.get_template("matrix.html.j2").render(of, link=link, marks=MARKS)


def _columns(boards: Mapping[str, Data], rows: list[Data], name: str) -> dict[str, str]:
    """The heads of columns, by the boards that they are of."""
    found, seen = {}, set[tuple[str, str]]()
    for of in sorted(boards.values(), key=lambda of: (bool(of["earlier"]), -of["runs"][0])):
        own = {(of["suite"], row["of"]) for row in rows if of["id"] in row[name]}
        if own - seen:
            score = f": {of['skill']['name']}" if name == "skill" else ""
            found[of["id"]] = of["title"] + score
            seen |= own
    return dict(sorted(found.items(), key=lambda one: one[1]))


def _best(row: Data, columns: Collection[str]) -> tuple[int, float, str]:
    words = [cell["word"] for board, cell in row["inside"].items() if board in columns]
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
    return {"word": f"skill {word}", "text": sign, "said": f"{name}: {ends}"}
