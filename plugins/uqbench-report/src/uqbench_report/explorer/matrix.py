"""The matrix of methods by kinds of world: which stated intervals are right, in one picture.

A cell is the share of true values inside a method's stated 90 % intervals, with the mark and the
colour of its word; behind it, where a board has controls, what a stated width or a prediction is
worth beyond the best of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from uqbench.boards.calibration import CALIBRATED, NARROW, OPEN, WIDE

Data = dict[str, Any]
KINDS: Mapping[str, tuple[str, ...]] = {
    "DeepSea": ("deepsea", "deepsea-deep"),
    "Tables, fixed": ("priormdp", "widenarrow"),
    "Tables, drawn": ("priormdp-sbc", "drawn-worlds"),
    "Windy cliff": ("windy-cliff",),
    "Cartpole": ("cartpole",),
    "MinAtar": ("minatar",),
    "MinAtar, logged": ("offline-minatar",),
    "Values, logged": ("offline-values",),
    "Noise, ignorance": ("noise-and-ignorance",),
    "Regression": ("regression",),
    "Classes": ("predictive", "frozen"),
    "Images": ("fashion", "few-digits"),
}
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
                cell = {**told, "word": row["kind"], "text": share, "said": row["shown"]}
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
    kinds, skills = of["inside"], of["skill"]
    heads = "".join(f'<th scope="col"><span>{escape(name)}</span></th>' for name in kinds)
    more = "".join(f'<th scope="col" class="s"><span>{escape(name)}</span></th>' for name in skills)
    groups = f'<td></td><th scope="colgroup" colspan="{len(kinds)}">inside stated 90 % intervals, %'
    if skills:
        groups += f'</th><th scope="colgroup" class="s" colspan="{len(skills)}">beyond controls'
    lines = []
    for row in of["rows"]:
        cells = [_cell(row["inside"].get(name), name, link) for name in kinds]
        cells += [_cell(row["skill"].get(name), name, link, " s") for name in skills]
        name = f'<a href="{link("method", row["of"])}">{escape(row["title"])}</a>'
        lines.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    legend = " · ".join(
        f'<span class="m-{_slug(w)}">{mark} {w}</span>' for w, mark in MARKS.items()
    )
    without = escape(", ".join(of["without"]))
    lacking = f" Without 90 % intervals on any board: {without}." if without else ""
    return (
        f'<div class="matrix" id="matrix"><p>{legend}. A cell leads to its board. Beyond controls: '
        f"+ above the best control, − below, = neither.</p>"
        f'<table><caption class="sr">Share of true values inside stated 90 % intervals, by method '
        f'and kind of world</caption><thead><tr>{groups}</th></tr><tr><th scope="col">method</th>'
        f"{heads}{more}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        f"<p>Sorted by kinds with calibrated intervals, then by few wrong ones.{lacking}</p></div>"
    )


def _cell(
    found: list[Data] | None, name: str, link: Callable[[str, str], str], more: str = ""
) -> str:
    if not found:
        return f'<td class="e{more}"></td>'
    one, mark = found[0], MARKS.get(found[0]["word"], "")
    said = "; ".join(f"{of['title']}: {of['said']}" for of in found)
    return (
        f'<td class="m-{_slug(one["word"])}{more}" data-kind="{escape(name)}"><a title="'
        f'{escape(said)}" href="{link("board", one["board"])}">{mark}{escape(one["text"])}</a></td>'
    )


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


def _slug(text: str) -> str:
    return text.replace(" ", "-")
