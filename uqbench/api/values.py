"""What an argument may be: one rule a kind of value, for Python and for the command line.

A type says it: ``Annotated[float, Kind]``. Nothing slow is imported: ``--help`` needs it.
"""

from __future__ import annotations

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
"""Of seeds, processes and entries of a list: a zero too many is refused before it takes memory."""
LONGEST_NAME, LONGEST_PATH = 255, 4000
"""Bytes that a file system takes for a name, and for a path."""


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes:
        check: returns a value of this kind; raises a ValueError in the words of what it expects.
    """

    check: Callable[[Any], Any]


class _RefusedError(ValueError):
    """The value is of another kind; says what was expected."""


def _number(of: type, low: float, high: float, words: str, *, above: bool = False) -> Kind:
    def check(value: Any) -> Any:
        number: Any = value
        if isinstance(value, bool) or not isinstance(value, Integral if of is int else Real):
            raise _RefusedError(words)
        if not (low < number if above else low <= number) or not number <= high:  # or NaN
            raise _RefusedError(words)
        return of(number)

    return Kind(check)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value or len(value) > 1000:
        raise _RefusedError("a name")
    return value


def _path(value: Any) -> Any:
    """A path that a file system can have, below nothing but folders."""
    if not isinstance(value, str | PathLike) or not isinstance(text := os.fspath(value), str):
        raise _RefusedError("a path")
    if not text or "\0" in text:
        raise _RefusedError("a path without NUL" if text else "a path that is not empty")
    sizes = [len(part.encode(errors="surrogatepass")) for part in (text, *Path(text).parts)]
    if sizes[0] > LONGEST_PATH or max(sizes[1:], default=0) > LONGEST_NAME:
        raise _RefusedError(f"a path of at most {LONGEST_PATH:,} bytes, {LONGEST_NAME} a name")
    for above in Path(text).parents:
        if above.exists() and not above.is_dir():
            raise _RefusedError(f"a path below folders, and {above} is a file")
    return value


def _list(of: Callable[[Any], Any], words: str, *, least: int = 0) -> Kind:
    """A list, range or array, in which each entry is of a kind, as a tuple."""

    def check(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes | Mapping | type) or not hasattr(value, "__getitem__"):
            raise _RefusedError(words)
        try:
            length = len(value)
        except (OverflowError, TypeError):  # of a range of 10**30, of an array of no dimension
            raise _RefusedError(words) from None
        if not least <= length <= MOST:
            raise _RefusedError(words)
        try:
            return tuple(map(of, value))
        except _RefusedError:
            raise _RefusedError(words) from None

    return Kind(check)


def _different(value: Any) -> tuple[int, ...]:
    seeds: tuple[int, ...] = _SEEDS.check(value)
    if len(set(seeds)) != len(seeds):
        raise _RefusedError(_SEEDS_ARE)
    return seeds


_SEED = _number(int, 0, 2**53, "a whole number from 0 on")
_SEEDS_ARE = "a list of different numbers from 0 on"
_SEEDS = _list(_SEED.check, _SEEDS_ARE, least=1)

Place = Annotated[str | PathLike[str], Kind(_path)]
"""A file or a folder."""
Name = Annotated[str, Kind(_name)]
Names = Annotated[Sequence[str], _list(_name, "a list of names", least=1)] | Name
"""Names, or one."""
Methods = (
    Annotated[
        Sequence[str | type],
        _list(lambda one: one if isinstance(one, type) else _name(one), "a list of names", least=1),
    ]
    | Name
)
"""The same, or classes."""


def whole(low: int | None, high: int | None = None) -> Any:
    """The type of whole numbers within a range."""
    least, most = 1 if low is None else low, MOST if high is None else high
    return Annotated[int, _number(int, least, most, f"a whole number from {least:,} to {most:,}")]


Count = Annotated[int, _number(int, 1, MOST, f"a whole number from 1 to {MOST:,}")]
Steps = Annotated[int, _number(int, 1, 10**12, "a whole number from 1 to a million million")]
Seed = Annotated[int, _SEED]
Seeds = Annotated[Sequence[int], Kind(_different)]
Places = Annotated[Sequence[str | PathLike[str]], _list(_path, "a list of paths")]
Amount = Annotated[float, _number(float, 0, 1e9, "a number above 0, at most 1e9", above=True)]
AmountOrNone = Annotated[float, _number(float, 0, 1e9, "a number from 0 to 1e9")]


def given(name: str, value: Any, hint: Any) -> Any:
    """The value of an argument.

    Raises:
        UqbenchError: it is not of that type; says what was given and expected.
    """
    expected: list[str] = []
    for kind in _kinds(hint):
        try:
            return kind.check(value)
        except _RefusedError as refused:
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
        yield _where(lambda value: isinstance(value, str) and value in parts, _or(parts))
    elif origin is Mapping:
        yield _where(partial(_is_table, of=parts[1]), "a dictionary")
    else:
        words = "True or False" if hint is bool else ""  # that None is left out goes without saying
        yield _where(lambda value: isinstance(value, hint), words)


def _where(holds: Callable[[Any], bool], words: str) -> Kind:
    def check(value: Any) -> Any:
        if not holds(value):
            raise _RefusedError(words)
        return value

    return Kind(check)


def _is_table(value: Any, of: Any) -> bool:
    """Whether it is a dictionary by names, of dictionaries where the type says so."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return False
    return of is Any or all(_is_table(one, get_args(of)[1]) for one in value.values())
