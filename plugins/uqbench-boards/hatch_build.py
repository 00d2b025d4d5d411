"""Chooses what of the leaderboards the wheel has; README.md says what is left out."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Boards(BuildHookInterface[Any]):
    """Adds each file that is kept to a wheel; an editable installation has those of the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what the wheel has, by where it is."""
        root = Path(self.root).parents[1]
        for path in sorted(root.glob("leaderboards/**/*.*")) if version == "standard" else ():
            if path.suffix != ".parquet":
                inside = f"uqbench_boards/{path.relative_to(root).as_posix()}"
                build_data["force_include"][str(path)] = inside
