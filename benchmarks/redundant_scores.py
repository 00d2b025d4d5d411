"""Which scores of uncertainty say the same: their rank correlation over methods.

    python benchmarks/redundant_scores.py leaderboards/windy-cliff/paper/scores.csv.gz …

Of every board and task the methods' mean scores are ranked, each score's better end first as its
suite has it; what is printed is Spearman's correlation, the mean over tasks and boards with the
least and the largest, and from how many methods. Scores that a method does not have leave it out.
Two methods always correlate by ±1: tasks with fewer than four do not count.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

FEWEST = 4
"""Methods of a task."""

Pair = tuple[str, str]


def correlations(
    scores: pd.DataFrame, better: Mapping[str, int]
) -> dict[Pair, list[tuple[float, int]]]:
    """Of each pair of scores, on each task: Spearman's correlation and the number of methods.

    Args:
        scores: a board's ``scores.csv.gz``: ``task``, ``method`` and the metrics.
        better: the metrics, 1 where more is better and −1 where less is.
    """
    found: dict[Pair, list[tuple[float, int]]] = defaultdict(list)
    for _, own in scores.groupby("task"):
        means = own.groupby("method")[list(better)].mean().mul(pd.Series(better))
        for first, second in combinations(better, 2):
            both = means[[first, second]].dropna()
            if len(both) >= FEWEST and (both.nunique() > 1).all():
                value = both[first].corr(both[second], method="spearman")
                found[first, second].append((float(value), len(both)))
    return dict(found)


def table(found: Mapping[Pair, list[tuple[float, int]]]) -> pd.DataFrame:
    """The pairs, the most alike first."""
    rows = [
        {
            "first": first,
            "second": second,
            "mean": np.mean([value for value, _ in values]),
            "least": min(value for value, _ in values),
            "most": max(value for value, _ in values),
            "tasks": len(values),
            "methods": max(count for _, count in values),
        }
        for (first, second), values in found.items()
    ]
    columns = ["first", "second", "mean", "least", "most", "tasks", "methods"]
    return pd.DataFrame(rows, columns=columns).sort_values("mean", ascending=False)


def main() -> None:
    """Print the table of all pairs."""
    from uqbench.registry.plugins import Host
    from uqbench.suites.reading import read_suites

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("scores", type=Path, nargs="+", help="scores.csv.gz of boards")
    suites = read_suites(Host.load(), check=()).suites
    everything: dict[Pair, list[tuple[float, int]]] = defaultdict(list)
    for path in parser.parse_args().scores:
        scores = pd.read_csv(path, na_values=["none"])
        better = {
            metric.name: 1 if metric.direction == "max" else -1
            for metric in suites[path.parent.parent.name].metrics
            if metric.about == "uncertainty" and metric.name in scores
        }
        for pair, values in correlations(scores, better).items():
            everything[pair] += values
    print(table(everything).to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
