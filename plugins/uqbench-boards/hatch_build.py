"""The files of the wheel: every board's tables, and what of the rest is small."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CURVES = ("curves.parquet", "uncertainty.parquet")
SCORES, MOST_BYTES = "scores.csv.gz", 190_000


class Boards(BuildHookInterface[Any]):
    """Adds the boards without curves, and without the scores of more than ``MOST_BYTES``."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files."""
        boards = Path(self.root).parents[1] / "leaderboards"
        for path in sorted(boards.rglob("*")):
            large = path.name == SCORES and path.stat().st_size > MOST_BYTES
            if path.is_file() and path.name not in CURVES and not large:
                place = path.relative_to(boards)
                build_data["force_include"][str(path)] = f"uqbench_boards/leaderboards/{place}"
