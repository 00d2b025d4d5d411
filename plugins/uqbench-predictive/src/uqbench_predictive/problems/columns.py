"""Columns of a frame as numbers, and a target as classes or values; what was done is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from uqbench.contract.errors import UqbenchError

Kind = Literal["classification", "regression"]
LEVELS = 20
"""Texts of a column that become a column each; a column of more is left out."""
WHOLE = 10
"""Whole numbers of a target, at most, that look like classes."""
CLASSES = 30
"""Classes of a target, at most."""
RARE = 10
"""Rows of a class below which it is named."""
DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Columns:
    """Inputs as numbers.

    Attributes:
        values: ``[N, D]``; NaN where one is missing.
        names: of the D columns.
        notes: a sentence on each column that is not what it was.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """A target as numbers.

    Attributes:
        values: int64 classes, or float32 values, ``[N]``.
        n_classes: C; 0 for values.
        notes: how its kind was found, and which classes are rare.
    """

    values: NDArray[np.generic]
    n_classes: int
    notes: tuple[str, ...]


def numbers(frame: pd.DataFrame, where: str) -> Columns:
    """The columns of a frame as numbers.

    Numbers and bools are themselves, with a further column that is 1 where one is missing. Dates
    are days since the first. Text is a column of 0 and 1 a level (one for two levels), a missing
    one a level of its own; of more than twenty levels it is left out. What does not vary is left
    out.

    Raises:
        UqbenchError: a column is of another type, or infinite, or none is left.
    """
    made: dict[str, NDArray[np.float64]] = {}
    notes = []
    for label, column in frame.items():
        name, gone = str(label), int(column.isna().sum())
        column = _dated(column)
        if column.map(lambda cell: isinstance(cell, list | dict | np.ndarray)).any():
            raise UqbenchError(f"{name}: expected a number, a date or text in a cell; got lists.")
        if column.nunique(dropna=False) < 2:
            notes.append(f"{name}: does not vary; left out")
        elif types.is_datetime64_any_dtype(column):
            days = (column - column.min()) / DAY
            made[name] = days.to_numpy(np.float64)
            notes.append(f"{name}: a date; days since the first")
        elif types.is_numeric_dtype(column) and not types.is_complex_dtype(column):
            made[name] = column.astype("float64").to_numpy(np.float64)
            if np.isinf(made[name]).any():
                raise UqbenchError(
                    f"{where}: column {name!r} has infinite numbers; expected finite ones, or "
                    f"none where one is missing."
                )
        elif _is_text(column):
            texts = column.astype("object").where(column.notna(), "(missing)").astype(str)
            levels = sorted(texts.unique())
            if len(levels) > LEVELS:
                notes.append(
                    f"{name}: {len(levels)} different texts; left out (at most {LEVELS} become "
                    f"columns; where rows of one text belong together: --groups {name})"
                )
                continue
            kept = levels[1:] if len(levels) == 2 else levels
            made |= {f"{name}={level}": (texts == level).to_numpy(np.float64) for level in kept}
            notes.append(
                f"{name}: text; {len(kept)} columns of 0 and 1"
                if kept[1:]
                else f"{name}: text; 1 is {kept[0]}"
            )
            continue
        else:
            raise UqbenchError(
                f"{where}: column {name!r} is of type {column.dtype}; expected numbers, bools, "
                f"text or dates: convert it, or leave it out."
            )
        if gone and name in made:
            made[f"{name} missing"] = column.isna().to_numpy(np.float64)
            notes.append(f"{name}: {gone} missing; the mean there, and a column that says where")
    if not made:
        raise UqbenchError(f"{where}: no column is left to predict from: {'; '.join(notes)}.")
    return Columns(np.stack([*made.values()], 1), tuple(made), tuple(notes))


def target_numbers(column: pd.Series, kind: Kind | None, where: str) -> Target:
    """A target as classes or values.

    Text, bools, categories and at most ten whole numbers are classes, other numbers values, unless
    ``kind`` says otherwise.

    Raises:
        UqbenchError: it does not vary, is a date, has too many classes or infinite values, or is
            text and said to be values.
    """
    name, levels = str(column.name), int(column.nunique())
    if kind is not None and kind not in get_args(Kind):
        raise UqbenchError(f"kind: expected {' or '.join(get_args(Kind))}, got {kind!r}.")
    if levels < 2:
        raise UqbenchError(f"{where}: the target {name!r} has one value; expected it to vary.")
    text, few = _is_text(column) or types.is_bool_dtype(column), levels <= WHOLE
    if not text and not (types.is_numeric_dtype(column) and not types.is_complex_dtype(column)):
        raise UqbenchError(
            f"{where}: the target {name!r} is of type {column.dtype}; expected numbers, or text or "
            f"bools for classes."
        )
    if kind == "regression" and _is_text(column):
        raise UqbenchError(f"{where}: the target {name!r} is text; expected numbers for values.")
    whole = not text and bool((column % 1 == 0).all())
    found: Kind = "classification" if text or (whole and few) else "regression"
    said = kind or found
    if said == "regression":
        values = column.to_numpy(np.float64)
        if not np.isfinite(values).all():
            raise UqbenchError(f"{where}: the target {name!r} has infinite numbers.")
        return Target(values, 0, (f"{name}: a regression",))
    if levels > CLASSES:
        raise UqbenchError(
            f"{where}: the target {name!r} has {levels} classes; expected at most {CLASSES}"
            + ("." if text else ", or --kind regression.")
        )
    codes, classes = pd.factorize(column, sort=True)
    counts = np.bincount(codes)
    own = f"{name}: a classification, {levels} classes"
    doubt = "" if text or kind else " (whole numbers; --kind regression makes them values)"
    rare = [f"{classes[k]} ({counts[k]})" for k in range(levels) if counts[k] < RARE]
    few_rows = [f"{name}: classes of fewer than {RARE} rows: {', '.join(rare)}"] if rare else []
    return Target(codes.astype(np.int64), levels, (own + doubt, *few_rows))


def _is_text(column: pd.Series) -> bool:
    """Whether a column is of text or categories; bools are numbers."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    known = column.dropna()
    return not types.is_numeric_dtype(column) and (
        types.is_string_dtype(known) or known.map(lambda x: isinstance(x, str | bool)).all()
    )


def _dated(column: pd.Series) -> pd.Series:
    """The column as dates, where it is text that all is one (ISO 8601, with day and month)."""
    known = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype) or not len(known) or not _is_text(column):
        return column
    if not known.astype(str).str.fullmatch(r"\d{4}-\d{2}-\d{2}.*").all():
        return column
    dates = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
    return column if dates.isna().sum() > column.isna().sum() else dates
