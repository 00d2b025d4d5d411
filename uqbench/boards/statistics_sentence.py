"""Two sentences for a paper on how a board's brackets and ranks are made."""

from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget

STATISTICS = {
    "mean": "mean over tasks of the mean over runs",
    "iqm": "interquartile mean over runs and tasks (Agarwal et al. 2021)",
    "median": "median over tasks of the mean over runs",
}


def statistics_sentence(suite: Suite, budget: Budget) -> str:
    """The brackets, and where methods differ."""
    metric, tasks = suite.primary_metric(budget), suite.tasks_of(budget)
    what = STATISTICS[suite.ranks_by] if len(tasks) > 1 else "mean over runs"
    some = [task.name for task in tasks if metric.range_on(task.name)]
    student = "Student's t with Satterthwaite's degrees of freedom"
    brackets = f"{student}, widened by Hall's (1992) correction of skewness"
    if suite.ranks_by == "mean" and some:
        brackets = f"Gaffke's (2005) bounds on {', '.join(some)}, {student} on other tasks"
        if len(some) == len(tasks):
            brackets = "Gaffke's (2005) bounds"
    seedwise = ", seed by seed," * suite.paired
    return (
        f"Brackets are 95 % confidence intervals of the {what} ({brackets}), over seeds. Two "
        f"methods differ where such an interval of their difference{seedwise} at the level 1 − "
        f"0.05/pairs leaves out zero, at a familywise error of 5 %; sets of ranks follow (Mogstad "
        f"et al. 2024)."
    )
