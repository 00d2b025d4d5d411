"""Numbers as people write them: one reader for every file and frame that a user hands over."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError

MISSING = frozenset({"", "nan", "none", "null", "na", "n/a", "<na>", "nat"})
"""Words for no number at all."""
_DIGITS = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"([+-]?\d+),(\d+(e[+-]?\d+)?)", re.ASCII)


def number(text: str, *, commas: bool = False) -> float:
    """A number in a text; NaN where it says that there is none.

    Args:
        text: digits with a decimal point, perhaps an exponent or ``%``; or ``inf``.
        commas: whether a decimal comma is one, as beside columns that are separated by ``;``.

    Raises:
        ValueError: it is no number, as ``1_000`` and ``1,000.5`` are none.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-").lower()
    if _DIGITS.fullmatch(plain) or plain.lstrip("+-") in ("inf", "infinity"):
        return float(plain)
    if plain in MISSING:
        return math.nan
    digits = plain.removesuffix("%").rstrip()
    digits = _COMMA.sub(r"\1.\2", digits) if commas and _COMMA.fullmatch(digits) else digits
    share = plain.endswith("%")
    if not _DIGITS.fullmatch(digits) or (share and "e" in digits):
        raise ValueError(f"{text!r:.60} is no number")
    return float(f"{digits}e-2" if share else digits)


def numbers(values: Any, what: str, *, commas: bool = False) -> NDArray[np.float64]:
    """The numbers of a column, exactly; NaN where there is none.

    Args:
        values: typed numbers, or texts.
        what: it is, for errors.
        commas: see :func:`number`.

    Raises:
        UqbenchError: one is no number, is complex, or some are percentages and some are not.
    """
    column = pd.Series(values)
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    codes, texts = pd.factorize(column.map(str))
    read = []
    for text in texts:
        try:
            read.append(number(text, commas=commas))
        except ValueError as error:
            hint = ": decimal commas are read where ; separates the columns" * (
                "," in text
            ) or ": a complex one has no order" * (text.rstrip(") ")[-1:] in "jJ")
            raise UqbenchError(f"{what} {error}{hint}.") from None
    given = [text.strip() for text, value in zip(texts, read, strict=True) if not math.isnan(value)]
    if len({text.endswith("%") for text in given}) > 1:
        raise UqbenchError(f"{what}: some are percentages, some are not: expected one of them.")
    return np.array(read, np.float64)[np.asarray(codes, np.intp)]
