"""A board's data for the explorer: rows, ranks by other scores and on tasks, pairs, claims."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import astuple
from typing import Any

import pandas as pd
from uqbench_claims.judged import judged_claims

from uqbench.boards import tables
from uqbench.boards.calibration import band, coverage_column
from uqbench.boards.controls import BEYOND, above_controls
from uqbench.boards.cost import read_cost
from uqbench.boards.leaderboard import Board
from uqbench.boards.protocol import versions_here
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError, contained
from uqbench.contract.figure import Figure
from uqbench.pages.board_view import BoardView, header
from uqbench.pages.markdown import cost_sentence
from uqbench.pages.methods import entitled, names_of
from uqbench.registry.plugins import Host
from uqbench.suites.plan import make_plan
from uqbench.suites.selection import Selection
from uqbench.suites.suite import Suite
from uqbench_report.explorer.ranks import estimates_on, places_by
from uqbench_report.plots import catalog, claims
from uqbench_report.plots.intervals import ENDS
from uqbench_report.plots.render import svg

Data = dict[str, Any]
Numbers = list[float | None] | None
"""An estimate's value, low and high end."""
SKILLS = ("proper", "information")
"""Skills of stated widths: the first that a board has stands for them, else its own score."""
NOT_LISTED = ("method", "place", "estimates")
"""What is in a row's line, and elsewhere in its board's data."""
PHONE = 0.7
"""Panels of trust and claims are so many times as wide as usual; a wide page enlarges them."""


def board_data(
    board: StoredBoard, suite: Suite | None, host: Host, root: str, left_out: Collection[str] = ()
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
    known = _estimates(board.leaderboard)
    values = {name: own for name, own in known.items() if name not in hidden}
    added, problems = catalog.plugin_figures(board, suite, host)
    figures = [*added, *catalog.drawable(told := entitled(board, host, suite), left_out)[0]]
    drawn, panels = [], claims.figures(board, claims.published_numbers(suite))
    for figure in sorted(figures, key=lambda one: one.name != "trust"):
        with contained(problems.append, f"{board.title}: {figure.name}: "):  # a plugin's may fail
            drawn.append(_drawn(board, figure, PHONE if figure.name == "trust" else 1.0))
    coverage, seconds = coverage_column(values), seconds_of_a_run(board)
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
        "runs": [board.manifest.runs["finished"], sum(board.manifest.runs.values())],
        "methods": [
            facts
            | {key: of for key, of in vars(lines[name]).items() if key not in NOT_LISTED}
            | {"word": lines[name].word, "seconds": seconds.get(name)}
            for name, facts in names_of(board, host, suite)
        ],
        "columns": [
            {
                "name": name,
                "header": titles.get(name, header(name)),
                "group": by_groups.get(name, ""),
                "usual": name in view.named,
            }
            for name in values
        ],
        "values": values,
        "ranks": {"": _places(board.leaderboard, names)},
        "skill": _skill(known, board.primary["name"]),
        "sets": {},
        "apart": {},
        "tasks": {
            str(task): _estimates(own.set_index("method").reindex(names))
            for task, own in board.tasks.groupby("task", sort=False)
        },
        "pairs": _pairs(board.pairs, names),
        "claims": [
            {key: str(of) for key, of in vars(claim).items() if key != "board"}
            | {"svg": claim.id in panels and _drawn(board, panels[claim.id], PHONE)["svg"]}
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
        planned = sum(len(cell.runs) for cell in plan.cells if cell.method.name in names)
        if planned != data["runs"][1] and not board.submitted:  # before all scores are read
            raise UqbenchError(f"The board has {data['runs'][1]:,} runs, its budget {planned:,}.")
        _rank(data, board, board.board(plan, selection, host, lambda _: None))
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


def seconds_of_a_run(board: StoredBoard) -> dict[str, float]:
    """Core time, on a GPU device time, by method; empty where it was not measured."""
    if not board.has("cost.csv"):
        return {}
    sums = board.cost.groupby("method")[["device_hours", "runs"]].sum()
    return dict(3600 * sums["device_hours"] / sums["runs"])


def _skill(known: Mapping[str, list[Numbers]], primary: str) -> Data | None:
    """The skill beyond its controls that stands for a board, with an estimate a method."""
    for name in (*SKILLS, primary):
        if any(own := known.get(f"{name}{BEYOND}", [])):
            return {"name": name.replace("_", " "), "values": own}
    return None


def _rank(data: Data, stored: StoredBoard, board: Board) -> None:
    """Add ranks, values and pairs on single tasks, ranks without each, and by other scores."""
    names = stored.methods
    ranked = dict(iter(stored.frame("ranks.csv", *tables.RANK_COLUMNS).groupby(["how", "task"])))
    none = pd.DataFrame(columns=tables.RANK_COLUMNS)
    for (how, task), tasks in board.subsets.items():
        known = map(estimates_on(board, *tasks).get, names)
        data["sets"][f"{how}:{task}"] = [_numbers(*astuple(of)) if of else None for of in known]
        data["ranks"][f"{how}:{task}"] = _places(ranked.get((how, task), none), names)
        if how == "only":
            rows = tables.made(map(tables.pair_row, board.pairs_on(task)), tables.PAIR_COLUMNS)
            data["apart"][task] = _pairs(rows, names)
    for column in board.columns if board.ranks else ():
        if places := places_by(board, column):
            own = [astuple(places[name]) if name in places else None for name in names]
            data["ranks"][f"by:{column.name}"] = own


def _estimates(table: pd.DataFrame) -> dict[str, list[Numbers]]:
    """The columns that have a low and a high end beside them: an estimate a row."""
    columns = {name: [f"{name}{end}" for end in ENDS] for name in map(str, table)}
    return {
        name: [_numbers(*row) for row in table[own].itertuples(index=False)]
        for name, own in columns.items()
        if {*own} <= {*table}
    }


def _numbers(*estimate: float | None) -> Numbers:
    shown = [None if x is None or not math.isfinite(x) else float(f"{x:.6g}") for x in estimate]
    return None if shown[0] is None else shown


def _places(table: pd.DataFrame, names: list[str]) -> list[list[int] | None]:
    """Ranks and the ends of their sets in a table, by method."""
    if "rank" not in table:
        return [None] * len(names)
    own = table.dropna(subset="rank").set_index("method")[[*tables.RANKS[:3]]].astype(int)
    places = dict(zip(own.index, own.to_numpy().tolist(), strict=True))
    return [places.get(name) for name in names]


def _pairs(table: pd.DataFrame, names: list[str]) -> list[list[Any]]:
    """Each pair of methods: both indices, the difference, and the probability of improvement."""
    of, both = _estimates(table), (table[end].map(names.index) for end in ("first", "second"))
    return [[*row] for row in zip(*both, of["difference"], of["improvement"], strict=True)]


def _drawn(board: StoredBoard, figure: Figure, width: float) -> Data:
    drawn = svg(figure, prefix=f"{board.suite}-{board.name}-", width=width)
    title = figure.title.partition(": ")[2] if figure.name != "trust" else "score against coverage"
    said = {"name": figure.name, "title": title or figure.title, "text": figure.text}
    return {**said, "numbers": figure.numbers, "svg": drawn}
