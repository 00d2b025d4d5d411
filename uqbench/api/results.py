"""Results: runs, boards and verdicts as pandas frames."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from uqbench.api.run_tables import CELL, Found, data_frame, estimates, runs_frame, summary
from uqbench.api.values import Name, Names, Place, given
from uqbench.api.values import names as as_tuple
from uqbench.boards.leaderboard import Board
from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.wording import count
from uqbench.pages.board_folders import write_board
from uqbench.pages.board_view import BoardView
from uqbench.pages.learning import learned, without_score
from uqbench.pages.notebook import html
from uqbench.registry.load_host import load_host
from uqbench.registry.packages import MODULES, brought, missing
from uqbench.results.folders import Folder
from uqbench.results.store import CURVES, EPISODES, METRICS

AnyBoard = Board | StoredBoard
POINTS = ("task", "method", "step", "metric", "value", "low", "high", "runs")
"""Columns of the curves that stored boards keep."""
FIRST = ("rank", "method", "mean", "mean_low", "mean_high", "calibration")
"""Columns that a notebook shows before it hides some."""
PAIR = {"method": ("first", "second")}
"""Further columns of a name: a pair of methods stays where one of them does."""
DIGESTS = ("results_digest", "content")
NOT_FROM_BOARDS = (
    "{what} are in the runs' own files, which a stored board has not: load the results folder "
    "instead, e.g. uqbench.load('results')."
)


class Results:
    """Runs, scores and boards of a folder, each read when it is asked for.

    Made by :func:`uqbench.run` and :func:`uqbench.load`. Every frame has columns ``suite`` and
    ``board`` (the budget, or a selection of its runs) or ``suite``, ``budget``, ``task``,
    ``method``, ``seed``. ``results["sine"]`` has those of a suite, ``results["sine", "paper"]``
    those of one board, ``one + other`` both; a loop goes over the boards.

    Args:
        origin: where the results are.
        boards: finds their boards; called once, when a board is asked for.
        stored: the runs, where they are from a results folder.
        only: the tasks and methods that frames have rows of, by column; all where it is empty.

    Example:
        >>> import uqbench
        >>> results = uqbench.load("leaderboards")  # doctest: +SKIP
        >>> results["windy-cliff", "paper"].filter(methods="qr-dqn").scores  # doctest: +SKIP
    """

    def __init__(
        self,
        origin: Path,
        boards: Callable[[], Sequence[AnyBoard]],
        stored: Sequence[Found] = (),
        only: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.origin = origin
        self._find_boards = boards
        self.stored = tuple(stored)
        self._only = dict(only or {})

    @cached_property
    def boards(self) -> tuple[AnyBoard, ...]:
        """Each board: stored, or computed from runs when one of its tables is asked for."""
        return tuple(self._find_boards())

    def __getitem__(self, key: str | tuple[str, str]) -> "Results":
        """The results of a suite, or of a suite and board.

        Raises:
            UqbenchError: there is none of that name; says the nearest.
        """
        place = (key,) if isinstance(key, str) else key
        boards, stored = list(self.boards), list(self.stored)
        for at, (what, name) in enumerate(zip(("suite", "board"), place, strict=False)):
            names = [(one.suite, one.name)[at] for one in boards]
            names += [run.parts[at] for _, run, _ in stored]
            if name not in names:
                raise unknown(what, name, names)
            boards = [one for one in boards if (one.suite, one.name)[at] == name]
            budget = name.partition("-selection-")[0]  # a plan's name has it so
            stored = [one for one in stored if one[1].parts[at] == budget]
        return Results(self.origin, lambda: boards, stored, self._only)

    def __iter__(self) -> Iterator["Results"]:
        return (self[board.suite, board.name] for board in self.boards)

    def __add__(self, other: "Results") -> "Results":
        if bool(self.stored) != bool(other.stored) or self._only != other._only:
            raise UqbenchError(
                f"{self!r} + {other!r}: only results of one kind, filtered alike, can be added; "
                f"concatenate their frames instead."
            )
        origin = os.path.commonpath([self.origin.absolute(), other.origin.absolute()])
        both = self.stored + other.stored
        return Results(Path(origin), lambda: self.boards + other.boards, both, self._only)

    def filter(self, *, tasks: Names | None = None, methods: Names | None = None) -> "Results":
        """A copy with the rows of some tasks and methods alone.

        Ranks and estimates stay those among all methods.

        Args:
            tasks: these; None for all.
            methods: these; None for all.

        Raises:
            UqbenchError: there is none of that name; says the nearest.
        """
        only, stored, scores = dict(self._only), self.stored, self.runs
        for column, names in (("task", tasks), ("method", methods)):
            if names is not None:
                only[column] = as_tuple(given(f"{column}s", names, Names)) or ()
                known, at = set(scores[column]), CELL.index(column)
                for name in set(only[column]) - known:
                    raise unknown(column, name, known)
                stored = tuple(run for run in stored if run[1].parts[at] in only[column])
        return Results(self.origin, lambda: self.boards, stored, only)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: state, steps, device, time, reason where it failed, folder, digest."""
        if self.stored:
            return runs_frame(self.stored)
        scores = self.scores
        known = ("suite", "board", *CELL[2:], "status", "device", "run", *DIGESTS)
        return scores.filter(known).rename(columns={"status": "state"})

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per planned run of a board: its status, ``score`` (normalized) and raw metrics.

        NaN where a run was not measured by a metric, or the metric gave no value.
        """
        return self.table("scores.csv")

    def metrics(self, metric: Names | None = None) -> pd.DataFrame:
        """The metrics that runs recorded while they ran, long: ``step``, ``metric``, ``value``.

        From stored boards: the points of their curves, means over runs with ``low`` and ``high``.
        ``metric`` is ``return`` (of the episodes that ended in each fiftieth of a run) or
        ``reward_per_step``.

        Args:
            metric: only these.

        Raises:
            UqbenchError: a file is damaged.
        """
        names = as_tuple(given("metric", metric, Names | None))
        if not self.stored:
            stored = [one for one in self.boards if isinstance(one, StoredBoard)]
            points = self._joined([(one, one.curve_points) for one in stored], POINTS)
            chosen = points if names is None else points[points["metric"].isin(names)]
            return _found(chosen, "metric", names, lambda: points)
        return self._data("Metrics", METRICS, "metric", names)

    def episodes(self, phase: str | None = None) -> pd.DataFrame:
        """One row per episode: ``step`` at its end, ``phase``, ``end``, ``length``, ``return``, ….

        Args:
            phase: only ``"training"`` or ``"evaluation"``.

        Raises:
            UqbenchError: a file is damaged, or these are stored boards, which have none.
        """
        return self._data("Episodes", EPISODES, "phase", given("phase", phase, Name | None))

    def uncertainty(self, curve: str | None = None) -> pd.DataFrame:
        """Curves of predicted uncertainty: ``step``, ``curve``, ``x``, ``y``.

        Sparsification, calibration (PIT) and so on, of the runs whose budget asks for them.

        Args:
            curve: only this one.

        Raises:
            UqbenchError: a file is damaged, or these are stored boards, which have none.
        """
        only = given("curve", curve, Name | None)
        return self._data("Curves of uncertainty", CURVES, "curve", only)

    def board(self) -> pd.DataFrame:
        """The leaderboard: a row a method; its rank, name, mean and the trust in it come first.

        Means have their 95 % interval. For several boards, the columns that all of them have and
        that are not empty. ``calibration`` is the word for the method's stated intervals, which is
        empty where a board asks for none. What a board says of other metrics is in
        :meth:`estimates`.
        """
        tables = [(one, one.table("leaderboard.csv")) for one in self.boards]
        known = [(one, table) for one, table in tables if table is not None]
        if len(known) == 1:
            return _first(self._joined([(one, summary(table)) for one, table in known]), FIRST)
        said = [(one, of.assign(calibration=of.get("calibration", ""))) for one, of in known]
        joined = self._joined([(one, summary(table)) for one, table in said], join="inner")
        shown = joined.dropna(axis="columns", how="all").fillna({"calibration": ""})
        return _first(shown, ("suite", "board", *FIRST))

    def estimates(self) -> pd.DataFrame:
        """Estimates of each method, long: ``metric``, ``value``, ``low``, ``high``.

        ``metric`` is a statistic of the score, such as ``mean``, of another metric, such as
        ``late_return_mean``, or ``improvement``: the probability that a run is better than one of
        the ``baseline``. NaN where there is no interval.
        """
        return estimates(self.table("leaderboard.csv"))

    def pairs(self) -> pd.DataFrame:
        """Every pair of methods: P(improvement), difference, intervals and p-values."""
        return self.table("pairs.csv")

    def sentence(self, first: str, second: str) -> str:
        """Sentence on how much better one method of a board is than another, if it is.

        With the p-value adjusted for all pairs of the board, and the seeds that would decide.

        Raises:
            UqbenchError: these are several boards, or they have no such methods.

        Example:
            >>> results = uqbench.load("leaderboards")  # doctest: +SKIP
            >>> results["minatar", "night"].sentence("ua-dqn", "qr-dqn")  # doctest: +SKIP
        """
        if len(self.boards) != 1:
            raise UqbenchError(
                f"sentence: expected the results of one board, as in results['sine', 'paper']; got "
                f"{count(len(self.boards), 'board')}."
            )
        said: str = _brought("against").against(self.boards[0], first, second)
        return said

    def claims(self) -> pd.DataFrame:
        """One row per comparison of a claim: estimate, interval, region and verdict."""
        return self.table("claims.csv")

    def tasks(self) -> pd.DataFrame:
        """The mean of each raw metric by task and method, long: ``value``, ``low``, ``high``."""
        return estimates(self.table("tasks.csv")).drop(columns="baseline")

    def table(self, name: str) -> pd.DataFrame:
        """Any table of the boards by its file's name, such as ``cost.csv``, with all columns."""
        return self._joined([(one, one.table(name)) for one in self.boards])

    def agent(self, run: str) -> Any:
        """The trained agent of a run that was made with ``keep_agents``.

        A ``uqbench_record.agents.ExportedAgent``, of the package uqbench-record.

        Args:
            run: its folder, as the column ``run`` of :attr:`runs` has it.

        Raises:
            UqbenchError: there is no such run, it kept none, its file is damaged, or it is of
                another version.
        """
        stores = {str(folder): store for store, folder, _ in self._runs("Agents")}
        if run not in stores:
            raise unknown("run", run, stores)
        return _brought("agents").restore(stores[run], run, load_host())

    def write(self, folder: Place) -> list[Path]:
        """Write the boards of these runs below a folder of leaderboards, for plots and reports.

        Also those with runs of one's own loop (:func:`uqbench.record`), whose rows say so.

        Raises:
            UqbenchError: these are stored boards, which are written already.
        """
        store, root = (
            self._runs("Boards to write")[0][0],
            Folder(Path(given("folder", folder, Place))),
        )
        computed = [board for board in self.boards if isinstance(board, Board)]
        for board in computed:
            write_board(board, store, board_folder(board.plan, root), load_host())
        return [board_folder(board.plan, root).path for board in computed]

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"<uqbench.Results of {self.origin}: {count(len(self), 'run')}>"

    def _repr_html_(self) -> str:
        states = {str(name): n for name, n in self.runs["state"].value_counts().items()}
        told = [learned(one) if isinstance(one, Board) else {} for one in self.boards]
        views = map(without_score, map(BoardView.of, self.boards), told)
        sentences = [sentence for own in told for sentence in own.values()]
        return html(str(self.origin), states, [*views], sentences)

    def _data(self, what: str, file: str, column: str, names: Names | None) -> pd.DataFrame:
        runs, only = self._runs(what), as_tuple(names)
        frame = data_frame(runs, file, only and [(column, "in", only)])
        return _found(frame, column, only, lambda: data_frame(runs, file))

    def _runs(self, what: str) -> Sequence[Found]:
        if not self.stored:
            raise UqbenchError(NOT_FROM_BOARDS.format(what=what))
        return self.stored

    def _joined(
        self,
        tables: Sequence[tuple[AnyBoard, pd.DataFrame | None]],
        columns: Sequence[str] = (),
        join: Literal["inner", "outer"] = "outer",
    ) -> pd.DataFrame:
        """Tables below each other, with their boards; empty, with these columns, without any."""
        parts = []
        for board, table in tables:
            if table is not None:
                part = table.copy(deep=False)
                part.insert(0, "suite", board.suite)
                part.insert(1, "board", board.name)
                for column, names in self._only.items():
                    own = part.columns.intersection([column, *PAIR.get(column, ())])
                    part = part[part[own].isin(names).any(axis=1)] if len(own) else part
                parts.append(part)
        if not parts:
            return pd.DataFrame(columns=["suite", "board", *columns])
        joined = parts[0] if len(parts) == 1 else pd.concat(parts, join=join)
        return joined.reset_index(drop=True)


def _brought(name: str) -> Any:
    """A module of another package.

    Raises:
        UqbenchError: the package is not installed; says which it is.
    """
    if (module := brought(MODULES).get(name)) is None:
        raise missing(MODULES, name)
    return module.load()


def _first(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The frame with some of its columns before the others."""
    known = [name for name in names if name in frame]
    return frame[[*known, *frame.columns.difference(known, sort=False)]]


def _found(
    frame: pd.DataFrame,
    column: str,
    names: tuple[str, ...] | None,
    everything: Callable[[], pd.DataFrame],
) -> pd.DataFrame:
    """The rows of some names.

    Raises:
        UqbenchError: there is nothing of a name among everything; says the nearest.
    """
    if missing := [name for name in names or () if name not in set(frame.get(column, ()))]:
        known = set(everything().get(column, ()))
        for name in missing:
            if name not in known:
                raise unknown(column, name, known)
    return frame
