"""Texts for messages: amounts in words, and text from elsewhere made safe to show."""

import io
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import groupby
from typing import TextIO, cast

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
    return f"{seconds / 3600:.1f} h" if seconds < 72 * 3600 else f"{seconds / 86400:.0f} days"


def visible(text: str) -> str:
    """One line of text in which every control character is written out, as ``\\x1b``."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSEEN else char
        for char in text
    )


class Printed(io.TextIOBase):
    """A stream for plugins: what they print is passed on to another, up to a size.

    Control characters, which a terminal would obey, are written out.

    Attributes:
        who: prints.
        left: characters that are still passed on.
    """

    def __init__(self, to: TextIO | None, who: str = "plugins", left: int = 1 << 16) -> None:
        self._to, self.who, self.left = to, who, left

    def write(self, text: str, /) -> int:
        """Pass a text on, or leave it out."""
        if self._to is not None and self.left:
            lines = text.expandtabs().split("\n")
            shown = "\n".join(x if x.isprintable() else visible(x) for x in lines)
            if len(shown) > self.left:
                shown = f"{shown[: self.left]}\nuqbench: more output of {self.who} is left out\n"
            self.left = max(0, self.left - len(shown))
            with suppress(OSError):  # nobody reads it
                self._to.write(shown)
        return len(text)


@contextmanager
def printed_by(who: str) -> Iterator[None]:
    """Have what is printed inside go to stderr, 64 KB of it: stdout is for results."""
    to = Printed(sys.stderr, who)
    with redirect_stdout(cast(TextIO, to)), redirect_stderr(cast(TextIO, to)):
        yield
    to.left = sys.maxsize  # a log that was set up inside goes on


def fitted(text: str, file: TextIO | None) -> str:
    """A line as it is; on a terminal wrapped at words, what goes on being set in."""
    if file is None or not file.isatty():  # None: whoever started this closed it
        return text
    width = shutil.get_terminal_size(os.get_terminal_size(file.fileno())).columns
    return textwrap.fill(
        text, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def spans(numbers: Iterable[int]) -> str:
    """``0-4,7`` for 0, 1, 2, 3, 4 and 7."""
    groups = groupby(enumerate(sorted(numbers)), key=lambda placed: placed[1] - placed[0])
    ends = [[number for _, number in span] for _, span in groups]
    return ",".join(f"{of[0]}-{of[-1]}" if len(of) > 1 else str(of[0]) for of in ends)
