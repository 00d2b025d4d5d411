"""``returns.csv``: a board's returns in each game beside the published logs; predictions."""

from __future__ import annotations

import tomllib
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd

from uqbench.contract.board_table import BoardTable

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board

METRICS = {"speed": "learning_speed", "level": "online_return", "greedy": "evaluation_return"}
"""Columns, and the suite's metrics that they are means of over seeds."""
COLUMNS = ("game", "method", "source", "first_step", "last_step", *METRICS)
"""Steps are those in which the episodes of ``level`` ended."""
SUITE = "minatar"
OWN = ""
"""The source of a board's own rows."""


class Returns(BoardTable):
    """The table ``returns.csv`` (:class:`uqbench.contract.board_table.BoardTable`)."""

    def __init__(self, board: Board) -> None:
        self.board = board

    @property
    def applies(self) -> bool:
        """Whether the board is one of the games."""
        return self.board.suite == SUITE

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row a game and method: mean returns, in points of the game; then the published ones."""
        board = self.board
        metrics = {column: board.plan.suite.metric(name) for column, name in METRICS.items()}
        rows: list[list[Any]] = []
        order = [*board.plan.roles]
        for cell in sorted(board.scores.cells, key=lambda cell: order.index(cell.method)):
            values = [board.methods[cell.method].on(cell.task, of) for of in metrics.values()]
            means = [None if of is None else f"{of.mean():.6g}" for of in values]
            steps = board.plan.budget.on(board.plan.suite.task(cell.task)).steps
            rows.append([cell.task, cell.method, OWN, steps - steps // 10, steps, *means])
        games = {row[0] for row in rows}
        rows += [row for row in published() if row[0] in games]
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)

    @property
    def section(self) -> str:
        """The returns by game in Markdown, and the answers to what the design expected."""
        frame = self.frame
        games = list(dict.fromkeys(frame["game"]))
        lines = [
            "## Returns by game",
            "",
            f"Mean returns over seeds, *speed / level / greedy*: by "
            f"`{'`, `'.join(METRICS.values())}`, of training episodes in the last three quarters "
            f"and in the last tenth of a run, and of greedy episodes. Below, mean returns of "
            f"{_logs()['source']}, whose learner took a gradient step on 32 transitions every step "
            f"(`returns.csv`; `tasks.csv` has the intervals of the board's).",
            "",
            f"| method | {' | '.join(games)} |",
            f"| --- |{' --- |' * len(games)}",
        ]
        groups = ["source", "first_step", "last_step", "method"]
        for (source, first, last, method), rows in frame.groupby(groups, sort=False):
            cells = {row["game"]: _cell(row) for row in rows.to_dict("records")}
            published = f"{method}, published, steps {first:,} to {last:,}"
            name = f"`{method}`" if source == OWN else published
            lines.append(f"| {name} | {' | '.join(cells.get(game, '–') for game in games)} |")
        return "\n".join(lines + predictions(self.board.plan.budget_name))


def _cell(row: dict[str, Any]) -> str:
    """``speed / level / greedy`` of a board's row, the level of a published one."""
    if row["source"] != OWN:
        return f"{float(row['level']):.3g}"
    return " / ".join("–" if row[of] is None else f"{float(row[of]):.3g}" for of in METRICS)


def predictions(budget: str) -> list[str]:
    """Lines of Markdown on what the design of a budget expected; none of one without a design."""
    if not (rows := _table("predictions").get(budget)):
        return []
    lines = [
        "",
        "## Predictions",
        "",
        "Written down with the design, `PROTOCOL.md` of the plugin, before the first run. Speed "
        "and level are means of the last three quarters and of the last tenth of training.",
        "",
        "| expected | came | found |",
        "| --- | --- | --- |",
    ]
    return lines + [f"| {of['expected']} | **{of['came']}** | {of['found']} |" for of in rows]


def _logs() -> dict[str, Any]:
    return _table("published")


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((files("uqbench_minatar") / f"{name}.toml").read_text("utf-8"))


def published() -> list[list[Any]]:
    """The published logs as rows of :data:`COLUMNS`."""
    logs = _logs()
    rows: list[list[Any]] = []
    for window in logs["windows"]:
        first, last = window.pop("steps")
        for method, levels in window.items():
            for game, level in zip(logs["games"], levels, strict=True):
                rows.append([game, method, logs["source"], first, last, None, str(level), None])
    return rows
