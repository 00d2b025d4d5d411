"""How a board's brackets and ranks were made, in a sentence to copy, and the papers to cite."""

from uqbench.registry.papers import cited
from uqbench.registry.plugins import Host
from uqbench.suites.plan import Plan
from uqbench.suites.sources import sources_of
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget

STATISTICS = "Agarwal et al. 2021"
"""Of the interquartile mean, the optimality gap and the probability of improvement."""
_STATISTIC = {
    "mean": "mean over tasks of the mean over runs",
    "iqm": "interquartile mean over runs and tasks (Agarwal et al. 2021)",
    "median": "median over tasks of the mean over runs",
}


def statistics_sentence(suite: Suite, budget: Budget, *, ranks: bool = True) -> str:
    """Two sentences: the brackets, and where methods differ; without ranks the first alone."""
    metric = suite.primary_metric(budget)
    several = len(suite.tasks_of(budget)) > 1
    what = _STATISTIC[suite.ranks_by] if several else "mean over runs"
    ranges = [metric.range_on(task.name) for task in suite.tasks_of(budget)]
    if suite.ranks_by == "mean" and all(ranges):
        interval = (
            "Gaffke's (2005) bounds: the runs and one more at the end of the metric's range, "
            "randomly weighted"
        )
        test = "such bounds of their difference, adjusted for all pairs (Holm 1979), exclude zero"
    else:
        unit = " of seeds with all their tasks" if suite.paired and several else ""
        cells = "" if suite.paired or not several else " over method × task cells"
        degrees = f", Satterthwaite's degrees of freedom{cells}" if cells else ""
        interval = f"Student's t{unit}{degrees}, widened by Hall's (1992) correction of skewness"
        if some := [t.name for t, of in zip(suite.tasks_of(budget), ranges, strict=True) if of]:
            interval = f"Gaffke's (2005) bounds on {', '.join(some)}, Student's t on other tasks"
        chance = (
            "where the signs of seeds' differences are flipped"
            if suite.paired
            else "where means and variances are drawn from normal theory, no method's variance "
            "counting as less than the mean one"
        )
        test = (
            f"their studentized difference is larger, at a familywise error of 5 %, than the "
            f"largest of all pairs is {chance} (step-down max-T; Romano & Wolf 2005)"
        )
    text = f"Brackets are 95 % confidence intervals of the {what} ({interval}), over seeds."
    if not ranks:
        return text
    text += f" Two methods differ where {test}; sets of ranks follow (Mogstad et al. 2024)."
    if metric.margin is not None:
        text += (
            f" Methods are equivalent (=) where two one-sided tests, adjusted for all pairs, put "
            f"the difference below {metric.margin:g}."
        )
    return text


def papers(plan: Plan, host: Host) -> str:
    """``papers.bib``: of a board's suite and methods, and of its statistics."""
    listed, _ = cited(host, [*sources_of(plan.suite, host, plan.roles), STATISTICS])
    return "\n".join(paper.bibtex for paper in listed)
