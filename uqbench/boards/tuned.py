"""Tuning of a board's rows: how each was tuned, what that gained, a method's sensitivity."""

from collections.abc import Mapping

from uqbench.boards.matrices import MethodScores
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.suites.plan import Plan
from uqbench.suites.variants import base_name

UNTUNED, DEFAULT = "untuned", "default settings"


def how_tuned(plan: Plan, method: str) -> str:
    """The words for a row; empty where it does not learn, or the budget is not tuned."""
    if not plan.budget.tuned or plan.roles[method] != "method":
        return ""
    if method in plan.defaults.values():
        return DEFAULT
    of, own = plan.suite.tables.tuned.get(base_name(method)), plan.settings.get(method, {})
    if of is None or any(own.get(key, value) != value for key, value in of.values.items()):
        return UNTUNED
    return of.words


def gains(
    plan: Plan, method: str, scores: Mapping[str, MethodScores]
) -> dict[str, Estimate | None]:
    """Columns of a row on the board of a tuned budget; none on any other.

    ``tuning_gain`` is the mean over seeds and tasks of the score with the tuned settings less that
    with the default ones, where the board has both with the same seeds. ``sensitivity`` is what
    the method would gain by a setting of its own on each task, over one for all, on the seeds of
    the search: too large by the noise of a maximum, and so without an interval; on one task there
    is none.
    """
    if not plan.budget.tuned:
        return {}
    own, default = scores[method], scores.get(plan.defaults.get(method, ""))
    gain, of = None, plan.suite.tables.tuned.get(method)
    if default is not None and _seeds(own) == _seeds(default):
        tuned, before = own.normalized_primary, default.normalized_primary
        if tuned is not None and before is not None:
            gain = estimate("mean", tuned - before, clustered=plan.suite.pairing == "seeds")
    # one task has no setting of its own
    sensitivity = None if of is None or len(own.cells) < 2 else Estimate(of.sensitivity, None, None)
    return {"tuning_gain": gain, "sensitivity": sensitivity}


def _seeds(scores: MethodScores) -> dict[str, tuple[int, ...]]:
    return {task: tuple(cell.seeds) for task, cell in scores.cells.items()}
