"""A stored board's tables as frames: what figures and reports are made of.

Everything is read as it is stored, without following links; nothing is computed again. Text stays
text, whatever it spells; numbers are numbers, and NaN where a cell is empty or ``none``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from uqbench.errors import UqbenchError
from uqbench.plots.figure import NotDrawableError
from uqbench.results.files import stored_bytes

TEXT = frozenset({
    "method", "role", "beats_trivial", "stored_in", "pareto", "first", "second", "task", "device",
    "claim", "verdict", "reason", "budget", "needs_budget", "kind", "comparison", "group",
    "statistic", "comparison_is", "readings", "calibrated_on", "sentence", "source", "status",
    "run", "digest", "results_digest", "content",
})  # fmt: skip
"""Columns of a board's tables that hold text; all others hold numbers."""
ROLES = ("method", "trivial", "oracle")


@dataclass(frozen=True)
class BoardTables:
    """A board: its folder, and its tables as they are asked for.

    Attributes:
        folder: ``<root>/<suite>/<name>``.
        manifest: ``manifest.json``.
    """

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def read(cls, folder: Path) -> BoardTables:
        """A stored board.

        Raises:
            UqbenchError: there is none, or its manifest is damaged.
        """
        path = folder / "manifest.json"
        if not (folder / "scores.csv").is_file() or not path.is_file():
            raise UqbenchError(
                f"{folder} is not a leaderboard's folder: expected scores.csv and manifest.json in "
                f"it. uqbench leaderboard --suite NAME writes one."
            )
        try:
            manifest = json.loads(stored_bytes(path))
            manifest["suite"]["name"], manifest["methods"].keys(), manifest["budget"]["ranks"]
            manifest["primary_metric"]["name"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UqbenchError(
                f"{path} is damaged: {type(error).__name__}: {error!s:.300}"
            ) from error
        return cls(folder, manifest)

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.folder.parent.name

    @property
    def name(self) -> str:
        """Name of the board: the budget, or a selection of its runs."""
        return self.folder.name

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
        return str(self.manifest.get("ranks_by", "iqm"))

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
        """A row a hundredth of a run."""
        return self._parquet(
            "curves.parquet",
            ("task", "method", "seed", "step", "return"),
            "learning curves: boards keep them where their runs are of environments, and since "
            "they were introduced; run the suite again",
        )

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
        if not self.has(name):
            raise NotDrawableError(f"{self.folder} has no {name}.")
        try:
            table = pd.read_csv(
                io.BytesIO(stored_bytes(self.folder / name)), dtype=str, keep_default_na=False
            )
            if not {*columns} <= {*table.columns}:
                raise ValueError(f"expected the columns {', '.join(columns)}")
            for column in table.columns:
                if column not in TEXT:
                    cells = table[column].mask(table[column].isin(["", "none"]))
                    table[column] = pd.to_numeric(cells)
        except (ValueError, pd.errors.ParserError) as error:
            raise UqbenchError(
                f"{self.folder / name} is damaged, because {error!s:.300}"
            ) from error
        return table

    def _parquet(self, name: str, columns: Sequence[str], lacks: str) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self.has(name):
            raise NotDrawableError(f"{self.folder} has no {name}, and so no {lacks}.")
        try:
            table = pq.read_table(io.BytesIO(stored_bytes(self.folder / name))).to_pandas()
        except pa.ArrowException as error:
            raise UqbenchError(f"{self.folder / name} is damaged, because {error}") from error
        if not {*columns} <= {*table.columns}:
            raise UqbenchError(
                f"{self.folder / name} is damaged: expected the columns {', '.join(columns)}."
            )
        text = {c: table[c].astype(str) for c in ("task", "method") if c in table}
        return table.assign(**text)


def board_folders(root: Path) -> list[Path]:
    """The boards below a folder: a results folder, one of leaderboards, or a board itself.

    Raises:
        UqbenchError: there is none.
    """
    if (root / "manifest.json").is_file():
        return [root]
    places = [root / "leaderboards"] if (root / "leaderboards").is_dir() else [root]
    found = [
        path.parent
        for place in places
        for path in sorted(place.glob("*/*/manifest.json"))
        if not path.parent.is_symlink()
    ]
    if not found:
        raise UqbenchError(
            f"{root} has no leaderboards: expected SUITE/BUDGET/manifest.json below it. "
            f"uqbench run writes a results folder with them."
        )
    return found
