"""Config fields that hold a risk measure or decision rule: ``"cvar(0.25) of wang(0.1)"``.

When the harness reads a config it resolves the names among all installed plugins' measures; an
agent gets the measure, or the rule, itself.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
from pydantic import PlainSerializer, PlainValidator

from uqbench.contract.config import RiskNames
from uqbench.contract.errors import UqbenchError
from uqbench.contract.risk.composite import CompositeRisk
from uqbench.contract.risk.decision import DecisionRule
from uqbench.contract.risk.measure import RiskMeasure


def _named(maker: str) -> PlainValidator:
    """Reads a name by a method of the harness's names: ``measure``, ``composite`` or ``rule``."""

    def read(value: object, info: pydantic.ValidationInfo) -> Any:
        if not isinstance(value, str):
            raise ValueError("expected the name of a risk measure, such as 'cvar(0.25)'")
        try:
            return getattr(_names(info.context), maker)(value)
        except UqbenchError as error:
            raise ValueError(str(error)) from None

    return PlainValidator(read)


def _marginal(rule: DecisionRule) -> DecisionRule:
    if not rule.marginal:
        raise ValueError(
            "a composition needs several models, each with a return distribution, and this agent "
            "has one return distribution, or samples of Q; expected a measure, such as "
            "'cvar(0.25)'"
        )
    return rule


def _text(value: object, info: pydantic.SerializationInfo) -> str:
    return _names(info.context).text(value)


def _names(context: Mapping[str, Any] | None) -> RiskNames:
    names: RiskNames | None = (context or {}).get("risk_names")
    if names is None:
        raise UqbenchError(
            "a config with a risk measure needs uqbench.contract.config.resolve(…, risk_names=…); "
            "pass a Host's risk_names"
        )
    return names


RiskField = Annotated[RiskMeasure, _named("measure"), PlainSerializer(_text)]
"""A field that holds a :class:`uqbench.contract.risk.RiskMeasure`; in a suite ``"cvar(0.25)"``."""

CompositeRiskField = Annotated[CompositeRisk, _named("composite"), PlainSerializer(_text)]
"""A field that holds a :class:`uqbench.contract.risk.CompositeRisk`: ``"cvar(0.25) of wang(0.1)"``.

A single measure means the additive composition, which is neutral about the model.
"""

DecisionRuleField = Annotated[DecisionRule, _named("rule"), PlainSerializer(_text)]
"""A field that holds a :class:`uqbench.contract.risk.DecisionRule`, for agents with several models.

A measure, of the models' mixture: ``"cvar(0.25)"``; a composition: ``"cvar(0.25) of wang(0.1)"``.
The additive composition is written out: ``"expectation of cvar(0.25)"``.
"""

MarginalRuleField = Annotated[
    DecisionRule, _named("rule"), pydantic.AfterValidator(_marginal), PlainSerializer(_text)
]
"""The same for agents with one return distribution, or with samples of Q: without compositions."""
