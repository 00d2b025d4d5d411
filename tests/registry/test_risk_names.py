"""Risk measures by name, and config fields that hold them."""

import dataclasses

import pytest
from torch import Tensor

from uqbench import hookimpl, risk
from uqbench.config import as_table, resolve
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.registry.risk_names import MeasuresByName
from uqbench.risk import CVaR, Expectation, MarginalRisk, MeanStd, Wang, additive, compose
from uqbench.risk.config import CompositeRiskField, DecisionRuleField, MarginalRuleField, RiskField
from uqbench.specs import Spec

NAMES = MeasuresByName(Host.load().risk_measures)


MEASURES = [
    ("cvar(0.25)", CVaR(0.25)), ("cvar ( 0.1 )", CVaR(0.1)), ("cvar", CVaR()),
    (" wang(1e-1) ", Wang(0.1)), ("mean-std(1)", MeanStd(1.0)), ("expectation", Expectation()),
    ("expectation()", Expectation())]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MEASURES)
def test_a_measure_by_name(text, expected):
    assert (NAMES.measure(text), NAMES.composite(text)) == (expected, additive(expected))
    assert NAMES.measure(NAMES.text(expected)) == expected


WRONG_NAMES = [
    ("cvr(0.2)", "no risk measure 'cvr'. Did you mean 'cvar'"),
    ("cvar(alpha=0.2)", "expected numbers; could not convert string to float: 'alpha=0.2'"),
    ("cvar(0.2, 0.3)", "has 2 values; the measure takes 1: alpha"),
    ("cvar(low)", "expected numbers; could not convert string to float: 'low'"),
    ("cvar(2)", r"alpha must be in \(0, 1\], got 2.0"),
    ("cvar(0.2", "expected a risk measure such as 'cvar"),
    ("cvar of wang of var", "'wang of var'; a composition cannot be used here"),
    ("", "expected a risk measure"),
    ("0.5 * expectation + 0.5 * wang", "expected a risk measure such as 'cvar"),
    ("cvar of", "expected a risk measure"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_NAMES)
def test_what_is_wrong_with_a_name_is_told(text, message):
    for read in (NAMES.composite, NAMES.rule):
        with pytest.raises(UqbenchError, match=message):
            read(text)


@dataclasses.dataclass(frozen=True)
class Median(risk.RiskMeasure):
    """A third party's."""

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        return values.median(dim).values


RULES = [
    ("cvar(0.25)", MarginalRisk(CVaR(0.25))),
    ("cvar(0.25) of wang(0.1)", compose(CVaR(0.25), Wang(0.1))),
    ("expectation of cvar(0.25)", additive(CVaR(0.25))),
]


@pytest.mark.parametrize(("text", "expected"), RULES)
def test_a_decision_rule_by_name_and_back(text, expected):
    assert (NAMES.rule(text), NAMES.text(expected)) == (expected, text)
    if " of " in text:
        assert NAMES.composite(text) == expected
        with pytest.raises(UqbenchError, match="a composition cannot be used here"):
            NAMES.measure(text)


@dataclasses.dataclass(frozen=True)
class Config:
    """Fields of all kinds."""

    one: RiskField = dataclasses.field(default_factory=CVaR)
    two: CompositeRiskField | None = None
    several: DecisionRuleField | None = None
    marginal: MarginalRuleField | None = None


@pytest.mark.parametrize("of", ["settings", "overrides"])
def test_a_config_holds_the_measures_and_its_table_their_names(of):
    """Also one of the running registry, by a third party."""

    class Plugin:
        @staticmethod
        @hookimpl
        def uqbench_risk_measures() -> list[Spec]:
            return [Spec(name="median", version="1", factory=Median, summary="the median")]

    host = Host.load()
    host.register(name="median", distribution="median", version="1", load=lambda: Plugin)
    names = host.risk_names
    table = {"one": "wang(0.3)", "two": "median of median", "several": "cvar(0.25) of median",
             "marginal": "median"}  # fmt: skip
    given, more = (table, {}) if of == "settings" else ({}, {"overrides": table})
    made = resolve(Config, given, where="x", risk_names=names, **more)
    two, several = compose(Median(), Median()), compose(CVaR(0.25), Median())
    assert made == Config(Wang(0.3), two, several, MarginalRisk(Median()))
    assert as_table(made, names) == table
    assert as_table(Config(), names)["one"] == f"cvar({CVaR().alpha})"
    with pytest.raises(UqbenchError, match="Median is not a registered risk measure"):
        NAMES.text(Median())


WRONG_TABLES = [
    ({"two": "cvar of wan"}, r"two: .*no risk measure 'wan'"),
    ({"one": 0.3}, r"one: .*expected the name of a risk measure"),
    ({"marginal": "cvar of wang"}, r"marginal: .*a composition needs several models"),
]


@pytest.mark.parametrize(("table", "said"), WRONG_TABLES)
def test_a_config_says_at_once_that_a_name_is_wrong(table, said):
    with pytest.raises(UqbenchError, match=said):
        resolve(Config, table, where="x", risk_names=NAMES)


def test_a_measure_that_cannot_be_imported_costs_no_other_its_name():
    broken = Spec(name="a", version="1", factory="nowhere:A", summary="…")
    median = Spec(name="median", version="1", factory=Median)
    names = MeasuresByName({"a": broken, "median": median})
    assert names.text(Median()) == "median"
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        names.measure("a")
