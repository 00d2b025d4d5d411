"""Risk measures by name, and config fields that hold them."""

from __future__ import annotations

import dataclasses

import pytest
from torch import Tensor

from uqbench import hookimpl
from uqbench.config import as_table, resolve
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.registry.risk_names import MeasuresByName
from uqbench.risk import (
    CVaR,
    DecisionRule,
    Expectation,
    MarginalRisk,
    MeanStd,
    RiskMeasure,
    Wang,
    additive,
    compose,
)
from uqbench.risk.config import CompositeRiskField, DecisionRuleField, MarginalRuleField, RiskField
from uqbench.specs import Spec

NAMES = MeasuresByName(Host.load().risk_measures)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cvar(0.25)", CVaR(0.25)),
        ("cvar ( 0.1 )", CVaR(0.1)),
        ("cvar", CVaR()),
        (" wang(1e-1) ", Wang(0.1)),
        ("mean-std(1)", MeanStd(1.0)),
        ("expectation", Expectation()),
        ("expectation()", Expectation()),
    ],
)
def test_a_measure_by_name(text: str, expected: RiskMeasure) -> None:
    assert NAMES.measure(text) == expected
    assert NAMES.composite(text) == additive(expected)


def test_a_composition_by_name_is_epistemic_of_aleatoric() -> None:
    assert NAMES.composite("cvar(0.25) of wang(0.1)") == compose(CVaR(0.25), Wang(0.1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cvr(0.2)", "no risk measure 'cvr'. Did you mean 'cvar'"),
        ("cvar(alpha=0.2)", "expected numbers; could not convert string to float: 'alpha=0.2'"),
        ("cvar(0.2, 0.3)", "has 2 values; the measure takes 1: alpha"),
        ("cvar(low)", "expected numbers; could not convert string to float: 'low'"),
        ("cvar(2)", r"alpha must be in \(0, 1\], got 2.0"),
        ("cvar(0.2", "expected a risk measure such as 'cvar"),
        ("cvar of wang of var", "'wang of var'; a composition cannot be used here"),
        ("", "expected a risk measure"),
    ],
)
def test_what_is_wrong_with_a_name_is_told(text: str, message: str) -> None:
    with pytest.raises(UqbenchError, match=message):
        NAMES.composite(text)


def test_a_composition_is_refused_where_one_measure_is_asked_for() -> None:
    with pytest.raises(UqbenchError, match="a composition cannot be used here"):
        NAMES.measure("cvar of wang")


@dataclasses.dataclass(frozen=True)
class Median(RiskMeasure):
    """A third party's."""

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        return values.median(dim).values


@pytest.mark.parametrize("text", ["cvar(0.25)", "expectation", "cvar(0.25) of wang(0.1)"])
def test_a_measure_is_written_as_it_is_read(text: str) -> None:
    made = NAMES.composite(text) if " of " in text else NAMES.measure(text)
    assert NAMES.text(made) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cvar(0.25)", MarginalRisk(CVaR(0.25))),
        ("cvar(0.25) of wang(0.1)", compose(CVaR(0.25), Wang(0.1))),
        ("expectation of cvar(0.25)", additive(CVaR(0.25))),
    ],
)
def test_a_decision_rule_by_name_and_back(text: str, expected: DecisionRule) -> None:
    assert NAMES.rule(text) == expected
    assert NAMES.text(expected) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5 * expectation + 0.5 * wang", "expected a risk measure such as 'cvar"),
        ("cvr", "no risk measure 'cvr'"),
        ("cvar of", "expected a risk measure"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(text: str, message: str) -> None:
    with pytest.raises(UqbenchError, match=message):
        NAMES.rule(text)


def test_a_third_partys_measure_is_named_like_any_other() -> None:
    spec = Spec(name="median", version="1", factory=Median, summary="the median")
    names = MeasuresByName({"median": spec})
    assert names.composite("median of median") == compose(Median(), Median())
    assert names.text(compose(Median(), Median())) == "median of median"


def test_a_measure_that_nobody_registered_has_no_name() -> None:
    with pytest.raises(UqbenchError, match="Median is not a registered risk measure"):
        NAMES.text(Median())


@dataclasses.dataclass(frozen=True)
class Config:
    """Fields of both kinds."""

    one: RiskField = dataclasses.field(default_factory=CVaR)
    two: CompositeRiskField | None = None


def test_a_config_holds_the_measure_and_its_table_the_name() -> None:
    table = {"one": "wang(0.3)", "two": "cvar(0.25) of wang(0.1)"}
    made = resolve(Config, table, where="x", risk_names=NAMES)
    assert made == Config(Wang(0.3), compose(CVaR(0.25), Wang(0.1)))
    assert as_table(made, NAMES) == table
    assert resolve(Config, {}, where="x", overrides=table, risk_names=NAMES) == made
    assert as_table(Config(), NAMES) == {"one": f"cvar({CVaR().alpha})", "two": None}


def test_a_config_says_at_once_that_a_name_is_wrong() -> None:
    with pytest.raises(UqbenchError, match=r"two: .*no risk measure 'wan'"):
        resolve(Config, {"two": "cvar of wan"}, where="x", risk_names=NAMES)
    with pytest.raises(UqbenchError, match=r"one: .*expected the name of a risk measure"):
        resolve(Config, {"one": 0.3}, where="x", risk_names=NAMES)


def test_a_measure_of_the_running_registry_can_be_used_in_a_config() -> None:
    class Plugin:
        @staticmethod
        @hookimpl
        def uqbench_risk_measures() -> list[Spec]:
            return [Spec(name="median", version="1", factory=Median, summary="the median")]

    host = Host.load()
    host.register(name="median", distribution="median", version="1", load=lambda: Plugin)
    made = resolve(Config, {"one": "median"}, where="x", risk_names=host.risk_names)
    assert made.one == Median()
    table = {"several": "cvar(0.25) of median", "one": "median"}
    rules = resolve(Rules, table, where="x", risk_names=host.risk_names)
    assert rules.one == MarginalRisk(Median())
    assert as_table(rules, host.risk_names) == table


@dataclasses.dataclass(frozen=True)
class Rules:
    """Fields of decision rules."""

    several: DecisionRuleField | None = None
    one: MarginalRuleField | None = None


def test_an_agent_with_one_distribution_takes_no_composition() -> None:
    table = {"several": "cvar(0.25) of wang(0.1)", "one": "cvar(0.25)"}
    made = resolve(Rules, table, where="x", risk_names=NAMES)
    assert as_table(made, NAMES) == table
    with pytest.raises(UqbenchError, match=r"one: .*a composition needs several models"):
        resolve(Rules, {"one": "cvar of wang"}, where="x", risk_names=NAMES)


def test_a_measure_that_cannot_be_imported_costs_no_other_its_name() -> None:
    broken = Spec(name="a", version="1", factory="nowhere:A", summary="…")
    median = Spec(name="median", version="1", factory=Median)
    names = MeasuresByName({"a": broken, "median": median})
    assert names.text(Median()) == "median"
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        names.measure("a")
