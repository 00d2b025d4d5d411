"""Typed configs of agents, environments and data sets, read from suites and from ``--set``."""

import dataclasses
import json
import sys
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Protocol, get_args, get_origin, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from uqbench.contract.errors import UqbenchError, did_you_mean


class _Scheduled:
    """Marks a number of environment steps that a short budget may scale."""


Steps = Annotated[int, _Scheduled]
"""A config field counted in environment steps: learning starts, ε decay, target sync period.

A budget with ``schedule = 0.05`` multiplies such fields by 0.05 (never below one step), so that a
method that was tuned for five million steps learns within ten thousand.
"""


class _WarmUp:
    """Marks the number of steps that a method collects before it learns."""


WarmUpSteps = Annotated[int, _Scheduled, _WarmUp]
"""The :data:`Steps` before a method's first gradient step, at most one field of a config.

What times a method's steps, or checks how it learns, need not wait for them: see
:func:`warm_up_field`.
"""


LATER = {"later": True}
"""Metadata of a config field that came after runs were made: ``field(default=1, metadata=LATER)``.

Its default is what those runs did. There it is left out of identities, so that they stay theirs.
"""


@runtime_checkable
class CountsGradientSteps(Protocol):
    """A config that knows when its method learns; the time that a run takes is estimated by it."""

    def gradient_steps(self, steps: int) -> int:
        """The number of gradient steps in a run's first ``steps`` environment steps."""


class RiskNames(Protocol):
    """Converts risk measures between their text in a suite and the measures themselves."""

    def measure(self, text: str) -> Any:
        """The :class:`~uqbench.contract.risk.RiskMeasure` of ``text``, such as ``"cvar(0.25)"``."""

    def composite(self, text: str) -> Any:
        """The :class:`uqbench.contract.risk.CompositeRisk` that ``text`` names."""

    def rule(self, text: str) -> Any:
        """The :class:`uqbench.contract.risk.DecisionRule` that ``text`` names."""

    def text(self, measure: Any) -> str:
        """The text that names a measure, a composition or a decision rule."""


def resolve(
    config: type[Any],
    table: Mapping[str, Any],
    *,
    where: str,
    schedule: float = 1.0,
    overrides: Mapping[str, Any] | None = None,
    risk_names: RiskNames | None = None,
    warm_up: int | None = None,
) -> Any:
    """Build a typed config from a table of a suite.

    Args:
        config: a dataclass; its defaults are the method's published values.
        table: keys and values from the suite, which are scaled like the defaults.
        where: the place, for error messages, e.g. ``minatar.toml: methods.dqn.config``.
        schedule: factor on the fields that are :data:`Steps`.
        overrides: the user's ``--set`` values, applied unscaled after everything else.
        risk_names: reads the fields of :mod:`uqbench.contract.risk.config`, if the config has any.
        warm_up: the most that :data:`WarmUpSteps` may be, unless ``overrides`` say so.

    Raises:
        UqbenchError: an unknown key or a value of the wrong type; names the key and what was
            expected.
    """
    if not dataclasses.is_dataclass(config):
        raise UqbenchError(f"{where}: the config type {config.__name__} is not a dataclass.")
    made = scaled(_read(config, table, where, risk_names), schedule)
    made = made if warm_up is None else at_most(made, sys.maxsize, warm_up)
    if not overrides:
        return made
    return _read(config, as_table(made, risk_names) | dict(overrides), where, risk_names)


def as_table(config: Any, risk_names: RiskNames | None = None) -> dict[str, Any]:
    """Return a config as plain JSON values, for a run's identity."""
    context = {"risk_names": risk_names}
    dumped = _adapter(type(config)).dump_python(config, mode="json", context=context)
    table: dict[str, Any] = json.loads(json.dumps(dumped))
    for field in dataclasses.fields(config):
        if "later" in field.metadata and getattr(config, field.name) == field.default:
            del table[field.name]
    return table


def _read(
    config: type[Any], table: Mapping[str, Any], where: str, risk_names: RiskNames | None
) -> Any:
    fields = {field.name for field in dataclasses.fields(config)}
    for key in table:
        if key not in fields:
            raise UqbenchError(f"{where}: unknown key {key!r}. {did_you_mean(key, fields)}")
    try:
        # JSON mode: TOML's arrays become tuples, and strict keeps "32" from passing as 32.
        text = json.dumps(dict(table), allow_nan=False)
        context = {"risk_names": risk_names}
        return _adapter(config).validate_json(text, strict=True, context=context)
    except ValidationError as error:
        raise UqbenchError(f"{where}: {explain(error)}") from None
    except (ValueError, TypeError) as error:  # not a number, or a date
        raise UqbenchError(f"{where}: {error}") from None


def _adapter(config: type[Any]) -> TypeAdapter[Any]:
    """The reader and writer of a type's configs; making it takes ten times as long as using it."""
    if config not in _adapters:
        _adapters[config] = TypeAdapter(config)
    return _adapters[config]


_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def scaled(config: Any, schedule: float) -> Any:
    """The config with every :data:`Steps` field multiplied by ``schedule``, at least one step."""
    return _with_steps(config, lambda _, steps: max(1, round(steps * schedule)))


def at_most(config: Any, steps: int, warm_up: int) -> Any:
    """The config with every :data:`Steps` field at most so long, and :data:`WarmUpSteps`."""
    if not dataclasses.is_dataclass(config):
        return config
    first = warm_up_field(config)
    return _with_steps(config, lambda name, own: min(own, warm_up if name == first else steps))


def _with_steps(config: Any, changed: Callable[[str, int], int]) -> Any:
    """The config with what each :data:`Steps` field is changed to, by its name and value."""
    values = {name: getattr(config, name) for name in _marked(type(config), _Scheduled)}  # type: ignore[arg-type]
    changes = {name: changed(name, own) for name, own in values.items() if own is not None}
    return dataclasses.replace(config, **changes)


def is_scheduled(hint: object) -> bool:
    """Whether a field's type is ``Steps``, or a union with it, such as ``Steps | None``."""
    return _is_marked(hint, _Scheduled)


@cache
def _marked(kind: type, mark: type) -> list[str]:
    """The fields of a dataclass whose types have a mark."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return [name for name, hint in hints.items() if _is_marked(hint, mark)]


def _is_marked(hint: object, mark: type) -> bool:
    if get_origin(hint) is Annotated:
        return mark in get_args(hint)
    return any(_is_marked(option, mark) for option in get_args(hint))


def warm_up_field(config: object) -> str:
    """The field of :data:`WarmUpSteps`; empty where there is none."""
    if not dataclasses.is_dataclass(config):
        return ""
    return next(iter(_marked(type(config), _WarmUp)), "")  # type: ignore[arg-type]


def explain(error: ValidationError) -> str:
    """Return pydantic's errors as one line: for each the key, the problem and the value."""
    return "; ".join(
        f"{'.'.join(str(part) for part in one['loc']) or 'value'}: {one['msg']}"
        + ("" if one["type"] == "missing" else f" (given: {one['input']!r})")
        for one in error.errors()
    )
