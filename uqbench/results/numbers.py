"""Numbers as people write them: one reader for every file that a user hands over."""

from __future__ import annotations

import math
import re

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
