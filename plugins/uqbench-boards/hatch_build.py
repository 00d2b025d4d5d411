"""Chooses what of the leaderboards the wheel has; README.md says what is left out."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MOST_SCORES = 200_000
"""Bytes of the largest ``scores.csv.gz`` that the wheel has."""


class Boards(BuildHookInterface[Any]):
    """Adds each file that is kept to a wheel; an editable installation has those of the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what the wheel has, by where it is."""
        root = Path(self.root).parents[1]
        for path in sorted(root.glob("leaderboards/**/*.*")) if version == "standard" else ():
            large = path.name == "scores.csv.gz" and path.stat().st_size > MOST_SCORES
            if path.suffix != ".parquet" and not large:
                inside = f"uqbench_boards/{path.relative_to(root).as_posix()}"
                build_data["force_include"][str(path)] = inside
