"""Numbers and names in figures and their text alternatives."""

import math
import re
from collections.abc import Iterable

import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import label

MOST_SPELLED = 12
"""Rows that a text alternative spells out."""


def number(value: float) -> str:
    """Three significant digits, at most four after the point, with a true minus; a dash for NaN."""
    if value is None or math.isnan(value):
        return "–"
    digits = 3 - (math.floor(math.log10(abs(value))) + 1) if abs(value) >= 1e-9 else 3
    return f"{value:.{min(max(digits, 0), 4)}f}".replace("-", "−")


def natural(name: str) -> list[str | int]:
    """Sort key: ``deepsea-4`` before ``deepsea-10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def spoken(name: str) -> str:
    """A program's name as people write it: ``space invaders``; ``bonus-0_1`` is one."""
    words = re.sub(r"(?<=[a-z\d])_(?=[a-z])", " ", label(name))
    return re.sub(r"\bcvar(?=\d)", "CVaR 0.", words)


def titled(name: str) -> str:
    """A program's name as the title of a panel: ``Space Invaders``."""
    return " ".join(word[:1].upper() + word[1:] for word in spoken(name).split())


def score_label(board: StoredBoard) -> str:
    """The score that a board ranks by: ``mean score (late return)``."""
    return f"{spoken(board.ranking)} score ({spoken(board.primary['name'])})"


def said(names: pd.Series, numbers: pd.DataFrame) -> list[str]:
    """Texts of marks that are pointed at, a row each: its name, an estimate, low and high."""
    return [spelled([row]) for row in zip(names, *(numbers[of] for of in numbers), strict=True)]


def spelled(rows: Iterable[tuple[str, float, float, float]]) -> str:
    """``a 0.50 [0.40, 0.60]; b …``."""
    listed = list(rows)
    parts = [
        f"{name} {number(value)}" + ("" if math.isnan(low) else f" [{number(low)}, {number(high)}]")
        for name, value, low, high in listed[:MOST_SPELLED]
    ]
    more = len(listed) - MOST_SPELLED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."
