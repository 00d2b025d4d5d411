"""Some of a board's methods and tasks, for a figure of these alone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import unknown


@dataclass(frozen=True)
class SelectedRows:
    """A stored board whose frames have the rows of some methods and tasks.

    The order of its methods is the whole board's, so that each keeps its color.

    Attributes:
        methods_shown: empty for all.
        tasks_shown: empty for all.
    """

    board: StoredBoard
    methods_shown: Collection[str]
    tasks_shown: Collection[str]

    def __post_init__(self) -> None:
        tasks = sorted({str(task) for task in self.board.scores["task"]})
        for kind, names, known in (
            ("method", self.methods_shown, self.board.methods),
            ("task", self.tasks_shown, tasks),
        ):
            for name in names:
                if name not in known:
                    raise unknown(f"{kind} of {self.board.title}", name, known)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.board, name)
        if not isinstance(value, pd.DataFrame):
            return value
        for column in ("method", "first", "second", "task"):
            names = self.tasks_shown if column == "task" else self.methods_shown
            if names and column in value:
                value = value[value[column].isin(names)]
        return value.reset_index(drop=True)
