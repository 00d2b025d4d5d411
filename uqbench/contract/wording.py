"""Texts for messages: amounts in words, and text from elsewhere made safe to show."""

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that a terminal obeys, or shows as nothing."""


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


def visible(text: str) -> str:
    """One line of text in which every control character is written out, as ``\\x1b``."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSEEN else char
        for char in text
    )
