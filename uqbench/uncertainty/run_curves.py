"""Curves that a run keeps for pictures, as one long table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from uqbench.results.columns import Columns
from uqbench.uncertainty.query_scores import Curve


class CurveColumns:
    """Columns ``step``, ``curve``, ``x``, ``y`` of every lane."""

    def __init__(self, lanes: int) -> None:
        self._rows: list[list[tuple[int, str, Curve]]] = [[] for _ in range(lanes)]

    def add(self, lane: int, step: int, curves: Mapping[str, Curve]) -> None:
        """Keep a lane's curves after ``step`` steps."""
        self._rows[lane] += [(step, name, (x.cpu(), y.cpu())) for name, (x, y) in curves.items()]

    def finish(self) -> list[Columns]:
        """The table of each lane."""
        return [_columns(rows) for rows in self._rows]

    def state_dict(self) -> dict[str, Any]:
        """Everything so far."""
        return {
            "lanes": [
                [{"step": step, "curve": name, "x": x, "y": y} for step, name, (x, y) in rows]
                for rows in self._rows
            ]
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._rows = [
            [(one["step"], one["curve"], (one["x"], one["y"])) for one in rows]
            for rows in state["lanes"]
        ]


def _columns(rows: Sequence[tuple[int, str, Curve]]) -> Columns:
    lengths = [len(x) for _, _, (x, _) in rows]
    xs = [x for _, _, (x, _) in rows]
    ys = [y for _, _, (_, y) in rows]
    empty = [torch.zeros(0, dtype=torch.float64)]
    return {
        "step": np.repeat(np.array([step for step, _, _ in rows], np.int64), lengths),
        "curve": np.repeat(np.array([name for _, name, _ in rows], object), lengths),
        "x": torch.cat(xs or empty).numpy(),
        "y": torch.cat(ys or empty).numpy(),
    }
