"""A stored board's tables as frames: what figures and reports are made of.

They are those of :mod:`uqbench.api`: read as they are stored, held against the digests of the
manifest, nothing computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from uqbench.api.curves import stored_curves, stored_uncertainty
from uqbench.api.frames import frame
from uqbench.boards.run_boards import MANIFEST, StoredTables
from uqbench.errors import UqbenchError
from uqbench.plots.figure import NotDrawableError
from uqbench.results.files import is_linked, stored_bytes


@dataclass(frozen=True)
class BoardTables:
    """A board's tables, each when it is asked for.

    Attributes:
        stored: its folder, ``<root>/<suite>/<name>``.
    """

    stored: StoredTables

    @classmethod
    def read(cls, folder: Path) -> BoardTables:
        """A stored board.

        Raises:
            UqbenchError: there is none, or its manifest is damaged.
        """
        if not (folder / "scores.csv").is_file() or not (folder / MANIFEST).is_file():
            raise UqbenchError(
                f"{folder} is not a leaderboard's folder: expected scores.csv and {MANIFEST} in "
                f"it. uqbench leaderboard --suite NAME writes one."
            )
        board = cls(StoredTables(folder))
        try:
            board.manifest["methods"].keys(), board.manifest["budget"]["ranks"]
            board.manifest["primary_metric"]["name"], board.manifest["budget"]["name"]
        except (KeyError, TypeError, AttributeError) as error:
            raise UqbenchError(
                f"{folder / MANIFEST} is damaged: {type(error).__name__}: {error!s:.300}"
            ) from error
        return board

    @property
    def folder(self) -> Path:
        """Where it is stored."""
        return self.stored.folder

    @property
    def manifest(self) -> dict[str, Any]:
        """What the board says of itself."""
        return self.stored.manifest

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.stored.suite

    @property
    def name(self) -> str:
        """Name of the board: the budget, or a selection of its runs."""
        return self.stored.board

    @property
    def title(self) -> str:
        """Suite and name."""
        return f"{self.suite} · {self.name}"

    @property
    def ranks(self) -> bool:
        """Whether the budget can rank methods."""
        return bool(self.manifest["budget"]["ranks"])

    @property
    def ranking(self) -> str:
        """The statistic that the board is ranked by."""
        return str(self.manifest["ranks_by"])

    @property
    def primary(self) -> dict[str, Any]:
        """The metric that the board is scored by."""
        metric: dict[str, Any] = self.manifest["primary_metric"]
        return metric

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """A row a method, the best first where the budget ranks."""
        table = self._csv("leaderboard.csv", ("method", "role"))
        if self.ranks and "rank" in table:
            table = table.sort_values(["rank", "method"], kind="stable", na_position="last")
        return table.reset_index(drop=True)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row a pair of methods."""
        return self._csv("pairs.csv", ("first", "second", "improvement"))

    @cached_property
    def claims(self) -> pd.DataFrame:
        """A row a comparison of a claim."""
        return self._csv("claims.csv", ("claim", "verdict", "source"))

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """A row a method and task."""
        return self._csv("tasks.csv", ("task", "method"))

    @cached_property
    def cost(self) -> pd.DataFrame:
        """A row a method and task."""
        return self._csv("cost.csv", ("task", "method", "steps_per_s", "device_hours"))

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row a run."""
        return self._csv("scores.csv", ("task", "method", "seed", "status", "score", "run"))

    @cached_property
    def curves(self) -> pd.DataFrame:
        """``task``, ``method``, ``seed``, ``step``, ``value``, ``of``: a row a hundredth of a run.

        ``value`` is of the episodes that ended in it, ``of`` being ``return``; where none ever
        does, since the tasks are continuing, the ``reward_per_step``.
        """
        long = stored_curves([self.stored])
        if long.empty:
            raise NotDrawableError(
                f"{self.folder} has no curves.parquet, and so no learning curves: boards keep them "
                f"since they were introduced, where their runs are of environments; run the suite "
                f"again."
            )
        own = long[long["metric"] == "return"]
        if own["value"].isna().all():
            own = long[long["metric"] == "reward_per_step"]
        own = own.rename(columns={"metric": "of"}).reset_index(drop=True)
        return own[["task", "method", "seed", "step", "value", "of"]]

    @cached_property
    def uncertainty(self) -> pd.DataFrame:
        """``task``, ``method``, ``curve``, ``x``, ``y``, ``low``, ``high``, ``runs``.

        The mean over a method's runs, with its pointwise 95 % interval.
        """
        found = stored_uncertainty(self.stored)
        if found is None:
            raise NotDrawableError(
                f"{self.folder} has no curves of uncertainty: the budget does not ask for them "
                f"(docs/uncertainty.md), the methods predict none, or the board was written "
                f"before boards kept them."
            )
        return found

    @property
    def methods(self) -> list[str]:
        """The rows' names, the best first where the budget ranks."""
        return [str(name) for name in self.leaderboard["method"]]

    def bytes(self, name: str) -> bytes:
        """The contents of one of its files."""
        return stored_bytes(self.folder / name)

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return (self.folder / name).is_file()

    def _csv(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        text = self.stored.text(name)
        if text is None:
            raise NotDrawableError(f"{self.folder} has no {name}.")
        table = frame(text, str(self.folder / name))
        if not {*columns} <= {*table.columns}:
            raise UqbenchError(
                f"{self.folder / name} is damaged: expected the columns {', '.join(columns)}."
            )
        return table


def board_folders(root: Path) -> list[Path]:
    """The boards below a folder: a results folder, one of leaderboards, or a board itself.

    Raises:
        UqbenchError: there is none.
    """
    if (root / MANIFEST).is_file():
        return [root]
    place = root / "leaderboards" if (root / "leaderboards").is_dir() else root
    found = [path.parent for path in sorted(place.glob(f"*/*/{MANIFEST}"))]
    whole = [folder for folder in found if not is_linked(place, folder)]
    if not whole:
        raise UqbenchError(
            f"{root} has no leaderboards: expected SUITE/BUDGET/{MANIFEST} below it. uqbench run "
            f"writes a results folder with them."
        )
    return whole
