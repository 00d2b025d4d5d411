"""Text from elsewhere, made visible before a terminal can obey it."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that a terminal obeys, or shows as nothing."""


def visible(text: str) -> str:
    """One line of text in which every control character is written out, as ``\\x1b``."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSEEN else char
        for char in text
    )
