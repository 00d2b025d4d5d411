"""What each kind of uncertainty follows on ``noise-and-ignorance``: noise, data, or both.

    python -m uqbench_tabular.tools.leakage leaderboards/noise-and-ignorance/paper/scores.csv

prints a matrix of two by two for each method, means over runs with their standard errors:

- *noise*: the slope of the predicted standard deviation in ``σ / √(1 − γ²)``, at equal data. 1 is
  right for the aleatoric part.
- *data*: the slope of its logarithm in that of the steps, at equal noise above zero. 0 is right for
  the aleatoric part; a posterior whose variance is that of a mean has −½. NaN where a run predicts
  none at all somewhere.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DISCOUNT = 0.9
NOISE = {"s0": 0.0, "s05": 0.5, "s1": 1.0, "s2": 2.0}
DATA = {"half": 0.5, "one": 1.0, "two": 2.0}
PARTS = ("aleatoric_std", "epistemic_std")


def leakage(scores: pd.DataFrame) -> pd.DataFrame:
    """Columns ``method``, ``part``, ``noise``, ``noise_se``, ``data``, ``data_se``.

    Args:
        scores: a board's ``scores.csv``: ``task``, ``method``, ``seed`` and the metrics.
    """
    rows = []
    for method, own in scores.groupby("method", sort=True):
        for part in PARTS:
            if own[part].isna().all():
                continue
            slopes = np.array([_slopes(run, part) for _, run in own.groupby("seed")])
            mean = slopes.mean(0)
            error = slopes.std(0, ddof=1) / math.sqrt(len(slopes))
            rows.append((method, part, mean[0], error[0], mean[1], error[1]))
    columns = ["method", "part", "noise", "noise_se", "data", "data_se"]
    return pd.DataFrame(rows, columns=columns)


def _slopes(run: pd.DataFrame, part: str) -> tuple[float, float]:
    """Of one run on all tasks: in the noise, and in the data."""
    grid: NDArray[np.float64] = np.empty((len(NOISE), len(DATA)))
    value = dict(zip(run["task"], run[part], strict=True))
    for i, noise in enumerate(NOISE):
        for j, data in enumerate(DATA):
            grid[i, j] = value[f"{noise}-{data}"]
    deviation = np.array(list(NOISE.values())) / math.sqrt(1 - DISCOUNT**2)
    steps = np.log(list(DATA.values()))
    of_noise = np.polyfit(deviation, grid, 1)[0].mean()
    if (grid[1:] <= 0).any():
        return float(of_noise), math.nan
    of_data = np.polyfit(steps, np.log(grid[1:].T), 1)[0].mean()
    return float(of_noise), float(of_data)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", type=Path)
    scores = pd.read_csv(
        parser.parse_args().scores, na_values=["none"]
    )  # what a method does not state
    table = leakage(scores)
    print(table.to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
