"""Results: runs, boards and verdicts as pandas frames."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd

from uqbench.api.run_tables import CELL, Found, data_frame, runs_frame
from uqbench.boards.leaderboard import Board
from uqbench.boards.stored import StoredBoard
from uqbench.errors import UqbenchError, did_you_mean
from uqbench.results.store import CURVES, EPISODES, METRICS, Store
from uqbench.views.board_view import BoardView
from uqbench.views.notebook import html
from uqbench.wording import count

if TYPE_CHECKING:
    from uqbench.api.agents import ExportedAgent

POINTS = ("task", "method", "seed", "step", "metric", "value")
"""Columns of the curves that stored boards keep."""
DIGESTS = ("results_digest", "content")
NOT_FROM_BOARDS = (
    "{what} are in the runs' own files, which a stored board has not: load the results folder "
    "instead, e.g. uqbench.load('results')."
)


class Results:
    """What was run, how it scored, and what follows: read when it is asked for.

    Made by :func:`uqbench.run` and :func:`uqbench.load`. Every frame has columns ``suite`` and
    ``board`` (the budget, or a selection of its runs) or ``suite``, ``budget``, ``task``,
    ``method``, ``seed``.

    Args:
        origin: where the results are.
        boards: finds their boards; called once, when a board is asked for.
        stored: the runs, where they are from a results folder.
        store: of the runs.
    """

    def __init__(
        self,
        origin: Path,
        boards: Callable[[], Sequence[Board | StoredBoard]],
        stored: Sequence[Found] = (),
        store: Store | None = None,
    ) -> None:
        self.origin = origin
        self._find_boards = boards
        self.stored = tuple(stored)
        self.store = store

    @cached_property
    def boards(self) -> tuple[Board | StoredBoard, ...]:
        """Each board: stored, or computed from runs when one of its tables is asked for."""
        return tuple(self._find_boards())

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run: state, steps, device, time, reason where it failed, folder, digest."""
        if self.store is not None:
            return runs_frame(self.stored)
        scores = self.scores
        known = ("suite", "board", *CELL[2:], "status", "device", "run", *DIGESTS)
        return scores.filter(known).rename(columns={"status": "state"})

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row a planned run of each board: its status, ``score`` (normalized) and raw metrics.

        NaN where a run was not measured by a metric, or the metric gave no value.
        """
        return self.table("scores.csv")

    def metrics(self, metric: str | Sequence[str] | None = None) -> pd.DataFrame:
        """The metrics that runs recorded while they ran, long: ``step``, ``metric``, ``value``.

        From stored boards: the points of their curves, ``metric`` being ``return`` (mean of the
        episodes that ended in each hundredth of the run) or ``reward_per_step``.

        Args:
            metric: only these.

        Raises:
            UqbenchError: a file is damaged.
        """
        names = [metric] if isinstance(metric, str) else None if metric is None else list(metric)
        if self.store is None:
            stored = [one for one in self.boards if isinstance(one, StoredBoard)]
            points = _joined([(one, one.curve_points) for one in stored], POINTS)
            return points if names is None else points[points["metric"].isin(names)]
        filters = None if names is None else [("metric", "in", names)]
        return data_frame(self.store, self.stored, METRICS, filters)

    def episodes(self, phase: str | None = None) -> pd.DataFrame:
        """A row an episode: ``step`` at its end, ``phase``, ``end``, ``length``, ``return``, ….

        Args:
            phase: only ``"training"`` or ``"evaluation"``.

        Raises:
            UqbenchError: a file is damaged, or these are stored boards, which have none.
        """
        return self._data("Episodes", EPISODES, "phase", phase)

    def uncertainty(self, curve: str | None = None) -> pd.DataFrame:
        """How good predicted uncertainty is, as curves: ``step``, ``curve``, ``x``, ``y``.

        Sparsification, calibration (PIT) and so on, of the runs whose budget asks for them.

        Args:
            curve: only this one.

        Raises:
            UqbenchError: a file is damaged, or these are stored boards, which have none.
        """
        return self._data("Curves of uncertainty", CURVES, "curve", curve)

    def board(self, suite: str | None = None, board: str | None = None) -> pd.DataFrame:
        """The leaderboard: one row per method, with estimates and their 95 % intervals.

        Of several boards, the columns that all of them have and that are not empty;
        ``table("leaderboard.csv")`` has every column of each.

        Args:
            suite: only of this suite.
            board: only the board of this name, mostly a budget.
        """
        chosen = self._chosen(suite, board)
        joined = _joined([(one, one.table("leaderboard.csv")) for one in chosen], (), "inner")
        return joined.dropna(axis="columns", how="all") if len(chosen) > 1 else joined

    def pairs(self, suite: str | None = None, board: str | None = None) -> pd.DataFrame:
        """Every pair of methods: P(improvement), difference, intervals and p-values."""
        return self.table("pairs.csv", suite, board)

    def claims(self, suite: str | None = None, board: str | None = None) -> pd.DataFrame:
        """A row a comparison of each claim: estimate, interval, region and verdict."""
        return self.table("claims.csv", suite, board)

    def tasks(self, suite: str | None = None, board: str | None = None) -> pd.DataFrame:
        """The mean of each raw metric by task and method, with intervals."""
        return self.table("tasks.csv", suite, board)

    def table(self, name: str, suite: str | None = None, board: str | None = None) -> pd.DataFrame:
        """Any table of the boards by its file's name, such as ``cost.csv``."""
        chosen = self._chosen(suite, board)
        return _joined([(one, one.table(name)) for one in chosen], ())

    def agent(self, run: str) -> "ExportedAgent":
        """The trained agent of a run that was made with ``keep_agents``.

        Args:
            run: its folder, as the column ``run`` of :attr:`runs` has it.

        Raises:
            UqbenchError: the run kept none, its file is damaged, or it is of another version.
        """
        from uqbench.api.agents import restore
        from uqbench.registry.load_host import load_host

        return restore(self._store("Agents"), run, load_host())

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"<uqbench.Results of {self.origin}: {count(len(self), 'run')}>"

    def _repr_html_(self) -> str:
        states = {str(name): n for name, n in self.runs["state"].value_counts().items()}
        return html(str(self.origin), states, list(map(BoardView.of, self.boards)))

    def _chosen(self, suite: str | None, board: str | None) -> list[Board | StoredBoard]:
        for given, known, what in (
            (suite, [one.suite for one in self.boards], "suite"),
            (board, [one.name for one in self.boards], "board"),
        ):
            if given is not None and given not in known:
                raise UqbenchError(
                    f"There is no {what} {given!r} in {self.origin}. {did_you_mean(given, known)}"
                )
        return [
            one for one in self.boards if suite in (None, one.suite) and board in (None, one.name)
        ]

    def _data(self, what: str, file: str, column: str, only: str | None) -> pd.DataFrame:
        filters = None if only is None else [(column, "==", only)]
        return data_frame(self._store(what), self.stored, file, filters)

    def _store(self, what: str) -> Store:
        if self.store is None:
            raise UqbenchError(NOT_FROM_BOARDS.format(what=what))
        return self.store


def _joined(
    tables: Sequence[tuple[Board | StoredBoard, pd.DataFrame | None]],
    columns: Sequence[str],
    join: Literal["inner", "outer"] = "outer",
) -> pd.DataFrame:
    """Tables below each other, with their boards; empty, with these columns, without any."""
    parts = []
    for board, table in tables:
        if table is not None:
            part = table.copy(deep=False)
            part.insert(0, "suite", board.suite)
            part.insert(1, "board", board.name)
            parts.append(part)
    if not parts:
        return pd.DataFrame(columns=["suite", "board", *columns])
    return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True, join=join)
