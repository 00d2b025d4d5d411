"""Variants of a method by their values: ``dqn[learning_rate=1e-4]``.

Such a name says what was set, so that a board can hold several side by side, and plans can be made
from it again. ``--set dqn.learning_rate=1e-4,3e-4`` stands for one variant a value.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from uqbench.contract.errors import UqbenchError

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+(\([A-Za-z0-9_.-]*\))?")
"""Text that is written without quotation marks; its parentheses are a pair."""


@dataclass(frozen=True)
class Grid:
    """Several values of a setting: one variant of the method for each."""

    values: tuple[Any, ...]


def grid(*values: Any) -> Grid:
    """Several values of a setting, one variant of the method for each.

    Args:
        values: of the setting.

    Returns:
        They, to stand for a value in ``settings``.

    Raises:
        UqbenchError: there are none.

    Example:
        >>> import uqbench
        >>> settings = {"dqn": {"learning_rate": uqbench.grid(1e-4, 3e-4)}}
        >>> uqbench.run("windy-cliff", "smoke", settings=settings)  # doctest: +SKIP
    """
    if not values:
        raise UqbenchError("grid() has no values; expected some, such as grid(1e-4, 3e-4).")
    return Grid(values)


def expanded(name: str, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of a method by the names of its variants, which is its own without a grid."""
    grids = {key: value.values for key, value in settings.items() if isinstance(value, Grid)}
    fixed = {key: value for key, value in settings.items() if key not in grids}
    if not grids:
        return {name: fixed}
    variants = {}
    for values in product(*grids.values()):
        chosen = dict(zip(grids, values, strict=True))
        variants[variant_name(name, chosen)] = fixed | chosen
    return variants


def variant_name(name: str, values: Mapping[str, Any]) -> str:
    """The name of a variant with these values, ``dqn[learning_rate=1e-4,n=2]``."""
    inside = ",".join(f"{key}={_text(value)}" for key, value in values.items())
    return f"{name}[{inside}]"


def base_name(name: str) -> str:
    """The method that a name is a variant of; its own where it is none."""
    return name.partition("[")[0]


def values_of(name: str) -> dict[str, Any]:
    """The values that a variant's name says; none for other names.

    Raises:
        UqbenchError: the brackets hold something else.
    """
    base, bracket, inside = name.partition("[")
    if not bracket:
        return {}
    values: dict[str, Any] = {}
    try:
        if not inside.endswith("]"):
            raise ValueError("there is no closing bracket")
        for part in split_outside(inside[:-1]):
            key, equals, text = part.partition("=")
            if not (key and equals):
                raise ValueError(f"{part!r} is no KEY=VALUE")
            values[key.strip()] = toml_value(text)
    except ValueError as error:
        raise UqbenchError(
            f"{name!r}: expected a variant such as {base}[KEY=VALUE,KEY=VALUE]; {error}."
        ) from None
    return values


def toml_value(text: str) -> Any:
    """A value as a suite file would hold it; text that is not TOML is a string."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # not TOML, or a number too long, or nested too deeply
        return text
    return table["value"] if len(table) == 1 else text


def setting(text: str) -> Any:
    """The value of ``--set``: several values between commas are a :class:`Grid`."""
    parts = [part.strip() for part in split_outside(text)]
    if len(parts) > 1 and all(parts):
        return Grid(tuple(map(toml_value, parts)))
    return toml_value(text)


def split_outside(text: str) -> list[str]:
    """The text between commas that stand outside of brackets, parentheses and quotation marks."""
    parts, depth, quote, escaped = [""], 0, "", False
    for char in text:
        # an apostrophe, as in it's, opens none
        opens = char == '"' or (char == "'" and parts[-1].strip()[-1:] in "=[({,")
        quote = quote * (char != quote or escaped) if quote else char * opens
        escaped = char == "\\" and quote == '"' and not escaped
        depth += (char in "([{") - (char in ")]}") if not quote else 0
        if char == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _text(value: Any) -> str:
    """The shortest text that reads back as the value."""
    if isinstance(value, float):
        short = f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e+")
        return short if float(short) == value and len(short) < len(repr(value)) else repr(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value) and toml_value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
