"""Risk measures by name, as suites and ``--set`` write them: ``"cvar(0.25) of wang(0.1)"``.

::

    rule        = measure | composition
    composition = measure " of " measure         epistemic, then aleatoric
    measure     = name [ "(" number { "," number } ")" ]   the measure's fields, in their order

Names are those of the installed plugins' measures (``uqbench list risks``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from uqbench.contract.config import as_table, resolve
from uqbench.contract.errors import UqbenchError
from uqbench.contract.risk.composite import CompositeRisk, additive, compose
from uqbench.contract.risk.decision import DecisionRule, MarginalRisk
from uqbench.contract.specs import Spec
from uqbench.contract.wording import count

if TYPE_CHECKING:
    from uqbench.contract.risk.measure import RiskMeasure

_MEASURE = re.compile(r"\s*([^\s()]+)\s*(?:\(([^()]*)\))?\s*")


class MeasuresByName:
    """Parses and formats the names of risk measures.

    Args:
        specs: a ``Host``'s measures by name.
    """

    def __init__(self, specs: Mapping[str, Spec]) -> None:
        self._specs = specs

    def measure(self, text: str) -> RiskMeasure:
        """The measure that ``text`` names, such as ``"cvar"`` or ``"cvar(0.25)"``.

        Raises:
            UqbenchError: the text does not parse, or there is no such measure or value.
        """
        name, values = self._parsed(text)
        kind = self._specs[name].load_config()
        fields = [field.name for field in dataclasses.fields(kind)]
        try:
            numbers = [float(value) for value in values.split(",")] if values.strip() else []
        except ValueError as error:
            raise UqbenchError(f"{text!r}: expected numbers; {error}") from None
        if len(numbers) > len(fields):
            raise UqbenchError(
                f"{text!r} has {count(len(numbers), 'value')}; the measure takes {len(fields)}: "
                f"{', '.join(fields) or 'none'}."
            )
        table = dict(zip(fields, numbers, strict=False))
        made: RiskMeasure = resolve(kind, table, where=repr(text))
        return made

    def composite(self, text: str) -> CompositeRisk:
        """The composition that ``text`` names: ``"E of A"``; a single measure is additive."""
        named = [self.measure(part) for part in text.split(" of ", 1)]
        return compose(*named) if len(named) == 2 else additive(*named)

    def rule(self, text: str) -> DecisionRule:
        """The decision rule that ``text`` names; a single measure is of the models' mixture."""
        return self.composite(text) if " of " in text else MarginalRisk(self.measure(text))

    def name(self, text: str) -> str:
        """The registered name of the measure that ``text`` names."""
        return self._parsed(text)[0]

    def text(self, measure: RiskMeasure | DecisionRule) -> str:
        """The text that names a measure, a composition or a decision rule, with all its values.

        Raises:
            UqbenchError: no plugin registered its class.
        """
        if isinstance(measure, CompositeRisk):
            return f"{self.text(measure.epistemic)} of {self.text(measure.aleatoric)}"
        if isinstance(measure, MarginalRisk):
            return self.text(measure.measure)
        for name in self._specs:
            with suppress(Exception):  # one that cannot be imported is of another class
                if self._specs[name].load_config() is type(measure):
                    values = ", ".join(map(repr, dataclasses.astuple(measure)))  # type: ignore[call-overload]
                    return f"{name}({values})" if values else name
        raise UqbenchError(
            f"{type(measure).__name__} is not a registered risk measure; register it with "
            f"uqbench_risk_measures, so that a run's identity can name it."
        )

    def names_in(self, config: Any, *texts: str) -> list[str]:
        """The registered names of all measures in a config and in texts."""
        named = list(texts)

        def text(measure: RiskMeasure | DecisionRule) -> str:
            named.append(self.text(measure))
            return named[-1]

        noting: Any = SimpleNamespace(text=text)
        as_table(config, noting)
        words = {word for one in named for word in re.split(r"\([^()]*\)|\s+", one)}
        return sorted(word for word in words if word in self._specs)

    def _parsed(self, text: str) -> tuple[str, str]:
        """A measure's name, and its values."""
        matched = _MEASURE.fullmatch(text)
        if not matched:
            more = "; a composition cannot be used here" if " of " in text else ""
            raise UqbenchError(f"expected a risk measure such as 'cvar(0.25)', got {text!r}{more}")
        _ = self._specs[matched[1]]  # raises, with the known names
        return matched[1], matched[2] or ""
