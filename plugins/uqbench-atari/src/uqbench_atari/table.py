"""The paper's own score of stored runs: ``python -m uqbench_atari.table --out results``.

O'Donoghue et al. 2018, section 5.1: "first averaging the evaluation score in each period across
seeds, then taking the max average episodic score observed during any evaluation period", minus the
random agent's, over the human's minus the random agent's. Table 1 and Figures 3 and 4 are made of
these. Taking a maximum favors noisy methods; rliable's statistics of the final scores, which
``uqbench leaderboard`` reports, do not.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

import click
import pyarrow.parquet as pq

from uqbench.results.store import METRICS, RunState, Store
from uqbench_atari.normalization import RANDOM_AND_HUMAN, human_normalized

Curve = Mapping[int, float]
"""Mean evaluation returns of a run, by training step."""
FRAMES_PER_STEP = 4


def mean_curve(seeds: Sequence[Curve]) -> dict[int, float]:
    """The average over seeds, in each period that all of them have."""
    periods = set.intersection(*(set(curve) for curve in seeds))
    return {step: fmean(curve[step] for curve in seeds) for step in sorted(periods)}


def final_scores(curves: Mapping[str, Curve]) -> dict[str, float]:
    """The best period's average by game, human-normalized."""
    return {game: human_normalized(game, max(curve.values())) for game, curve in curves.items()}


def summary(scores: Mapping[str, float]) -> tuple[float, float, int]:
    """A row of Table 1: mean and median in percent of the human's score, and games above it."""
    values = list(scores.values())
    return 100 * fmean(values), 100 * median(values), sum(value > 1 for value in values)


def periods(curves: Mapping[str, Curve]) -> list[tuple[int, int, float]]:
    """Figures 3 and 4: frames, games above the human, and the median score, by period."""
    steps = set.intersection(*(set(curve) for curve in curves.values()))
    rows = []
    for step in sorted(steps):
        values = [human_normalized(game, curve[step]) for game, curve in curves.items()]
        rows.append((step * FRAMES_PER_STEP, sum(v > 1 for v in values), median(values)))
    return rows


def read_curves(root: Path, budget: str) -> dict[str, dict[str, dict[int, float]]]:
    """Curves averaged over seeds, by method and game, of the finished runs under ``root``."""
    store = Store(root)
    runs: dict[str, dict[str, list[Curve]]] = {}
    for place, record in store.walk("atari"):
        if record.state is not RunState.FINISHED:
            continue
        _, of_budget, task, method, _ = place.split("/")
        if of_budget != budget:
            continue
        table = pq.read_table(root / place / METRICS).to_pydict()
        curve = {
            step: value
            for step, metric, value in zip(
                table["step"], table["metric"], table["value"], strict=True
            )
            if metric == "evaluation_return"
        }
        if curve and task in RANDOM_AND_HUMAN:
            runs.setdefault(method, {}).setdefault(task, []).append(curve)
    return {
        method: {game: mean_curve(seeds) for game, seeds in games.items()}
        for method, games in runs.items()
    }


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
@click.option("--budget", default="paper", show_default=True)
@click.option("--curves", is_flag=True, help="Figures 3 and 4 instead of Table 1.")
def main(out: Path, budget: str, curves: bool) -> None:
    """Table 1 of O'Donoghue et al. 2018, or its Figures 3 and 4, as CSV."""
    methods = read_curves(out, budget)
    if not methods:
        raise click.ClickException(
            f"there are no finished runs of suite atari, budget {budget}, under {out}; "
            f"make some with: uqbench run --suite atari --budget {budget} --out {out}"
        )
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if curves:
        writer.writerow(["method", "frames", "games_above_human", "median"])
        for method, games in sorted(methods.items()):
            for frames, above, middle in periods(games):
                writer.writerow([method, frames, above, f"{middle:.4f}"])
        return
    writer.writerow(["method", "mean", "median", "games_above_human", "games"])
    for method, games in sorted(methods.items()):
        mean, middle, above = summary(final_scores(games))
        writer.writerow([method, f"{mean:.2f}", f"{middle:.2f}", above, len(games)])


if __name__ == "__main__":
    main()
