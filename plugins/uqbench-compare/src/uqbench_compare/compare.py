"""``uqbench.compare``: scores that somebody has, ranked as a board ranks runs; nothing is run."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import cached_property
from html import escape
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from uqbench_claims.against import against

from uqbench.api.values import Name, Part, Place, given
from uqbench.boards.detectable import detectable
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import missing_note
from uqbench.boards.stored import board_folder
from uqbench.boards.tables import RANKS, label
from uqbench.contract.claim import Paired
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count
from uqbench.pages.board_folders import all_files, write_files
from uqbench.pages.board_view import BoardView, shown
from uqbench.pages.notebook import board_html
from uqbench.registry.load_host import load_host
from uqbench.results.folders import Folder
from uqbench.suites.reading import read_suites
from uqbench_compare.efficiency import MOST_POINTS, MOST_STEPS, Grid, areas, by_step, on_one_grid
from uqbench_compare.efficiency import profile as performance_profile
from uqbench_compare.efficiency import steps_to as first_steps
from uqbench_compare.imported import (
    METRIC,
    Better,
    Constants,
    Ranking,
    Units,
    constants_of,
    few_values,
    imported_board,
    normalized,
)
from uqbench_compare.score_files import from_objects, read_scores
from uqbench_compare.score_table import RUN, USED, Ledger, looks_like_a_cost, score_table


class Compared:
    """Methods by their scores: ranks, pairs and intervals; printed, it is one paragraph.

    Args:
        board: of the scores.
        ledger: of what was read for it: each value, used or why not.
        curves: of its runs, normalized: ``method``, ``task``, ``seed``, ``step``, ``score``.
    """

    def __init__(self, board: Board, ledger: Ledger, curves: pd.DataFrame) -> None:
        self.board, self.ledger, self.curves = board, ledger, curves

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """A row a method, the best first: ``rank``, the set of ranks ``rank_low`` to ``rank_high``.

        ``may_be_first`` where the set begins at 1; rank sets hold together with 95 %.
        A method that lacks runs has no row.
        """
        known = self.board.leaderboard.dropna(subset="rank").sort_values("rank", kind="stable")
        own = known[["method", *RANKS]].assign(may_be_first=known["may_be_first"] == "yes")
        return own.astype(dict.fromkeys(RANKS[:3], int)).reset_index(drop=True)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row a pair: P(first better than second), the difference, intervals, p-values.

        ``p_adjusted`` is p times the number of pairs, and both intervals hold for all of these.
        """
        return self.board.frames["pairs.csv"]

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """A row a method and statistic: ``value``, and its 95 % interval ``low`` to ``high``.

        IQM, mean, median, of normalized scores the optimality gap (Agarwal et al. 2021), and the
        worst quarter of the runs.
        """
        rows = [
            (method, name, *astuple(of))
            for method, own in self.board.estimates.items()
            for name, of in own.items()
            if of is not None and (name != "optimality_gap" or self._scaled)
        ]
        return pd.DataFrame(rows, columns=["method", "statistic", "value", "low", "high"])

    @cached_property
    def notes(self) -> list[str]:
        """Sentences on what the comparison takes for granted, where the scores speak against it."""
        suite, notes = self.board.plan.suite, [self.board.together] * bool(self.board.together)
        few = few_values(len(suite.tasks), self.board.matrices.values())
        notes += [FEW_VALUES] * (few and self.board.ranking == "iqm")
        if suite.normalization[METRIC].zero == NEGATED:
            notes.append("Lower scores are better: they are shown negated.")
        if len(suite.tasks) > 1 and not self._scaled:
            notes.append("Scores are as they were given: normalize those of unlike tasks.")
        return notes

    def sentence(self, first: str, second: str) -> str:
        """Sentence on how much better the first method is than the second, if it is.

        Raises:
            UqbenchError: one of them has no runs of every task; says the nearest name.
        """
        return against(self.board, first, second)

    def profile(self, thresholds: Sequence[float] | None = None) -> pd.DataFrame:
        """Performance profile: a row a method and threshold, the ``share`` of runs above it.

        Args:
            thresholds: scores; None for fifty from the least to the greatest that a run has.
        """
        scores = self.board.matrices
        if thresholds is None:
            every = np.concatenate([np.ravel(of) for of in scores.values()] or [np.zeros(1)])
            thresholds = np.linspace(every.min(), every.max(), MOST_POINTS).tolist()
        return performance_profile(scores, _finite(thresholds), paired=self._paired)

    @cached_property
    def efficiency(self) -> pd.DataFrame:
        """Sample efficiency: a row a step and method, its statistic, interval and rank set.

        Steps are those of all runs' union at which each run of the method has a value; nothing is
        interpolated across a gap. Intervals and rank sets are of each step by itself.

        Raises:
            UqbenchError: the scores have no steps.
        """
        return by_step(self._grid(), self.board.ranking, paired=self._paired)

    @cached_property
    def area(self) -> pd.DataFrame:
        """A row a method: the mean height of its runs' curves, with interval and rank set.

        Over the steps at which all methods have values.

        Raises:
            UqbenchError: the scores have no steps.
        """
        return areas(self._grid(), self.board.ranking, paired=self._paired)

    def steps_to(self, threshold: float) -> pd.DataFrame:
        """A row a method: the ``steps`` at which its curve first is at a threshold; inf if never.

        Args:
            threshold: a score, normalized as the board's are; of costs, negated.

        Raises:
            UqbenchError: the scores have no steps, or the threshold is no number.
        """
        (at,) = _finite([threshold])
        return first_steps(self._grid(MOST_STEPS), at, self.board.ranking, paired=self._paired)

    def _grid(self, most: int = MOST_POINTS) -> Grid:
        own = self.curves[self.curves["method"].isin([*self.board.matrices])]
        if own.empty:
            raise UqbenchError(
                "expected scores by step, in a column step or arrays [runs, tasks, frames], of "
                "methods that have all of their runs; there are none."
            )
        grid = on_one_grid(own, most)
        if not any(np.isfinite(of).all((0, 1)).any() for of in grid.at.values()):
            ends = own.groupby("task")["step"].max()
            told = ", ".join(f"{task} to {end:g}" for task, end in ends.items())
            raise UqbenchError(
                f"there is no step at which all runs of a method have a value; tasks have steps "
                f"{told:.300}: expected steps that they share; compare tasks of unlike length one "
                f"by one."
            )
        return grid

    @property
    def _scaled(self) -> bool:
        """Whether 1 is a score that means something."""
        return self.board.plan.suite.normalization[METRIC].zero not in (AS_GIVEN, NEGATED)

    @property
    def _paired(self) -> Paired:
        return self.board.plan.suite.pairing

    def plot(self, what: str = "intervals", ax: Any = None, threshold: float | None = None) -> Any:
        """A figure of the scores, which a notebook draws, or the same in a matplotlib subplot.

        Args:
            what: ``intervals``, ``pairs``, ``profile``; of scores by step ``efficiency``, ``area``
                or, with a threshold, ``steps``.
            ax: matplotlib's axes to draw on; None for a :class:`uqbench.figure.Figure` (SVG).
            threshold: of ``steps``.

        Returns:
            The figure, or ``ax``.

        Raises:
            UqbenchError: there is no such figure.
            ModuleNotFoundError: the package uqbench-report is not installed.
        """
        from uqbench_compare.figures import draw

        return draw(self, what, ax, threshold)

    def write(self, folder: str | PathLike[str]) -> Path:
        """Write a board below a folder of leaderboards; return its folder.

        ``uqbench plot``, ``report`` and ``--beside`` take it; it says *imported* wherever it goes.
        """
        at = board_folder(self.board.plan, Folder(Path(given("folder", folder, Place))))
        write_files(all_files(self.board, {}), at, load_host())
        return at.path

    def __repr__(self) -> str:
        board, view = self.board, BoardView.of(self.board)
        ranking, tasks = label(board.ranking), len(board.plan.suite.tasks)
        known = [
            f"{line.method} {shown(line.estimates[board.ranking])}"
            + (f", rank {line.place}" if line.place else "")
            for line in view.lines
            if board.ranking in line.estimates
        ]
        parts = [board.finding]
        parts += [f"{ranking} over {count(tasks, 'task')}: {'; '.join(known)}."] * bool(known)
        parts += [self.sentence(*self.ranks["method"][:2])] if len(self.ranks) > 1 else []
        of = [pair.difference for pair in board.pairs if pair.adjusted is not None]
        together = [(x.low, x.high) for x in of if x.low is not None and x.high is not None]
        if together:
            runs = min(cell.scored for cell in board.scores.cells if cell.method in board.places)
            parts.append(detectable(together, runs, runs))
        lacking = missing_note(board.scores, board.planned).replace("*", "").replace("`", "")
        parts += [lacking and f"{lacking} Such a method has no rank."]
        parts += [f"R{str(self.ledger)[1:]}.", *self.notes]
        return " ".join(filter(None, parts))

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{board_html(BoardView.of(self.board))}"


def _finite(thresholds: Sequence[float]) -> NDArray[np.float64]:
    """Thresholds, which are scores.

    Raises:
        UqbenchError: one is no finite number.
    """
    for one in thresholds:
        if not isinstance(one, Real) or not np.isfinite(float(one)):
            raise UqbenchError(f"threshold {one!r}: expected a score, a finite number.")
    return np.asarray(thresholds, float)


FEW_VALUES = (
    "Ranks by an IQM are not to be trusted here: with so few tasks or different scores up to 44 % "
    "of comparisons of equal methods tell some apart, not 5 %. Rank by the mean."
)
MOST_METHODS = 200
AS_GIVEN, NEGATED = "as given", "negated: lower is better"


def compare(
    scores: Any,
    *,
    constants: Constants | str | None = None,
    by: Ranking | None = None,
    better: Better | None = None,
    paired: bool = False,
    units: Units = "run",
    columns: Mapping[str, str] | None = None,
    window: float = 0.1,
    horizon: float | None = None,
    name: str = "scores",
) -> Compared:
    """Compare methods by scores that are there: rank sets, pairs, intervals. Nothing is run.

    Args:
        scores: a dictionary by method, of arrays ``[runs, tasks]`` or ``[runs, tasks, frames]``,
            of ``{task: runs}``, or of frames, a row a run and a column a task; a frame, series or
            array of xarray with ``method``, ``task``, ``seed`` and ``score`` in columns or levels;
            or files and folders, as :mod:`uqbench_compare.score_files` reads.
        constants: the raw scores that are 0 and 1 of each task, ``{task: (zero, one)}``, or the
            name of an installed suite that has them, such as ``"atari"``; None for scores that are
            normalized already.
        by: the statistic that ranks: ``iqm``, ``mean`` or ``median``; None for the IQM, or for the
            mean of fewer than three tasks or of few different scores, where an IQM errs too often.
        better: ``higher`` or ``lower``; a score whose name is that of a cost, as ``nll`` or
            ``regret``, is refused without. Constants say it, too.
        paired: whether methods met the same data set or world with the same seed.
        units: ``seed`` where one run has all tasks of a seed, as one network that is scored on each
            of them: its mean is one observation then; ``run`` where each task was run by itself.
        columns: names of columns by role, where they are not found: ``{"score": "auc"}``;
            ``"=Pong"`` is a name that all rows have, and ``{"task": "*"}`` makes each column that
            has no other role a task.
        window: of curves, the last part of a task's steps, whose mean is the score.
        horizon: the last step of every task; None for the largest that a run of the task has.
        name: of the board that :meth:`Compared.write` writes.

    Returns:
        The comparison; its ``ledger`` has every value that was read.

    Raises:
        UqbenchError: a column is missing or there twice, a file is damaged, a run is there twice,
            or a task has no constants; says what would do.

    Example:
        >>> import numpy as np, uqbench
        >>> runs = np.random.default_rng(0).normal(size=(10, 3))
        >>> uqbench.compare({"a": runs, "b": runs + 5}).sentence("b", "a")[:28]
        'b is significantly better th'
    """
    by, window = by and given("by", by, Ranking), given("window", window, Part)
    digests: Mapping[str, str] = {}
    if isinstance(scores, str | PathLike | Sequence):
        paths = [scores] if isinstance(scores, str | PathLike) else scores
        parts, digests = read_scores([Path(given("scores", p, Place)) for p in paths], columns)
    else:
        parts = from_objects(scores, columns)
    table, ledger = score_table(parts, columns, window, horizon, digests)
    if (methods := table["method"].nunique()) > MOST_METHODS:
        raise UqbenchError(
            f"{methods:,} methods have {methods * (methods - 1) // 2:,} pairs; expected at most "
            f"{MOST_METHODS} methods: leave out those that nobody asks about."
        )
    scale = (AS_GIVEN, AS_GIVEN) if better != "lower" else (NEGATED, NEGATED)
    if isinstance(constants, str):
        suite = read_suites(load_host(), check=()).suite(constants)
        constants, scale = constants_of(suite, table)
    elif constants is not None or "zero" in table:
        scale = "each task's zero", "its one"
    elif better is None:
        _check_direction(ledger)
    better = better and given("better", better, Better)
    board = imported_board(
        table, constants, by=by, better=better, paired=paired,
        units=given("units", units, Units), name=given("name", name, Name), files=digests,
        scale=scale,
    )  # fmt: skip
    return Compared(board, ledger, _curves(ledger, table, constants, better, board))


def _curves(
    ledger: Ledger,
    table: pd.DataFrame,
    constants: Constants | None,
    better: Better | None,
    board: Board,
) -> pd.DataFrame:
    """Normalized scores by step of the runs that have a score; seeds' means over tasks, if so."""
    runs = table[table["score"].notna()].drop(columns="score")
    own = ledger.values.dropna(subset=["step", "score"]).merge(runs, on=RUN)
    own = own[own["why"].eq(USED) | own["why"].str.startswith("before")]
    if own.empty:
        return own
    curves, tasks = normalized(own, constants, better), [of.name for of in board.plan.suite.tasks]
    if {*curves["task"]} <= {*tasks}:
        return curves
    means = curves.groupby(["method", "seed", "step"], as_index=False)["score"]
    return means.mean()[means.count()["score"] == curves["task"].nunique()].assign(task=tasks[0])


def _check_direction(ledger: Ledger) -> None:
    """See that no score whose direction nobody said has the name of a cost.

    Raises:
        UqbenchError: one has; names its file.
    """
    asked = ledger.columns[ledger.columns["read_as"].str.startswith("score")]
    for row in asked[asked["column"].map(looks_like_a_cost)].itertuples():
        raise UqbenchError(
            f"{row.file}: {row.column} sounds like a cost, of which less is better: say it, by "
            f"--better lower (better='lower' in Python), or --better higher."
        )
