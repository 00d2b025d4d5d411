"""Tables that a run keeps of what its agent stated, block by block."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from uqbench.results.columns import Columns

Block = Mapping[str, Tensor | int | str]
"""Columns ``[n]`` by name, and values that are the same in all its rows."""

CURVES = {"step": np.int64, "curve": object, "x": np.float64, "y": np.float64}
PREDICTIONS = {
    "step": np.int32, "state": np.int32, "action": np.int32, "mean": np.float32,
    "std": np.float32, "difference_std": np.float32, "truth": np.float32, "truth_se": np.float32,
    "deviation_se": np.float32, "climatology_mean": np.float32, "climatology_std": np.float32,
}  # fmt: skip
"""Columns of a run's files of these names, with their types."""


class LaneColumns:
    """A table of every lane.

    Args:
        lanes: L.
        types: of the columns, by name.
    """

    def __init__(self, lanes: int, types: Mapping[str, Any]) -> None:
        self._types = types
        self._blocks: list[list[Block]] = [[] for _ in range(lanes)]

    def add(self, lane: int, block: Block) -> None:
        """Keep a block of rows, whose tensors are on the CPU."""
        self._blocks[lane].append(block)

    def finish(self) -> list[Columns]:
        """The table of each lane."""
        return [
            {
                name: np.concatenate([np.zeros(0, kind), *(_column(b, name, kind) for b in blocks)])
                for name, kind in self._types.items()
            }
            for blocks in self._blocks
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything so far."""
        return {"lanes": [[dict(block) for block in blocks] for blocks in self._blocks]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._blocks = [list(blocks) for blocks in state["lanes"]]


def _column(block: Block, name: str, kind: Any) -> np.ndarray[Any, Any]:
    value = block[name]
    if isinstance(value, Tensor):
        return value.numpy().astype(kind)
    rows = next(len(other) for other in block.values() if isinstance(other, Tensor))
    return np.full(rows, value, kind)
