"""Risk measures by name, as settings write them: ``"cvar(0.25) of wang(0.1)"``.

::

    composition = measure " of " measure         epistemic, then aleatoric
    measure     = name [ "(" setting { "," setting } ")" ]
    setting     = [ key "=" ] number             without a key: in the order of the measure's fields

Names are those of the installed plugins' measures (``uqbench list risks``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator

from uqbench.config import resolve
from uqbench.errors import UqbenchError
from uqbench.risk.composite import CompositeRisk, additive, compose
from uqbench.risk.measure import RiskMeasure
from uqbench.specs import Spec

_MEASURE = re.compile(r"(?P<name>[a-z0-9_-]+)\s*(?:\((?P<settings>[^()]*)\))?", re.IGNORECASE)


def risk_measure(text: str, measures: Mapping[str, Spec] | None = None) -> RiskMeasure:
    """The measure that ``text`` names.

    Args:
        text: such as ``"cvar"``, ``"cvar(0.25)"`` or ``"cvar(alpha=0.25)"``.
        measures: specs by name; None for those of the installed plugins.

    Raises:
        UqbenchError: it is not written like that, or there is no such measure or setting.
    """
    matched = _MEASURE.fullmatch(text.strip())
    if not matched:
        raise UqbenchError(
            f"expected a risk measure such as 'cvar(0.25)', got {text!r}"
            + ("; a composition cannot be used here" if _parts(text)[1:] else "")
        )
    spec = (_installed() if measures is None else measures)[matched["name"].lower()]
    kind = spec.load_config()
    settings = _settings(matched["settings"], [f.name for f in dataclasses.fields(kind)], text)
    made: RiskMeasure = resolve(kind, settings, where=repr(text))
    return made


def composite_risk(text: str, measures: Mapping[str, Spec] | None = None) -> CompositeRisk:
    """The composition that ``text`` names: ``"E of A"``; a measure alone is additive.

    Raises:
        UqbenchError: it is not written like that, or there is no such measure or setting.
    """
    parts = _parts(text)
    if len(parts) > 2:
        raise UqbenchError(
            f"expected 'epistemic of aleatoric', such as 'cvar(0.25) of wang(0.1)', got {text!r}"
        )
    named = [risk_measure(part, measures) for part in parts]
    return additive(*named) if len(named) == 1 else compose(*named)


def _parts(text: str) -> list[str]:
    return re.split(r"\s+of\s+", text.strip())


def _settings(text: str | None, fields: list[str], where: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for position, setting in enumerate((text or "").split(",") if (text or "").strip() else []):
        key, equals, value = (part.strip() for part in setting.rpartition("="))
        if not equals:
            if position >= len(fields):
                raise UqbenchError(
                    f"{where!r} has {position + 1} settings; the measure takes "
                    f"{len(fields)}: {', '.join(fields) or 'none'}."
                )
            key = fields[position]
        if key in given:
            raise UqbenchError(f"{where!r} gives {key!r} twice.")
        try:
            given[key] = float(value)
        except ValueError:
            raise UqbenchError(
                f"{where!r}: expected a number for {key!r}, got {value!r}."
            ) from None
    return given


@cache
def _installed() -> Mapping[str, Spec]:
    from uqbench.plugins import Host  # it loads every plugin, which agents' modules are part of

    return Host.load().risk_measures


def _checked(make: Any) -> Any:
    def check(text: str) -> str:
        try:
            make(text)
        except UqbenchError as error:
            raise ValueError(str(error)) from None
        return text

    return AfterValidator(check)


RiskName = Annotated[str, _checked(risk_measure)]
"""A config field that names a measure; wrong names are told when a suite is read."""

CompositeRiskName = Annotated[str, _checked(composite_risk)]
"""A config field that names a composition, or a measure alone."""
