"""Amounts in words, for messages."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``, ``2 processes``."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number} {noun}{ending}"


def duration(seconds: float) -> str:
    """A time span for people: ``45 s``, ``7 min``, ``3.2 h``, ``12 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 72 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
