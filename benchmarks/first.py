"""How often the best of eight methods is named alone, and how often an equal one is called worse.

    python benchmarks/first.py [--boards 100] [--column now]

Writes a column of ``first.csv``. The best method is a standard deviation better, half of one where
paired (seeds' correlation is .8). ``alone``: on so many percent of boards the best alone may be
first; ``excluded``: where all are equal, some method may not be. At revision 878c0fdb, by way of
``PYTHONPATH``, it measures what was then: comparisons with the best alone (``--column before``).
"""

import argparse
import csv
from importlib import import_module, util
from pathlib import Path

import numpy as np

from uqbench.statistics import ranks

METHODS = 8
DESIGNS = (3, 5, 0), (5, 5, 0), (10, 5, 0), (10, 1, 0), (30, 1, 0), (10, 5, 1), (30, 1, 1)
"""Runs, tasks, and whether methods are compared seed by seed."""
TABLE = Path(__file__).with_suffix(".csv")


def firsts(board, paired):
    """The methods that may be first."""
    scores = {str(k): runs for k, runs in enumerate(board)}
    if util.find_spec("uqbench.statistics.first"):
        former = import_module("uqbench.statistics.first")
        return [*former.may_be_first(scores, "mean", paired=bool(paired))]
    pairs = ranks.compare(scores, "mean", paired=paired)
    return [name for name, of in ranks.places(scores, pairs, "mean").items() if of.low == 1]


def boards(number, seeds, tasks, paired, better):
    generator = np.random.default_rng([seeds, tasks, paired])
    for _ in range(number):
        runs = generator.standard_normal((METHODS, seeds, tasks))
        if paired:
            runs = np.sqrt(0.2) * runs + np.sqrt(0.8) * generator.standard_normal((1, seeds, 1))
        runs[0] += better * (0.5 if paired else 1.0)
        yield runs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=100)
    parser.add_argument("--column", default="now")
    asked = parser.parse_args()
    known, rows = {}, []
    if TABLE.is_file():
        with TABLE.open(newline="", encoding="utf-8") as file:
            known = dict(enumerate(csv.DictReader(file)))
    for k, (seeds, tasks, paired) in enumerate(DESIGNS):
        design = seeds, tasks, bool(paired)
        alone = [firsts(x, bool(paired)) == ["0"] for x in boards(asked.boards, *design, 1)]
        every = [len(firsts(x, bool(paired))) for x in boards(asked.boards, *design, 0)]
        row = {"seeds": seeds, "tasks": tasks, "paired": "yes" if paired else "no"}
        row |= known.get(k, {})
        row[f"alone, {asked.column}"] = f"{100 * np.mean(alone):.0f}"
        row[f"excluded, {asked.column}"] = f"{100 * np.mean(np.array(every) < METHODS):.0f}"
        rows.append(row)
        print(*row.values(), flush=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
