"""A stored leaderboard: a folder, what its files say, and the board that its scores make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uqbench.boards.calibration import with_words
from uqbench.boards.headline import Told
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import MANIFEST, Manifest, Planned, read_manifest
from uqbench.boards.protocol import departures, versions_here
from uqbench.boards.provenance import MadeWith, read_provenance
from uqbench.boards.scores import check_scores, from_csv, metric_names
from uqbench.boards.submitted import NAME, Submitted, read_submitted, reseeded, states
from uqbench.boards.tables import read
from uqbench.contract.errors import Say, UqbenchError, see, warn
from uqbench.contract.figure import NotDrawableError
from uqbench.results.files import reading, stored_text, unpacked
from uqbench.results.folders import Folder
from uqbench.results.store import BOARDS
from uqbench.results.tables import MOST_BYTES, parse_table
from uqbench.suites.controls import OF_PREDICTIONS, with_controls
from uqbench.suites.plan import board_title
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    import pandas as pd

    from uqbench.registry.plugins import Host
    from uqbench.suites.plan import Plan
    from uqbench.suites.suite import Suite

PROVENANCE, PAGE = "made_with.json", "README.md"
CURVES, UNCERTAINTY = "curves.parquet", "uncertainty.parquet"
SCORES, PACKED = "scores.csv", "scores.csv.gz"
"""The scores as they follow from the runs, and as a board's folder keeps them; some of earlier
boards are not compressed."""
RECORDED = ("cost.csv", PROVENANCE, "papers.bib", "errors.csv", NAME, CURVES, UNCERTAINTY)
"""The files of a board that do not follow from its scores."""
EARLIER_VERDICTS = {
    **dict.fromkeys(("not reproduced", "equal"), "does not hold"),
    **dict.fromkeys(("depends on the reading", "undecided", "not judged"), "open"),
    "not applicable": "not run",
}
"""Words for verdicts in files of earlier versions, and what they are called now."""
LEFT_OUT = (SCORES, CURVES, UNCERTAINTY)
"""What a copy of a board may be without; its tables are those of the whole board."""


def _table(name: str, *columns: str) -> cached_property[pd.DataFrame]:
    """A CSV file of a stored board, which has these columns, as a frame."""
    return cached_property(lambda board: board.frame(name, *columns))


@dataclass(frozen=True)
class StoredBoard:
    """A leaderboard's folder; each file is read when it is asked for.

    Frames are of the CSV files as they are stored, held against the digests of the manifest.

    Attributes:
        at: ``<root>/<suite>/<name>``.
        shown: the only methods and tasks that frames have rows of, as for a figure of these
            alone; empty for all. The order of :attr:`methods`, and so their colors, stays.
        names: what frames and the finding call methods; those without one as the files do.
    """

    at: Folder
    shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    names: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def read(cls, folder: Folder | Path) -> StoredBoard:
        """A board, once its manifest is read.

        Raises:
            UqbenchError: there is none, or its manifest is damaged.
        """
        stored = cls(folder if isinstance(folder, Folder) else board_at(folder))
        if not stored.has(MANIFEST):
            below = ", ".join(str(at.path) for at in _folders(stored.at) if at.has(MANIFEST))
            there = f"Boards below it: {below}." if below else "uqbench leaderboard writes one."
            raise UqbenchError(
                f"{folder} is not a leaderboard's folder: expected {MANIFEST} in it. {there}"
            )
        _ = stored.manifest
        return stored

    @property
    def folder(self) -> Path:
        """Its path, for messages."""
        return self.at.path

    @cached_property
    def manifest(self) -> Manifest:
        """The board's ``manifest.json``.

        Raises:
            UqbenchError: there is none, or it is damaged.
        """
        return read_manifest(self.unchecked(MANIFEST), str(self.folder / MANIFEST))

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.manifest.suite["name"]

    @property
    def name(self) -> str:
        """Name of the board: the budget, or a selection of its runs."""
        return self.folder.name

    @property
    def title(self) -> str:
        """Suite and budget, and whether it is of a selection."""
        return board_title(self.suite, self.name)

    @property
    def ranks(self) -> bool:
        """Whether the budget can rank methods."""
        return self.manifest.budget["ranks"]

    @property
    def ranking(self) -> str:
        """The statistic that the board is ranked by."""
        return self.manifest.ranks_by

    @property
    def primary(self) -> Mapping[str, Any]:
        """The metric that the board is scored by: ``name``, ``summary``, …."""
        return self.manifest.primary_metric

    @property
    def configs(self) -> Mapping[str, Mapping[str, Any]]:
        """By ``task/method``: ``agent`` or ``estimator``, ``version``, ``config``."""
        return self.manifest.methods

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return self.at.has(name) or (name == SCORES and self.at.has(PACKED))

    def unchecked(self, name: str) -> bytes:
        """The contents of a file, whatever the manifest lists.

        Raises:
            UqbenchError: it is not a regular file, too large, or cannot be read.
            NotDrawableError: it is one that copies of boards leave out.
        """
        if name in LEFT_OUT and not self.has(name):
            raise NotDrawableError(
                f"{self.folder} has tables alone, no {name}; leaderboards/ of a clone is whole."
            )
        name = PACKED if name == SCORES and self.at.has(PACKED) else name
        try:
            data = self.at.read(name, MOST_BYTES)
            return unpacked(data) if name == PACKED else data
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            where = self.folder / name
            raise UqbenchError(f"{where} is damaged, because it cannot be read: {why}") from error

    def checked(self, name: str) -> bytes:
        """The contents of a file.

        Raises:
            UqbenchError: it is not the one that the manifest lists, or cannot be read.
        """
        data = self.unchecked(name)
        if sha256(data).hexdigest() != self.manifest.sha256.get(name, sha256(data).hexdigest()):
            raise UqbenchError(
                f"{self.folder / name} does not match its digest in {MANIFEST}: it was edited, or "
                f"cut; write the board again."
            )
        return data

    def table(self, name: str) -> pd.DataFrame | None:
        """A CSV file as a frame; None where the board has none of that name.

        Raises:
            UqbenchError: it is damaged, or these are the scores and this copy has none.
        """
        if name != SCORES and not self.has(name):
            return None
        where = self.folder / name
        table = read(stored_text(self.checked(name), where), str(where))
        if name == "claims.csv" and "verdict" in table:
            return table.replace({"verdict": EARLIER_VERDICTS})
        return with_words(table) if name == "leaderboard.csv" and "method" in table else table

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """A row a method, the best first where the budget ranks."""
        return self._shown(self._whole)

    @cached_property
    def _whole(self) -> pd.DataFrame:
        """The leaderboard with every method."""
        table = self._stored("leaderboard.csv", "method", "role")
        if self.ranks and "rank" in table:
            table = table.sort_values(["rank", "method"], kind="stable", na_position="last")
        return table.reset_index(drop=True)

    @property
    def finding(self) -> str:
        """The headline of the board: who is best, and whom to trust."""
        return self.told.headline

    @cached_property
    def told(self) -> Told:
        """The frames that its sentences are made of."""
        tasks, of = self._stored("tasks.csv", "task", "method"), self.primary
        return Told(self._whole, self.ranking, self.ranks, tasks, (of["name"], of["direction"]))

    @property
    def methods(self) -> list[str]:
        """The rows' names, the best first where the budget ranks."""
        return [str(name) for name in self._whole["method"]]

    pairs = _table("pairs.csv", "first", "second", "improvement")
    """A row a pair of methods."""
    claims = _table("claims.csv", "claim", "verdict", "source")
    """A row a comparison of a claim."""
    tasks = _table("tasks.csv", "task", "method")
    """A row a method and task."""
    cost = _table("cost.csv", "task", "method", "steps_per_s", "device_hours")
    """A row a method and task."""
    scores = _table(SCORES, "task", "method", "seed", "status", "score", "run")
    """A row a run."""

    @cached_property
    def curve_points(self) -> pd.DataFrame | None:
        """``task``, ``method``, ``step``, ``metric``, ``value``, ``low``, ``high``, ``runs``.

        As :func:`~uqbench.boards.curves.learning_curves` says; None without curves.
        """
        if not self.has(CURVES) and CURVES not in self.manifest.sha256:
            return None
        names = dict.fromkeys(("task", "method", "metric"), object)
        return self._parquet(CURVES, names | dict.fromkeys(("value", "low", "high"), float))

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The points of its learning curves.

        Raises:
            NotDrawableError: the board keeps none.
        """
        if self.curve_points is None:
            raise NotDrawableError(
                f"{self.folder} has no {CURVES}, and so no learning curves: boards keep them "
                f"since they were introduced, where their runs are of environments; run the suite "
                f"again."
            )
        return self.curve_points

    @cached_property
    def uncertainty(self) -> pd.DataFrame:
        """``task``, ``method``, ``curve``, ``x``, ``y``, ``low``, ``high``, ``runs``.

        The mean over a method's runs, with its pointwise 95 % interval.

        Raises:
            NotDrawableError: the board keeps none.
        """
        if not self.has(UNCERTAINTY) and UNCERTAINTY not in self.manifest.sha256:
            raise NotDrawableError(
                f"{self.folder} has no curves of uncertainty: the budget does not ask for them "
                f"(docs/uncertainty.md), the methods predict none, or the board was written "
                f"before boards kept them."
            )
        kinds = dict.fromkeys(("task", "method", "curve"), object)
        kinds |= dict.fromkeys(("x", "y", "low", "high", "runs"), float)
        return self._parquet(UNCERTAINTY, kinds)

    @property
    def provenance(self) -> tuple[list[MadeWith], str]:
        """Provenance of its runs, and the packages that were older than the code installed then."""
        return read_provenance(self.unchecked(PROVENANCE) if self.has(PROVENANCE) else None)

    @property
    def submitted(self) -> dict[str, Submitted]:
        """By method, the rows that others submitted.

        Raises:
            UqbenchError: ``submissions.json`` is damaged.
        """
        return read_submitted(self.unchecked(NAME) if self.has(NAME) else None)

    @property
    def recorded(self) -> dict[str, bytes]:
        """Its files that do not follow from the scores, by name."""
        return {name: self.unchecked(name) for name in RECORDED if self.has(name)}

    def departures(self, suite: Suite, versions: Mapping[str, str]) -> list[str]:
        """Changes of its suite since it was written, as :func:`departures`, and metrics that went.

        Args:
            suite: as it is installed.
            versions: of what is installed; see :func:`versions_here`.
        """
        changed = departures(self.manifest, suite, versions)
        if self.manifest.imported is None and self.has(SCORES):
            header = stored_text(self.unchecked(SCORES), self.folder / SCORES).partition("\n")[0]
            names = {*metric_names(header.split(",")).values()}
            of = [metric.statistic for metric in suite.metrics]
            known = (
                with_controls(suite.metrics, dict.fromkeys(of, kind)) for kind in OF_PREDICTIONS
            )
            gone = sorted(names.difference(metric.name for some in known for metric in some))
            changed += [f"there is no metric {', '.join(gone)} any more"] * bool(gone)
        return changed

    def board(self, plan: Plan, selection: Selection, host: Host, say: Say = warn) -> Board:
        """The board that its scores make, of the suite as it is installed.

        Args:
            plan: of all methods that are installed.
            selection: that the plan is of.
            host: the plugins.
            say: called with the methods that the board lacks.

        Returns:
            A board of the stored methods alone; others may be installed here.

        Raises:
            UqbenchError: it is of an earlier protocol, or its scores are not those of the plan and
                of its own manifest.
        """
        path = self.folder / SCORES
        if not self.has(path.name) and not self.has(MANIFEST):
            suite, root = plan.suite.name, self.folder.parents[1]
            own = [at.names[-1] for at in boards_below(Folder(root)) if at.names[-2] == suite]
            raise UqbenchError(
                f"There is no {self.folder}. In {root} {suite} has: {', '.join(own) or 'none'}"
                f"; uqbench run --suite {suite} --budget {plan.budget_name} makes a board."
            )
        scores = from_csv(stored_text(self.unchecked(SCORES), path), str(path))
        planned = None
        if self.has(MANIFEST):  # a check says where there is none
            if changed := self.departures(plan.suite, versions_here(host)):
                raise UqbenchError(
                    f"{self.folder} is of an earlier protocol: {'; '.join(changed)}. It is kept as "
                    f"it was written; tox -e leaderboard-{plan.suite.name}-{plan.budget_name} runs "
                    f"it again.{see('earlier-protocol')}"
                )
            planned = self.manifest.planned
            if lacking := planned.without_rows(scores):
                raise UqbenchError(
                    f"{path} has no rows of {', '.join(lacking[:5])}"
                    f"{' …' if len(lacking) > 5 else ''}, which {MANIFEST} lists: restore them, or "
                    f"write the board again from its runs."
                )
        if methods := tuple(sorted({cell.method for cell in scores.cells})):
            standard, here = plan.standard, {cell.method.name for cell in plan.cells}
            if here != {*methods}:
                plan = replace(selection, methods=methods).plan(host, "cpu", say)
            if absent := sorted(here - {*methods}):
                say(
                    f"uqbench: {self.folder} has no runs of {', '.join(absent)}, which the suite "
                    f"has here: not judged."
                )
            seeds = {of.method: of.seeds for of in scores.cells if of.method in self.submitted}
            plan = replace(reseeded(plan, seeds), standard=standard)
        check_scores(scores, plan, str(path))
        made_by = (self.manifest.score_versions or {}) if self.has(MANIFEST) else {}
        dated = any(metric.margin for metric in plan.suite.metrics)
        began = min((one.first for one in self.provenance[0]), default="") if dated else ""
        of = planned or Planned.of(plan)
        sent = states(self.submitted)
        return Board(plan, scores, of, submitted=sent, made_by=made_by, first_run=began)

    def frame(self, name: str, *columns: str) -> pd.DataFrame:
        """A CSV file that is to have some columns, as a frame of the methods and tasks shown.

        Raises:
            NotDrawableError: the board has no file of that name.
            UqbenchError: it is damaged.
        """
        return self._shown(self._stored(name, *columns))

    def _stored(self, name: str, *columns: str) -> pd.DataFrame:
        table = self.table(name)
        if table is None:
            raise NotDrawableError(f"{self.folder} has no {name}.")
        if not {*columns} <= {*table.columns}:
            raise UqbenchError(
                f"{self.folder / name} is damaged: expected the columns {', '.join(columns)}."
            )
        return self._named(table)

    def _parquet(self, name: str, kinds: Mapping[str, type]) -> pd.DataFrame:
        """A file of curves, with these types of columns."""
        where = str(self.folder / name)
        table = parse_table(self.checked(name), where).to_pandas()
        with reading(where, KeyError, ValueError, TypeError):
            return self._shown(self._named(table.astype(kinds)))

    def _named(self, table: pd.DataFrame) -> pd.DataFrame:
        names, kinds = self.names, {"method", "first", "second"} & {*table}
        return table.assign(**{k: table[k].map(lambda n: names.get(n, n)) for k in kinds})

    def _shown(self, table: pd.DataFrame) -> pd.DataFrame:
        methods, tasks = [self.names.get(name, name) for name in self.shown[0]], self.shown[1]
        for column in {"method", "first", "second", "task"} & {*table}:
            if names := tasks if column == "task" else methods:
                table = table[table[column].isin(names)]
        return table.reset_index(drop=True)


def board_folder(plan: Plan, root: Folder) -> Folder:
    """The folder of a plan's leaderboard."""
    return root.below(plan.suite.name, plan.name)


def board_at(path: Path) -> Folder:
    """The folder of a board that the user named."""
    path = path.absolute()
    names = path.parts[1:][-2:]  # fewer just below the root of the file system
    return Folder(path.parents[len(names) - 1] if names else path, names)


def boards_below(root: Folder) -> list[Folder]:
    """The boards below a folder of leaderboards; none that a link leads to."""
    return [own for at in _folders(root) for own in _folders(at) if own.has(MANIFEST)]


def board_folders(root: Path) -> list[Folder]:
    """The boards below a folder: a results folder, one of leaderboards, or a board itself."""
    if Folder(root).has(MANIFEST):
        return [board_at(root)]
    return boards_below(Folder(root, (BOARDS,) * Folder(root).has(BOARDS)))


def _folders(folder: Folder) -> list[Folder]:
    try:
        kinds = folder.kinds()
    except OSError:
        return []
    shown = (name for name, kind in sorted(kinds.items()) if kind == "folder" and name[0] != ".")
    return [folder.below(name) for name in shown]
