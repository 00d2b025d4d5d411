"""Leaderboards for the terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from uqbench.cli.terminal import visible
from uqbench.scoring.aggregate import Estimate
from uqbench.scoring.leaderboard import Board, ranks

LABELS = {"iqm": "IQM", "median": "median", "mean": "mean", "optimality_gap": "optimality gap"}


def print_board(board: Board) -> None:
    """Print a board's table to stdout, with what must be known to read it."""
    plan = board.plan
    places = ranks(board.lines) if plan.budget.ranks else {}
    baseline = plan.suite.baseline
    table = Table(title=f"{plan.suite.name} · {plan.name}", title_justify="left")
    if places:
        table.add_column("", justify="right")
    table.add_column("method")
    table.add_column("runs", justify="right")
    for label in LABELS.values():
        table.add_column(label, justify="right")
    compares = any(line.method != baseline for line in board.lines)
    if compares:
        table.add_column(f"P(better than {baseline})", justify="right")
    for line in sorted(board.lines, key=lambda line: places.get(line.method, 0)):
        cells = [line.method, f"{line.scored}/{line.planned}"]
        cells += [_interval(line.primary.get(name)) for name in LABELS]
        if compares:
            cells.append("" if line.method == baseline else _interval(line.improvement))
        table.add_row(*([str(places.get(line.method, ""))] if places else []), *cells)
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width to keep to
        console = Console(width=160)
    console.print(table)
    for note in notes(board):
        console.print(visible(note), highlight=False, markup=False, soft_wrap=True)


def notes(board: Board) -> list[str]:
    """What a reader of the table must know."""
    plan, metric = board.plan, board.primary
    normalization = plan.suite.normalization[metric.normalized_as or metric.name]
    lines = [
        f"Score: {metric.name} ({metric.summary}); 0 = {normalization.zero}, "
        f"1 = {normalization.one}.",
        "In brackets: 95 % stratified-bootstrap intervals over seeds.",
    ]
    if not plan.budget.ranks:
        lines.append(f"The budget {plan.budget_name!r} is too short to rank methods: no order.")
    without = Counter(
        "finished without a value" if score.status == "finished" else score.status
        for score in board.scores
        if score.score is None
    )
    if without:
        states = ", ".join(f"{number} {state}" for state, number in sorted(without.items()))
        lines.append(
            f"{without.total()} of {len(board.scores)} planned runs have no score ({states}): "
            f"no aggregate is given where one is missing."
        )
    mixed = [package for package, hashes in board.content.items() if len(hashes) > 1]
    if mixed:
        lines.append(f"Mixes runs of different contents of {', '.join(mixed)}.")
    return lines


def _interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
