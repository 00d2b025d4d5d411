"""Which metrics are columns of a board, in what order, and by which statistic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from uqbench.boards.matrices import Matrix, MethodScores
from uqbench.suites.controls import control_of
from uqbench.suites.metrics import Group, Metric
from uqbench.suites.plan import Plan
from uqbench.uncertainty.scores import scoring_rule

GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True)
class Column:
    """A metric as a column of a board.

    Attributes:
        statistic: over runs and tasks.
        normalized: whether of normalized values.
    """

    metric: Metric
    statistic: str
    normalized: bool

    @property
    def name(self) -> str:
        """In ``leaderboard.csv``."""
        return f"{self.metric.name}_{self.statistic}"

    def values(self, own: MethodScores) -> Matrix | None:
        """Those of a method, ``[runs, tasks]``; None where some are missing."""
        return own.normalized(self.metric) if self.normalized else own.raw(self.metric)


def columns(plan: Plan) -> list[Column]:
    """The columns next to the primary metric's: return, risk, uncertainty, then the others.

    These are the metrics that have normalization constants or are shown beside the score and, of
    those about return, risk or uncertainty, all on one task and those on one scale on several.
    """
    suite, primary = plan.suite, plan.suite.primary_metric(plan.budget)
    ranking = suite.ranks_by
    one_task = len({cell.task.name for cell in plan.cells}) <= 1
    chosen = []
    for metric in suite.metrics:
        if metric == primary or (control_of(metric) and not metric.bounds):
            continue  # of controls coverages alone are columns
        if suite.normalization_constants(metric):
            chosen.append(Column(metric, ranking, normalized=True))
        elif metric.beside or (metric.about and (one_task or on_one_scale(metric))):
            chosen.append(Column(metric, "mean", normalized=False))
    return sorted(chosen, key=lambda column: (*GROUPS, None).index(column.metric.about))


def on_one_scale(metric: Metric) -> bool:
    """Whether raw values of a metric mean the same on every task."""
    if metric.about == "uncertainty":
        return scoring_rule(metric).unit is None
    return metric.event is not None and metric.event[0] == "episodes_with"


def grouped(chosen: Sequence[Column]) -> dict[str, list[str]]:
    """Names of the columns of each group, for those who read ``leaderboard.csv``."""
    return {
        group: names
        for group in GROUPS
        if (names := [column.name for column in chosen if column.metric.about == group])
    }
