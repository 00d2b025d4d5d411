"""Errors that a user can act on: what was passed, what was expected, what to do."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from difflib import get_close_matches
from pathlib import Path


class UqbenchError(Exception):
    """The command cannot be carried out; the message says what to do instead."""


class UqbenchWarning(UserWarning):
    """Something was left out; the rest is done."""


class UnknownNameError(UqbenchError, KeyError):
    """There is nothing of that name; also a ``KeyError``, as lookups in a mapping raise."""

    def __str__(self) -> str:
        """The message as it is; ``KeyError`` would quote it."""
        return str(self.args[0])


class CannotSaveError(UqbenchError):
    """An object's state cannot be saved; runs that use it cannot resume from a checkpoint."""


class MissingDataError(UqbenchError):
    """A problem needs files that are not on this machine; the message says which, and where from.

    For data that no package may hold: a user puts it where the message says.
    """


class StorageError(UqbenchError):
    """A file cannot be written or read, which says nothing about its contents.

    Attributes:
        full: the disk is full, or the user's quota is used up.
    """

    def __init__(self, message: str, full: bool = False) -> None:
        super().__init__(message)
        self.full = full


def see(entry: str) -> str:
    """The reference to an entry of ``docs/errors.md`` that ends a message."""
    return f" [docs/errors.md#{entry}]"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known names, or with all of them where none is near."""
    names = sorted(set(known))
    near = get_close_matches(given, names, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(repr(name) for name in near)}?"
    return f"Known: {', '.join(names)}." if names else "There are none."


def unknown(kind: str, given: str, known: Iterable[str], of: str = "There is") -> UnknownNameError:
    """Return the error for a name that does not exist.

    Args:
        kind: a noun: the name follows it.
        given: the name.
        known: names that exist.
        of: the sentence's beginning, such as ``Suite minatar has``.
    """
    return UnknownNameError(f"{of} no {kind} {given!r}. {did_you_mean(given, known)}")


def in_words(error: BaseException) -> str:
    """The kind of an error and its message, which a plugin's may fail to give."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException as again:
        return f"{type(error).__name__} (its message cannot be made: {type(again).__name__})"


LIBRARIES = sys.stdlib_module_names | {"uqbench", "torch", "numpy", "numba", "pandas"}
"""Modules whose lines are not where the user looks for an error."""


def located(error: BaseException) -> str:
    """An error in words, with file, line and function of the last code of no library."""
    where = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__", "").partition(".")[0] not in LIBRARIES:
            code = frame.f_code
            where = f" ({Path(code.co_filename).name}:{line}, in {code.co_name})"
    return in_words(error) + where


@contextmanager
def contained(
    tell: Callable[[str], object],
    before: str = "",
    words: Callable[[BaseException], str] = in_words,
) -> Iterator[None]:
    """Tell of whatever a plugin raises inside, ``SystemExit`` too; the user's Ctrl-C passes.

    What it prints goes to stderr: stdout is for results.

    Args:
        tell: called with the error in words.
        before: said before these.
        words: says the error in words.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        tell(before + words(error))


Say = Callable[[str], None]
"""Tells the user one line that does not stop the command."""


def warn(text: str) -> None:
    """Tell it as a Python warning."""
    warnings.warn(text, UqbenchWarning, stacklevel=2)
