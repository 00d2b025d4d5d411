"""The scores of uncertainty: their units, their directions, and which rank as others.

Names are those after ``queries/``, ``queries/realized/`` and ``uncertainty/``; what they ask is in
``docs/uncertainty.md``. A metric of a score that a plugin's agent reports says the same of itself,
in the suite: ``unit`` and ``proper``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from uqbench.contract.specs import Law, check_laws
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan

PREFIXES = ("queries/", "uncertainty/")


@dataclass(frozen=True)
class ScoringRule:
    """A score of uncertainty.

    Attributes:
        name: without its prefix.
        direction: whether more (``max``) or less (``min``) is better; None where the right value
            lies between.
        unit: ``return`` where it is in units of return, which have no mean over tasks; None where
            it means the same on every task.
        proper: whether nobody gains, in expectation, by stating anything but what is known: these
            say who may be first.
        version: raised where its numbers change.
        without: the laws (:data:`uqbench.contract.specs.LAWS`) that it does not obey, each with the
            derivation.
    """

    name: str
    direction: Literal["max", "min"] | None
    unit: Literal["return"] | None = None
    proper: bool = False
    version: str = "1"
    without: Mapping[Law, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_laws(self.name, self.without)


RECALIBRATED: Mapping[Law, str] = {
    "chance": "the factor is the best of 121 for the very points that are scored, 1 among them: a "
    "constant scores max(proper, 0) or more, in expectation of order 1/K above it for K points"
}
ONE_TRUTH: Mapping[Law, str] = {
    "permutation": "it is the rank of one truth, of the first point: ranks of several truths of "
    "one world depend on each other, and over worlds only those of a fixed point are independent "
    "and uniform for the exact posterior (Talts et al. 2018); other points may change places"
}

SCORING_RULES = {
    score.name: score
    for score in (
        # of the epistemic uncertainty
        ScoringRule("proper", "max", proper=True),
        ScoringRule("information", "max", proper=True, without=RECALIBRATED),
        ScoringRule("return_proper", "max", proper=True, version="2"),
        ScoringRule("interval_score_95", "min", "return", proper=True, version="2"),
        ScoringRule("wasserstein", "min", "return", proper=True),
        ScoringRule("crps", "min", "return", proper=True, version="2"),
        ScoringRule("scale", None),
        ScoringRule("coverage_50", None, version="2"),
        ScoringRule("coverage_90", None, version="2"),
        ScoringRule("coverage_95", None, version="2"),
        ScoringRule("coverage_50_ceiling", None, version="2"),
        ScoringRule("coverage_90_ceiling", None, version="2"),
        ScoringRule("coverage_95_ceiling", None, version="2"),
        ScoringRule("difference_coverage_90", None, version="4"),
        ScoringRule("width_95", None, "return", version="2"),
        ScoringRule("q_error", "min", "return"),
        ScoringRule("bias", None, "return"),
        ScoringRule("error_std", "min", "return"),
        ScoringRule("error", "min", "return"),
        ScoringRule("epistemic_std", None, "return"),
        ScoringRule("novelty", "max", version="2"),
        ScoringRule("novelty_auroc", None, version="2"),
        ScoringRule("contraction", None, version="2"),
        ScoringRule("first_rank", None, without=ONE_TRUTH),
        ScoringRule("variance_ratio", None),
        ScoringRule("bound_share", "max"),
        # of the return distribution
        ScoringRule("return_scale", None),
        ScoringRule("pit_ks", "min"),
        ScoringRule("cvar25_error", "min", "return"),
        ScoringRule("aleatoric_std", None, "return"),
        ScoringRule("aleatoric_error", "min", "return"),
    )
}
"""The proper ones stand in the order in which they are preferred."""


def scoring_rule(metric: Metric) -> ScoringRule:
    """The rule of a metric's score: as it is known here, or as the suite says of a plugin's."""
    if metric.statistic.startswith(PREFIXES):
        known = SCORING_RULES.get(metric.statistic.rpartition("/")[2])
        if known is not None:
            return known
    return ScoringRule(metric.statistic, metric.direction, metric.unit, metric.proper)


def score_versions(plan: Plan) -> dict[str, str]:
    """The versions of the scores of a plan's metrics, by statistic, that are not the first."""
    every = {**plan.score_versions, **rule_versions(plan.suite.metrics)}
    return {name: version for name, version in sorted(every.items()) if version != "1"}


def rule_versions(metrics: Iterable[Metric]) -> dict[str, str]:
    """The versions, as above, of the scores that are known here."""
    asked = {m.statistic for m in metrics if m.statistic.startswith(PREFIXES)}
    rules = {name: SCORING_RULES.get(name.rpartition("/")[2]) for name in sorted(asked)}
    return {name: of.version for name, of in rules.items() if of and of.version != "1"}
