"""Numbers and names in figures and their text alternatives."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from uqbench.boards.tables import label

MOST_SPELLED = 12
"""Rows that a text alternative spells out."""


def number(value: float) -> str:
    """Three significant digits, at most four after the point, with a true minus; a dash for NaN."""
    if value is None or math.isnan(value):
        return "–"
    digits = 3 - (math.floor(math.log10(abs(value))) + 1) if abs(value) >= 1e-9 else 3
    text = f"{value:.{min(max(digits, 0), 4)}f}"
    return text.replace("-", "−")


def aligned(values: Iterable[float]) -> list[str]:
    """Numbers of a column, with as many digits after the point as three significant ones take."""
    numbers = list(values)
    largest = max((abs(value) for value in numbers if math.isfinite(value)), default=0.0)
    digits = 3 if largest < 10 else 2 if largest < 100 else 1 if largest < 1000 else 0
    return [
        f"{value:,.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"
        for value in numbers
    ]


def natural(name: str) -> list[str | int]:
    """Sort key: ``deepsea-4`` before ``deepsea-10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def statistic_label(name: str) -> str:
    """A statistic's name for people."""
    return label(name).replace("_", " ")


def spelled(rows: Iterable[tuple[str, float, float, float]]) -> str:
    """``a 0.50 [0.40, 0.60]; b …``."""
    listed = list(rows)
    parts = [
        f"{name} {number(value)}" + ("" if math.isnan(low) else f" [{number(low)}, {number(high)}]")
        for name, value, low, high in listed[:MOST_SPELLED]
    ]
    more = len(listed) - MOST_SPELLED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."
