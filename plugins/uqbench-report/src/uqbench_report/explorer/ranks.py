"""Ranks and values of a board that its files do not have: on single tasks, by other scores."""

from uqbench.boards.columns import Column
from uqbench.boards.leaderboard import Board
from uqbench.boards.standings import limits, ranges_by_task
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.statistics.ranks import Place, compare, places
from uqbench.uncertainty.scores import scoring_rule


def estimates_on(board: Board, *tasks: str) -> dict[str, Estimate]:
    """The ranking statistic of each fully scored row by its runs on some of the tasks alone."""
    suite, primary, ranking = board.plan.suite, board.primary, board.ranking
    ends = limits(suite, primary, tasks, ranking)
    return {
        name: estimate(
            ranking,
            values,
            ranges_by_task(suite, primary, tasks, learns=board.plan.roles[name] == "method"),
            clustered=suite.paired,
            limits=ends,
        )
        for name, values in board.on(tasks).items()
    }


def places_by(board: Board, column: Column) -> dict[str, Place]:
    """Place of each method by another column; none where neither more nor less is better."""
    suite, metric, rule = board.plan.suite, column.metric, scoring_rule(column.metric)
    better = "max" if column.normalized else rule.direction
    if better is None:
        return {}
    sign = 1 if better == "max" else -1
    known = {
        name: column.values(own)
        for name, own in board.methods.items()
        if board.plan.roles[name] == "method"
    }
    scores = {name: sign * values for name, values in known.items() if values is not None}
    if len(scores) < 2:
        return {}
    tasks = sorted({cell.task for cell in board.scores.cells})
    ranges = ranges_by_task(suite, metric, tasks, normalized=column.normalized)
    if ranges is not None and sign < 0:
        ranges = tuple(None if of is None else (-of[1], -of[0]) for of in ranges)
    pairs = compare(scores, column.statistic, paired=suite.paired, ranges=ranges)
    return places(scores, pairs, column.statistic)
