"""What commands print: text from elsewhere is made visible before a terminal can obey it."""

from __future__ import annotations

import unicodedata

import click

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that a terminal obeys, or shows as nothing."""


def visible(text: str) -> str:
    """One line of text in which every control character is written out, as ``\\x1b``."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSEEN else char
        for char in text
    )


def say(*lines: str, err: bool = False, bold: bool = False) -> None:
    """Print lines, each of them a line whatever is in it."""
    for line in lines:
        click.echo(click.style(visible(line), bold=True) if bold else visible(line), err=err)
