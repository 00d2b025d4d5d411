"""Risk measures by name, as suites and ``--set`` write them: ``"cvar(0.25) of wang(0.1)"``.

::

    rule        = term { " + " term }            a weighted sum
    term        = [ number "*" ] ( measure | composition )
    composition = measure " of " measure         epistemic, then aleatoric
    measure     = name [ "(" value { "," value } ")" ]
    value       = [ key "=" ] number             without keys: in the order of the measure's fields

Names are those of the installed plugins' measures (``uqbench list risks``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from uqbench.contract.config import as_table, resolve
from uqbench.contract.errors import UqbenchError
from uqbench.contract.specs import Spec

if TYPE_CHECKING:  # imports torch, which would slow down reading suites
    from uqbench.contract.risk.composite import CompositeRisk
    from uqbench.contract.risk.decision import DecisionRule
    from uqbench.contract.risk.measure import RiskMeasure

_MEASURE = re.compile(r"(?P<name>[a-z0-9_.:-]+)\s*(?:\((?P<values>[^()]*)\))?", re.IGNORECASE)
_SUM = re.compile(r"\s+\+\s+")


class MeasuresByName:
    """Parses and formats the names of risk measures.

    Args:
        specs: a ``Host``'s measures by name.
    """

    def __init__(self, specs: Mapping[str, Spec]) -> None:
        self._specs = specs

    def measure(self, text: str) -> RiskMeasure:
        """The measure that ``text`` names, such as ``"cvar"`` or ``"cvar(alpha=0.25)"``.

        Raises:
            UqbenchError: the text does not parse, or there is no such measure or value.
        """
        name, values = self._parsed(text)
        kind = self._specs[name].load_config()
        table = _table(values, [f.name for f in dataclasses.fields(kind)], text)
        made: RiskMeasure = resolve(kind, table, where=repr(text))
        return made

    def composite(self, text: str) -> CompositeRisk:
        """The composition that ``text`` names: ``"E of A"``; a single measure is additive.

        Raises:
            UqbenchError: the text does not parse, or there is no such measure or value.
        """
        from uqbench.contract.risk.composite import additive, compose

        parts = _parts(text)
        if len(parts) > 2:
            raise UqbenchError(
                f"expected 'epistemic of aleatoric', such as 'cvar(0.25) of wang(0.1)', got "
                f"{text!r}"
            )
        named = [self.measure(part) for part in parts]
        return additive(*named) if len(named) == 1 else compose(*named)

    def rule(self, text: str) -> DecisionRule:
        """The decision rule that ``text`` names; a single measure is of the models' mixture.

        Raises:
            UqbenchError: the text does not parse, or there is no such measure or value.
        """
        from uqbench.contract.risk.decision import WeightedRisk

        terms = [self._term(part) for part in _SUM.split(text.strip())]
        if len(terms) == 1 and terms[0][0] is None:
            return terms[0][1]
        return WeightedRisk(tuple((1.0 if w is None else w, rule) for w, rule in terms))

    def _term(self, text: str) -> tuple[float | None, DecisionRule]:
        """The weight, None where there is none, and the rule of one term of a sum."""
        from uqbench.contract.risk.decision import MarginalRisk

        factor, times, rest = text.rpartition("*")
        weight = None
        if times:
            try:
                weight = float(factor)
            except ValueError:
                raise UqbenchError(
                    f"expected a weighted measure such as '0.5 * cvar(0.25)', got {text!r}"
                ) from None
        composed = len(_parts(rest)) > 1
        return weight, self.composite(rest) if composed else MarginalRisk(self.measure(rest))

    def name(self, text: str) -> str:
        """The registered name of the measure that ``text`` names."""
        return self._parsed(text)[0]

    def text(self, measure: RiskMeasure | DecisionRule) -> str:
        """The text that names a measure, a composition or a decision rule, with all its values.

        Raises:
            UqbenchError: no plugin registered its class.
        """
        from uqbench.contract.risk.composite import CompositeRisk
        from uqbench.contract.risk.decision import MarginalRisk, WeightedRisk

        if isinstance(measure, CompositeRisk):
            return f"{self.text(measure.epistemic)} of {self.text(measure.aleatoric)}"
        if isinstance(measure, MarginalRisk):
            return self.text(measure.measure)
        if isinstance(measure, WeightedRisk):
            return " + ".join(f"{weight!r} * {self.text(rule)}" for weight, rule in measure.terms)
        for name, spec in self._specs.items():
            if spec.load_config() is type(measure):
                values = ", ".join(repr(v) for v in dataclasses.astuple(measure))  # type: ignore[call-overload]
                return f"{name}({values})" if values else name
        raise UqbenchError(
            f"{type(measure).__name__} is not a registered risk measure; register it with "
            f"uqbench_risk_measures, so that a run's identity can name it."
        )

    def names_in(self, config: Any, *texts: str) -> list[str]:
        """The registered names of all measures in a config and in texts."""
        noted = _Noted(self)
        as_table(config, noted)
        terms = [term for text in (*noted.texts, *texts) for term in _SUM.split(text.strip())]
        measures = [part for term in terms for part in _parts(term.rpartition("*")[2])]
        return sorted({self.name(measure) for measure in measures})

    def _parsed(self, text: str) -> tuple[str, str | None]:
        matched = _MEASURE.fullmatch(text.strip())
        if not matched:
            raise UqbenchError(
                f"expected a risk measure such as 'cvar(0.25)', got {text!r}"
                + ("; a composition cannot be used here" if _parts(text)[1:] else "")
            )
        name = matched["name"].lower()
        _ = self._specs[name]  # raises, with the known names
        return name, matched["values"]


class _Noted:
    """Converts measures to text, and collects the texts."""

    def __init__(self, names: MeasuresByName) -> None:
        self.measure, self.composite, self.rule = names.measure, names.composite, names.rule
        self._names = names
        self.texts: list[str] = []

    def text(self, measure: RiskMeasure | DecisionRule) -> str:
        self.texts.append(self._names.text(measure))
        return self.texts[-1]


def _parts(text: str) -> list[str]:
    return re.split(r"\s+of\s+", text.strip())


def _table(text: str | None, fields: list[str], where: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for position, value in enumerate((text or "").split(",") if (text or "").strip() else []):
        key, equals, number = (part.strip() for part in value.rpartition("="))
        if not equals:
            if position >= len(fields):
                raise UqbenchError(
                    f"{where!r} has {position + 1} values; the measure takes "
                    f"{len(fields)}: {', '.join(fields) or 'none'}."
                )
            key = fields[position]
        if key in table:
            raise UqbenchError(f"{where!r} has {key!r} twice.")
        try:
            table[key] = float(number)
        except ValueError:
            raise UqbenchError(
                f"{where!r}: expected a number for {key!r}, got {number!r}."
            ) from None
    return table
