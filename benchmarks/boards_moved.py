"""What new statistics moved on boards whose scores are the same, each with its reason.

    python benchmarks/boards_moved.py BEFORE AFTER…

These are folders of leaderboards, of revisions of the repository; of each board the first AFTER
that has the same scores counts. ``boards_moved.csv`` is of 878c0fdb, b9b0bf09 and 3dcb0f6e: a row
for each pair of methods that is told apart on one side alone, each method that may be first on one
side alone, each word for stated intervals that is another, and each method that beats the baselines
on one side alone. ``boards_rewritten.csv`` counts them by board.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from planted_procedure import PAIRED, matrices

from uqbench.statistics.location import Location
from uqbench.statistics.quantiles import t_tail
from uqbench.statistics.ranks import measure

TABLE = Path(__file__).with_suffix(".csv")
SKEWED = "Student's t has them apart, Hall's correction of skewness does not"
LEVEL = "apart by all methods' mean variance, step-down or flipped signs, not at .05/pairs"
GAINED = {True: "compared seed by seed now", False: "others' spread had hidden it"}
TWICE = "by comparisons with the best alone; its rank set said {} already"
PRINTED = "the word was by Student's t, is by the printed interval: {}"
NEW_INTERVAL = "the printed interval is another (seed by seed, or Gaffke's of all runs): {}"
ALIKE = {"honest": "calibrated", "as stated here": "calibrated", "too wide here": "too wide",
         "underconfident": "too wide", "too narrow here": "too narrow", "states none": "–",
         "overconfident": "too narrow", "undecided": "open"}  # fmt: skip
"""Earlier words that say the same; *mixed* and *needs n seeds* are open."""


def read(folder, name):
    table = pd.read_csv(folder / name, dtype={"method": str, "first": str, "second": str})
    return table.fillna({"may_be_first": "", "beats_trivial": "", "calibration": ""})


def apart(pairs):
    """By pair, the better one where one is; of pairs that are compared together."""
    known = pairs[pairs["p_adjusted"].notna()]
    return {
        (row.first, row.second): (row.first if row.difference > 0 else row.second)
        if row.p_adjusted <= 0.05
        else ""
        for row in known.itertuples()
    }


def by_student(folder, family):
    """Whether Student's t, without Hall's correction, has a pair apart at .05/family."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    tasks = sorted(manifest["task_versions"])
    paired = PAIRED[manifest["paired"]]
    known = measure(matrices(folder, tasks), manifest["ranks_by"], None, paired=paired)

    def found(pair):
        of = known[pair]
        assert isinstance(of, Location)
        t = abs(of.estimate) / np.sqrt(of.variance) if of.variance else 0.0
        return 2 * t_tail(t, of.degrees) * family <= 0.05 if of.variance else False

    return found


def word(of):
    return "open" if of.startswith(("mixed", "needs")) else ALIKE.get(of, of)


def moved(before, after):
    """Rows of one board: what moved, from what to what, and why."""
    boards = [read(at, "leaderboard.csv").set_index("method") for at in (before, after)]
    pairs = [apart(read(at, "pairs.csv")) for at in (before, after)]
    was, now = boards
    ranked = was.index[was["role"] == "method"].intersection(now.index)
    manifests = [json.loads((at / "manifest.json").read_text("utf-8")) for at in (before, after)]
    paired = manifests[1]["paired"] and not manifests[0]["paired"]
    family = int(read(after, "pairs.csv")["p_adjusted"].notna().sum())
    student, why = by_student(after, family), {}
    for pair in sorted(pairs[0].keys() & pairs[1].keys()):
        old, new = pairs[0][pair], pairs[1][pair]
        if old != new and {*pair} <= {*ranked}:
            lost = SKEWED if student(pair) else LEVEL
            why[pair] = lost if old else GAINED[paired]
            yield "pair", " – ".join(pair), old or "not apart", new or "not apart", why[pair]
    for name in ranked:
        old, new = was.loc[name, "may_be_first"], now.loc[name, "may_be_first"]
        if old != new and "" not in (old, new):
            began = bool(was.loc[name, "rank_low"] == 1)
            reasons = sorted(
                {why[p] for p in why if name in p and name not in (pairs[0][p], pairs[1][p])}
            )
            twice = [TWICE.format("yes" if began else "no")] * (began == (new == "yes"))
            yield "first", name, old, new, "; ".join(twice or reasons)
    for name in ranked if "calibration" in was and "calibration" in now else ():
        old, new = was.loc[name, "calibration"], now.loc[name, "calibration"]
        if word(old) != word(new):
            column = next(
                n for n in now if n.removeprefix("q_") in ("coverage_90_mean", "coverage_95_mean")
            )
            ends = [
                of.loc[name, [f"{column}_low", f"{column}_high"]].to_numpy(float) for of in boards
            ]
            same = np.allclose(ends[0], ends[1], atol=1e-5, equal_nan=True)
            shown = f"[{ends[1][0]:.3f}, {ends[1][1]:.3f}] against {column.split('_')[-2]} %"
            yield "word", name, old, new, (PRINTED if same else NEW_INTERVAL).format(shown)
    trivial = was.index[was["role"] == "trivial"]
    by = manifests[1]["ranks_by"]
    known = now.loc[[n for n in trivial if n in now.index], by].dropna()
    for name in ranked:
        old, new = was.loc[name, "beats_trivial"], now.loc[name, "beats_trivial"]
        if old != new:
            silent = was.loc[trivial, by].isna().any() and not old
            best = known.idxmax()
            reason = (
                "a baseline without a value had hidden the others"
                if silent
                else f"its own 95 % interval was above {best}; that of the difference is not"
            )
            yield "beats the baselines", name, old or "–", new or "–", reason


def main():
    before, *later = map(Path, sys.argv[1:])
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("board", "what", "name", "before", "after", "reason"))
        for old in sorted(path.parent for path in before.glob("*/*/leaderboard.csv")):
            name = "/".join(old.parts[-2:])
            scores = (old / "scores.csv.gz").read_bytes()
            after = next(of for of in later if (of / name / "scores.csv.gz").read_bytes() == scores)
            writer.writerows((name, *row) for row in moved(old, after / name))


if __name__ == "__main__":
    main()
