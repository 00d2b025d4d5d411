"""Ranks and values of a board that its files do not have: on single tasks, by other scores."""

from uqbench.boards.columns import Column
from uqbench.boards.leaderboard import Board
from uqbench.boards.matrices import MethodScores
from uqbench.boards.standings import estimates, ranges_by_task
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.ranks import Place, compare, places
from uqbench.uncertainty.scores import scoring_rule


def estimates_on(board: Board, *tasks: str) -> dict[str, Estimate | None]:
    """The ranking statistic of each fully scored row by its runs on some of the tasks alone."""
    found = {}
    for name in board.matrices:
        cells, role = board.methods[name].cells, board.plan.roles[name]
        own = MethodScores(board.plan.suite, {task: cells[task] for task in tasks})
        found[name] = estimates(board.plan, (), own, role, None)[board.ranking]
    return found


def places_by(board: Board, column: Column) -> dict[str, Place]:
    """Place of each method by another column; none where neither more nor less is better."""
    suite, metric, rule = board.plan.suite, column.metric, scoring_rule(column.metric)
    sign = {"max": 1, "min": -1, None: 0}["max" if column.normalized else rule.direction]
    roles = board.plan.roles
    known = {n: column.values(own) for n, own in board.methods.items() if roles[n] == "method"}
    scores = {name: sign * values for name, values in known.items() if values is not None}
    if not sign or len(scores) < 2:
        return {}
    tasks = sorted({cell.task for cell in board.scores.cells})
    ranges = ranges_by_task(suite, metric, tasks, normalized=column.normalized)
    if ranges is not None and sign < 0:
        ranges = tuple(None if of is None else (-of[1], -of[0]) for of in ranges)
    pairs = compare(scores, column.statistic, paired=suite.pairing, ranges=ranges)
    return places(scores, pairs, column.statistic)
