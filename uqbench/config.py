"""Typed settings of agents and environments, read from suites and from ``--set``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from uqbench.errors import UqbenchError, did_you_mean


class _Scheduled:
    """Marks a number of environment steps that a short budget may scale."""


Steps = Annotated[int, _Scheduled]
"""A config field counted in environment steps: replay start, ε decay, target period.

A budget with ``schedule = 0.05`` multiplies such fields by 0.05 (never below one step), so that a
method that was tuned for five million steps learns within ten thousand.
"""


def resolve(
    config: type[Any],
    settings: Mapping[str, Any],
    *,
    where: str,
    schedule: float = 1.0,
    overrides: Mapping[str, Any] | None = None,
) -> Any:
    """Make a typed config from the settings of a suite.

    Args:
        config: a dataclass; its defaults are the method's published settings.
        settings: keys and values from the suite, which are scaled like the defaults.
        where: what error messages call the place, e.g. ``minatar.toml: methods.dqn.config``.
        schedule: factor on the fields that are :data:`Steps`.
        overrides: the user's ``--set`` values, taken as they are, after the scaling.

    Raises:
        UqbenchError: an unknown key or a value of the wrong type; names key and expectation.
    """
    if not dataclasses.is_dataclass(config):
        raise UqbenchError(f"{where}: the config type {config.__name__} is not a dataclass.")
    made = scaled(_read(config, settings, where), schedule)
    if not overrides:
        return made
    return _read(config, dataclasses.asdict(made) | dict(overrides), where)


def as_table(config: Any) -> dict[str, Any]:
    """Return a config as plain JSON values, for a run's identity."""
    table: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return table


def _read(config: type[Any], settings: Mapping[str, Any], where: str) -> Any:
    fields = {field.name for field in dataclasses.fields(config)}
    for key in settings:
        if key not in fields:
            raise UqbenchError(f"{where}: unknown key {key!r}. {did_you_mean(key, fields)}")
    try:
        # JSON mode: TOML's arrays become tuples, and strict keeps "32" from passing as 32.
        text = json.dumps(dict(settings), allow_nan=False)
        return TypeAdapter(config).validate_json(text, strict=True)
    except ValidationError as error:
        raise UqbenchError(f"{where}: {explain(error)}") from None
    except (ValueError, TypeError) as error:  # not a number, or a date
        raise UqbenchError(f"{where}: {error}") from None


def scaled(config: Any, schedule: float) -> Any:
    """The config with every :data:`Steps` field multiplied, to one step at least."""
    hints = get_type_hints(type(config), include_extras=True)
    changes = {
        name: max(1, round(getattr(config, name) * schedule))
        for name, hint in hints.items()
        if _is_scheduled(hint) and getattr(config, name) is not None
    }
    return dataclasses.replace(config, **changes)


def _is_scheduled(hint: object) -> bool:
    """Whether a field's type is ``Steps``, or a union with it, such as ``Steps | None``."""
    if get_origin(hint) is Annotated:
        return _Scheduled in get_args(hint)
    return any(_is_scheduled(option) for option in get_args(hint))


def explain(error: ValidationError) -> str:
    """Return pydantic's findings as one sentence each: the key, what is wrong, what was given."""
    return "; ".join(
        f"{'.'.join(str(part) for part in found['loc']) or 'value'}: "
        f"{found['msg']} (given: {found['input']!r})"
        for found in error.errors()
    )
