"""Config fields that hold a risk measure, written in suites as ``"cvar(0.25) of wang(0.1)"``.

When the harness reads a config it resolves the names among all installed plugins' measures; an
agent gets the measure itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, SerializationInfo, ValidationInfo

from uqbench.config import RiskNames
from uqbench.errors import UqbenchError
from uqbench.risk.composite import CompositeRisk
from uqbench.risk.measure import RiskMeasure


def _measure(value: object, info: ValidationInfo) -> RiskMeasure:
    measure: RiskMeasure = _named(value, _names(info.context).measure)
    return measure


def _composite(value: object, info: ValidationInfo) -> CompositeRisk:
    composite: CompositeRisk = _named(value, _names(info.context).composite)
    return composite


def _text(value: object, info: SerializationInfo) -> str:
    return _names(info.context).text(value)


def _named(value: object, make: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("expected the name of a risk measure, such as 'cvar(0.25)'")
    try:
        return make(value)
    except UqbenchError as error:
        raise ValueError(str(error)) from None


def _names(context: Mapping[str, Any] | None) -> RiskNames:
    names: RiskNames | None = (context or {}).get("risk_names")
    if names is None:
        raise UqbenchError(
            "a config with a risk measure needs uqbench.config.resolve(…, risk_names=…); "
            "pass a Host's risk_names"
        )
    return names


RiskField = Annotated[RiskMeasure, PlainValidator(_measure), PlainSerializer(_text)]
"""A field that holds a :class:`uqbench.risk.RiskMeasure`; in a suite ``"cvar(0.25)"``."""

CompositeRiskField = Annotated[CompositeRisk, PlainValidator(_composite), PlainSerializer(_text)]
"""A field that holds a :class:`uqbench.risk.CompositeRisk`: ``"cvar(0.25) of wang(0.1)"``.

A single measure means the additive composition, which is neutral about the model.
"""
