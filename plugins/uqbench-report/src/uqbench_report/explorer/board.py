"""A board's data for the explorer: rows, ranks by other scores and on tasks, pairs, claims."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from uqbench_claims.judged import judged_claims

from uqbench.boards.calibration import band, coverage_column
from uqbench.boards.controls import BEYOND, above_controls
from uqbench.boards.cost import read_cost
from uqbench.boards.leaderboard import Board
from uqbench.boards.protocol import versions_here
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError, contained
from uqbench.contract.figure import Figure
from uqbench.pages.board_view import BoardView, Line, header, stored_estimate
from uqbench.pages.markdown import cost_sentence
from uqbench.pages.methods import entitled, names_of
from uqbench.registry.plugins import Host
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.ranks import Place
from uqbench.statistics.ranks import places as places_of
from uqbench.suites.plan import make_plan
from uqbench.suites.selection import Selection
from uqbench.suites.suite import Suite
from uqbench_report.explorer.ranks import estimates_on, places_by
from uqbench_report.plots import catalog, claims
from uqbench_report.plots.render import svg

if TYPE_CHECKING:
    import pandas as pd

Data = dict[str, Any]
SKILLS = ("proper", "information")
"""Skills of stated widths: the first that a board has stands for them, else its own score."""
PHONE = 0.7
"""Panels of trust and claims are so many times as wide as usual; a wide page enlarges them."""


def board_data(
    board: StoredBoard,
    suite: Suite | None,
    host: Host,
    root: str,
    left_out: Collection[str] = (),
) -> tuple[Data, list[str]]:
    """A board's data, as JSON has them, and a message for each figure that could not be drawn.

    Lists are in the order of ``methods``; an estimate is ``[value, low, high]``, a place ``[rank,
    low, high]``, each null where there is none.

    Args:
        board: stored.
        suite: as it is installed; None where it is not.
        host: the plugins.
        root: the folder of boards in the commands that the page prints.
        left_out: names of figures that are not drawn.

    Raises:
        UqbenchError: a file of the board is damaged.
    """
    view, names = BoardView.of(board), board.methods
    changed = [] if suite is None else board.departures(suite, versions_here(host))
    lines = {line.method: line for line in view.lines}
    reached = [name for name, of in above_controls(board.leaderboard).items() if not of]
    hidden = {"rank", *(f"{name}{end}" for name in reached for end in ("_mean", BEYOND))}
    columns = [name for name in _with_ends(board.leaderboard) if name not in hidden]
    added, problems = catalog.plugin_figures(board, suite, host)
    figures = [*added, *catalog.drawable(told := entitled(board, host, suite), left_out)[0]]
    drawn, panels = [], claims.figures(board, claims.published_numbers(suite))
    for figure in sorted(figures, key=lambda one: one.name != "trust"):
        width = PHONE if figure.name == "trust" else 1.0
        with contained(problems.append, f"{board.title}: {figure.name}: "):  # a plugin's may fail
            drawn.append(_drawn(board, figure, width))
    coverage = coverage_column(columns)
    titles = {f"{m.name}_mean": m.title for m in (suite.metrics if suite else ()) if m.title}
    by_groups = {name: group for group, of in (board.manifest.groups or {}).items() for name in of}
    budget = board.manifest.budget
    data: Data = {
        "id": f"{board.suite}-{board.name}",
        "suite": board.suite,
        "title": board.title,
        "summary": "" if suite is None else suite.summary,
        "about": " ".join(filter(None, [str(budget.get("summary", "")), made_in(board)])),
        "score": f"{board.primary['name']}: {board.primary.get('summary', '')}",
        "finding": told.finding,
        "earlier": "; ".join(changed),
        "ranking": board.ranking,
        "coverage": coverage and [*coverage, *band(coverage[1])],
        "seeds": int(board.tasks["runs_planned"].max()),
        "runs": [board.manifest.runs["finished"], sum(board.manifest.runs.values())],
        "methods": [
            _method(board, lines[name], facts) for name, facts in names_of(board, host, suite)
        ],
        "columns": [
            {
                "name": name,
                "header": titles.get(name, header(name)),
                "group": by_groups.get(name, ""),
                "usual": name in view.named,
            }
            for name in columns
        ],
        "values": {c: [_estimate(lines[n].estimates.get(c)) for n in names] for c in columns},
        "ranks": {"": [_place(lines[name].place) for name in names]},
        "skill": _skill(board, lines),
        "sets": {},
        "apart": {},
        "tasks": _by_task(board, names),
        "pairs": _pairs(board, names),
        "claims": [
            {
                **{key: str(of) for key, of in vars(claim).items() if key != "board"},
                "svg": claim.id in panels and _drawn(board, panels[claim.id], PHONE)["svg"],
            }
            for claim in judged_claims(board)
        ],
        "figures": drawn,
        "commands": commands(board, root),
    }
    try:
        selection = Selection(board.suite, budget["name"])
        if suite is None:
            raise UqbenchError(f"The suite {board.suite} is not installed.")
        if changed:
            raise UqbenchError("The board is of an earlier protocol.")
        plan = make_plan(suite, host, budget["name"], device="cpu")
        _rank(data, board.board(plan, selection, host, lambda _: None), names)
    except UqbenchError as error:  # of an earlier protocol, or not installed here
        data["unranked"] = str(error)
    return data, problems


def made_in(board: StoredBoard) -> str:
    """The sentence on the hours of a board and its processors; empty where no hours were kept."""
    text = board.unchecked("cost.csv").decode() if board.has("cost.csv") else ""
    return cost_sentence(read_cost(text), board.provenance[0]).replace("`", "")


def commands(board: StoredBoard, root: str) -> dict[str, str]:
    """The commands that run a board, check it, and put a method of one's own beside its rows.

    None for imported scores, which nothing here can make again, and for a selection of a budget's
    runs, which no option names.
    """
    if board.manifest.imported is not None or not board.manifest.standard:
        return {}
    here = f"--suite {board.suite} --budget {board.manifest.budget['name']}"
    return {
        "run": f"uqbench run {here}",
        "check": f"uqbench leaderboard {here} --to {root} --check",
        "try": f"uqbench try mine.py:Mine {here} --beside {root}",
    }


def _skill(board: StoredBoard, lines: Mapping[str, Line]) -> Data | None:
    """The skill beyond its controls that stands for a board, with an estimate a method."""
    for name in (*SKILLS, board.primary["name"]):
        own = [_estimate(lines[of].estimates.get(f"{name}{BEYOND}")) for of in board.methods]
        if any(own):
            return {"name": name.replace("_", " "), "values": own}
    return None


def _rank(data: Data, board: Board, names: list[str]) -> None:
    """Add ranks, values and pairs on single tasks, ranks without each, and by other scores."""
    for (how, task), tasks in board.subsets.items():
        values, pairs = estimates_on(board, *tasks), board.pairs_on(*tasks)
        places = places_of(board.on(tasks, "method"), pairs, board.ranking) if board.ranks else {}
        if how == "only":
            data["apart"][task] = [
                [
                    names.index(of.first),
                    names.index(of.second),
                    *map(_estimate, (of.difference, of.improvement)),
                ]
                for of in pairs
            ]
        data["sets"][f"{how}:{task}"] = [_estimate(values.get(name)) for name in names]
        data["ranks"][f"{how}:{task}"] = [_place(places.get(name)) for name in names]
    for column in board.columns if board.ranks else ():
        if places := places_by(board, column):
            data["ranks"][f"by:{column.name}"] = [_place(places.get(name)) for name in names]


def _method(board: StoredBoard, line: Line, facts: Mapping[str, Any]) -> Data:
    return {
        **facts,
        "role": line.role,
        "notes": line.notes,
        "leads": line.leads,
        "beaten": line.beaten,
        "word": line.calibration,
        "kind": line.calibration,
        "shown": line.word,
        "verified": line.state in ("", "verified"),
        "tuned": line.tuned,
        "runs": [line.scored, line.planned],
        "seconds": seconds(board).get(line.method),
    }


def seconds(board: StoredBoard) -> dict[str, float]:
    """Core time of a run, on a GPU device time, by method; empty where it was not measured."""
    if not board.has("cost.csv"):
        return {}
    sums = board.cost.groupby("method")[["device_hours", "runs"]].sum()
    return {str(name): 3600 * row.device_hours / row.runs for name, row in sums.iterrows()}


def _by_task(board: StoredBoard, names: list[str]) -> Data:
    """Means of each metric by task: ``{metric: {task: [an estimate a method]}}``."""
    table = board.tasks
    metrics = _with_ends(table)
    rows = {(str(r["task"]), str(r["method"])): r for r in table.to_dict("records")}
    tasks = list(dict.fromkeys(task for task, _ in rows))
    return {
        metric: {
            task: [_estimate(stored_estimate(rows.get((task, n), {}), metric)) for n in names]
            for task in tasks
        }
        for metric in metrics
        if table[metric].notna().any()
    }


def _with_ends(table: pd.DataFrame) -> list[str]:
    """The columns of estimates: those with a low and a high end beside them."""
    known = list(map(str, table))
    return [name for name in known if {f"{name}_low", f"{name}_high"} <= {*known}]


def _pairs(board: StoredBoard, names: list[str]) -> list[list[Any]]:
    """Each pair of methods: both indices, the difference, and the probability of improvement."""
    return [
        [
            *(names.index(str(row[of])) for of in ("first", "second")),
            *(_estimate(stored_estimate(row, of)) for of in ("difference", "improvement")),
        ]
        for row in board.pairs.to_dict("records")
    ]


def _drawn(board: StoredBoard, figure: Figure, width: float) -> Data:
    drawn = svg(figure, prefix=f"{board.suite}-{board.name}-", width=width)
    title = figure.title.partition(": ")[2] if figure.name != "trust" else "score against coverage"
    said = {"name": figure.name, "title": title or figure.title, "text": figure.text}
    return {**said, "numbers": figure.numbers, "svg": drawn}


def _estimate(one: Estimate | None) -> list[float | None] | None:
    if one is None or not math.isfinite(one.value):
        return None
    ends = (None if e is None or not math.isfinite(e) else float(e) for e in (one.low, one.high))
    return [float(f"{x:.6g}") if x is not None else None for x in (one.value, *ends)]


def _place(place: Place | None) -> list[int] | None:
    return None if place is None else [place.rank, place.low, place.high]
