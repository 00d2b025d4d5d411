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
    by_chance = "by flipped signs of seeds' differences" if suite.paired else "by normal theory"
    differ = f"by step-down max-T, chance drawn {by_chance} (Romano & Wolf 2005)"
    if suite.ranks_by == "mean" and some:
        brackets = f"Gaffke's (2005) bounds on {', '.join(some)}, {student} on other tasks"
        if len(some) == len(tasks):
            brackets, differ = "Gaffke's (2005) bounds", "by such bounds (Holm 1979)"
    text = (
        f"Brackets are 95 % confidence intervals of the {what} ({brackets}), over seeds. Two "
        f"methods differ {differ}, at a familywise error of 5 %; sets of ranks follow (Mogstad et "
        f"al. 2024)."
    )
    if metric.margin is not None:
        text += f" Equivalent (=): a difference below {metric.margin:g} (Schuirmann 1987)."
    return text
