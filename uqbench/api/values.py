"""Rules of arguments, one a kind of value, for Python and for the command line.

A type says it: ``Annotated[float, Kind]``. Nothing slow is imported: ``--help`` needs it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from uqbench.contract.errors import UqbenchError

MOST = 10_000
"""The most seeds, processes or entries of a list: a zero too many takes no memory."""
LONGEST, LONGEST_NAME, LONGEST_PATH = 1000, 255, 4000
"""Characters of a name; bytes that a file system takes for a name, and for a path."""


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes:
        words: what it is, to go after *expected*.
        make: returns a value of this kind; a ValueError says more than ``words``.
    """

    words: str
    make: Callable[[Any], Any]

    def check(self, value: Any) -> Any:
        """The value; raises a ValueError in the words of what was expected."""
        try:
            return self.make(value)
        except (ValueError, TypeError, OverflowError) as error:  # of a range of 10**30, for one
            raise ValueError(str(error) if type(error) is ValueError else self.words) from None


class _NotSoError(TypeError):
    """The value is none of a kind."""


def _where(
    words: str, holds: Callable[[Any], bool], of: Callable[[Any], Any] | None = None
) -> Kind:
    """Values for which something holds, made what they shall be."""

    def make(value: Any) -> Any:
        if not holds(value):
            raise _NotSoError
        return of(value) if of else value

    return Kind(words, make)


def _number(of: type, low: float, high: float, words: str, *, above: bool = False) -> Kind:
    """Numbers from ``low``, or above it, to ``high``; NaN is none."""

    def holds(value: Any) -> bool:
        number = isinstance(value, Integral if of is int else Real) and not isinstance(value, bool)
        return number and low <= value <= high and not (above and value == low)

    return _where(words, holds, of)


def _list(words: str, of: Callable[[Any], Any], *, least: int = 1, differ: bool = False) -> Kind:
    """Lists, ranges and arrays as tuples, in which each entry is made what it shall be."""

    def make(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes | Mapping) or not least <= len(value) <= MOST:
            raise _NotSoError
        made = (*map(of, value),)
        if differ and len(set(made)) != len(made):
            raise _NotSoError
        return made

    return Kind(words, make)


def _path(value: Any) -> Any:
    """A path that a file system can have, below nothing but folders."""
    text = os.fspath(value)
    if not isinstance(text, str):
        raise _NotSoError
    if not text or "\0" in text:
        raise ValueError("a path without NUL" if text else "a path that is not empty")
    sizes = [len(part.encode(errors="surrogatepass")) for part in (text, *Path(text).parts)]
    if sizes[0] > LONGEST_PATH or max(sizes[1:], default=0) > LONGEST_NAME:
        raise ValueError(f"a path of at most {LONGEST_PATH:,} bytes, {LONGEST_NAME} a name")
    for above in Path(text).parents:
        if above.exists() and not above.is_dir():
            raise ValueError(f"a path below folders, and {above} is a file")
    return value


def _whole(low: int, most: int = MOST) -> Kind:
    """Whole numbers within a range."""
    return _number(int, low, most, f"a whole number from {low:,} to {most:,}")


def _is_name(value: Any) -> bool:
    is_text = isinstance(value, str) and len(value) <= LONGEST
    return is_text and bool(value.strip()) and "\0" not in value


_NAME = _where("a name", _is_name)
_METHOD = _where("a name", lambda value: isinstance(value, type) or _is_name(value))
_PATH = Kind("a path", _path)
Place = Annotated[str | PathLike[str], _PATH]
"""A file or a folder."""
Places = Annotated[Sequence[str | PathLike[str]], _list("a list of paths", _path, least=0)]
Name = Annotated[str, _NAME]
Names = Annotated[Sequence[str], _list("a list of names", _NAME.make)] | Name
"""Names, or one."""
Methods = Annotated[Sequence[str | type], _list("a list of names", _METHOD.make)] | Name
"""The same, or classes."""
Count = Annotated[int, _whole(1)]
Steps = Annotated[int, _whole(1, 10**12)]
_SEED = _whole(0, 2**53)
Seed = Annotated[int, _SEED]
Seeds = Annotated[
    Sequence[int], _list("a list of different numbers from 0 on", _SEED.make, differ=True)
]
Amount = Annotated[float, _number(float, 0, 1e9, "a number above 0, at most 1e9", above=True)]
Part = Annotated[float, _number(float, 0, 1, "a number above 0, at most 1", above=True)]
AmountOrNone = Annotated[float, _number(float, 0, 1e9, "a number from 0 to 1e9")]
OF_A_BATCH = {"cpus": Amount, "memory": Amount, "gpus": AmountOrNone}
"""What a batch takes: keys of the config of every executor."""


def given(name: str, value: Any, hint: Any) -> Any:
    """The value of an argument.

    Raises:
        UqbenchError: it is not of that type; says what was given and expected.
    """
    expected: list[str] = []
    for kind in _kinds(hint):
        try:
            return kind.check(value)
        except ValueError as refused:
            expected += filter(None, [str(refused)])
    raise UqbenchError(f"{name}={shown(value)}: expected {_or(expected)}.")


def read(text: str, hint: Any) -> Any:
    """The value that a text of the command line stands for.

    Args:
        text: as it was given.
        hint: ``Annotated[type, Kind]``; the type reads the text.

    Raises:
        ValueError: it is of another kind; says what was expected.
    """
    base = get_args(hint)[0]
    try:
        value = base(text) if base in (int, float) else text
    except ValueError:
        value = text
    [kind] = _kinds(hint)
    return kind.check(value)


def shown(value: object) -> str:
    """A value as it was given, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # a number of thousands of digits has none, and an object may raise anything
        return f"({type(value).__name__})"
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text):,} characters)"


def _or(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _kinds(hint: Any) -> Iterator[Kind]:
    """The kinds of values that a type allows."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from (one for one in parts if isinstance(one, Kind))
    elif origin in (Union, UnionType):
        for part in parts:
            yield from _kinds(part)
    elif origin is Literal:
        yield _where(_or(parts), lambda value: isinstance(value, str) and value in parts)
    elif origin is Mapping:
        yield _where("a dictionary", partial(_is_table, of=parts[1]))
    else:  # that None is left out goes without saying
        words = "True or False" if hint is bool else ""
        yield _where(words, lambda value: isinstance(value, hint))


def _is_table(value: Any, of: Any) -> bool:
    """Whether it is a dictionary by names, of dictionaries where the type says so."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return False
    return of is Any or all(_is_table(one, get_args(of)[1]) for one in value.values())


def names(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """One name or several, as several."""
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)
