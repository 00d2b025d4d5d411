"""The stored boards' pairs and ranks, recomputed with pandas, SciPy and rliable.

Nothing of uqbench is imported: what is written here is what docs/formulas.md says. Differences of
runs with a known range are drawn, and are left to the boards' own tests.
"""

import json
from itertools import combinations, product
from math import comb, log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rliable import metrics
from scipy import stats

BOARDS = Path(__file__).parents[2] / "leaderboards"
FOLDERS = sorted(
    path.parent
    for path in BOARDS.glob("*/*/pairs.csv")
    if "equivalent" not in path.read_text(encoding="utf-8").partition("\n")[0]
)
"""All but those of an earlier protocol, which are kept as they were written."""
NAMES = ["/".join(folder.parts[-2:]) for folder in FOLDERS]


def matrices(folder):
    """The scores of each row with all of its runs, ``[seeds, tasks]``."""
    text = {"method": str, "task": str}
    scores = pd.read_csv(folder / "scores.csv.gz", dtype=text, float_precision="round_trip")
    found = {}
    for method, own in scores.groupby("method"):
        table = own.pivot_table(index="seed", columns="task", values="score", aggfunc="first",
                                dropna=False)  # fmt: skip
        if len(table) * table.shape[1] == len(own) and np.isfinite(table.to_numpy()).all():
            found[method] = table.to_numpy()
    return found


def contributions(values, statistic):
    if statistic == "iqm":
        ordered, cut = np.sort(values, axis=None), values.size // 4
        return 2 * np.clip(values, ordered[cut], ordered[-1 - cut])
    return values


def point(values, statistic):
    return stats.trim_mean(values, 0.25, axis=None) if statistic == "iqm" else values.mean()


def kept(values, statistic):
    """The share of runs that are not cut off."""
    return 1 - 2 * (values.size // 4) / values.size if statistic == "iqm" else 1.0


def moments(own, equal, share):
    """Squared standard error, its square over its degrees of freedom, and third moment."""
    n, tasks = own.shape
    e = np.where(np.ptp(own, axis=0) > equal, own - own.mean(axis=0), 0.0)
    v = (e**2).sum(axis=0) / (n - 1) / n / tasks**2
    third = (e**3).sum(axis=0) / ((n - 1) * (n - 2)) / n / tasks**3
    return v.sum(), (v**2).sum() / (n - 1) / share, third.sum()


def difference(a, b, statistic, paired):
    """The difference, its squared error, degrees of freedom and skewness."""
    equal = 1e-12 * max(np.abs(a).max(), np.abs(b).max())
    one, two = (contributions(of, statistic) for of in (a, b))
    if paired:  # "runs", or true: by seeds with all their tasks
        gaps = one - two if paired == "runs" else (one.mean(axis=1) - two.mean(axis=1))[:, None]
        v, w, third = moments(gaps, equal, kept(a, statistic))
    else:
        v1, w1, t1 = moments(one, equal, kept(a, statistic))
        v2, w2, t2 = moments(two, equal, kept(b, statistic))
        v, w, third = v1 + v2, w1 + w2, t1 - t2
    d = point(a, statistic) - point(b, statistic)
    return (d, v, v**2 / w, third / v**1.5) if v > 0 else (d, 0.0, 1.0, 0.0)


def ends(d, v, f, a, alpha):
    t = stats.t.isf(alpha / 2, f)

    def hall(bound):
        return 3 / a * (np.cbrt(1 + a * (bound - a / 6)) - 1) if abs(a) > 1e-9 else bound

    return d - max(t, hall(t)) * v**0.5, d - min(-t, hall(-t)) * v**0.5


def mean(values, statistic, paired):
    """A method's statistic, its squared error, degrees of freedom and skewness."""
    own = contributions(values, statistic)
    own = own.mean(axis=1)[:, None] if paired is True else own
    v, w, third = moments(own, 1e-12 * np.abs(own).max(), kept(values, statistic))
    d = point(values, statistic)
    return (d, v, v**2 / w, third / v**1.5) if v > 0 else (d, 0.0, 1.0, 0.0)


def better(a, b, alpha):
    """P(a run of a beats one of b on a task), and its interval; NaN where there is none."""
    (n, tasks), m = a.shape, len(b)
    wins = (a[:, None] > b[None]) + (a[:, None] == b[None]) / 2
    theta = wins.mean(axis=(0, 1)).mean()
    if tasks * log(comb(n + m, n)) < log(2 / alpha) or min(n, m) < 3:
        return theta, np.nan, np.nan
    total, sizes = n + m, n**2 * (2 * n + 3) + m**2 * (2 * m + 3)
    v0 = (total**2 * (2 * total + 3) - sizes) / 72 / (n * m) ** 2 / tasks
    counts = (wins.sum(axis=1), n), (wins.sum(axis=0), m)
    parts = [(k * of.var(axis=0, ddof=1) / (n * m * tasks) ** 2, k - 1) for of, k in counts]
    v, w = sum(of.sum() for of, _ in parts), sum((of**2).sum() / f for of, f in parts)
    t = stats.t.isf(alpha / 2, v**2 / w) * np.sqrt(v) if v > 0 else 0.0
    k, half = stats.norm.isf(alpha / 2) ** 2 * 4 * v0, 0.5 / (n * m * tasks)

    def score(of, side):
        e = min(1, max(0, of))
        return (e + k / 2 + side * np.sqrt(k * e * (1 - e) + k**2 / 4)) / (1 + k)

    low, high = min(score(theta - half, -1), theta - t), max(score(theta + half, 1), theta + t)
    return (theta, low, high) if low > 0 or high < 1 else (theta, np.nan, np.nan)


EARLIER = {"overconfident": "too narrow", "too narrow here": "too narrow", "undecided": "open",
           "underconfident": "too wide", "too wide here": "too wide", "honest": "calibrated",
           "as stated here": "calibrated", "mixed": "open"}  # fmt: skip
"""Words in files of an earlier protocol."""


def word(low, high, level):
    slack = (1 - level) / 2
    if high < level - slack:
        return "too narrow"
    inside = level - slack <= low <= high <= level + slack
    return "too wide" if low > level + slack else "calibrated" if inside else "open"


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_means_and_words_are_those_of_a_program_that_shares_no_code(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    board = pd.read_csv(folder / "leaderboard.csv", dtype={"method": str}).set_index("method")
    metric, by = manifest["primary_metric"], manifest["ranks_by"]
    free = {metric[end] for end in ("lowest", "highest", "fails_beyond")} == {None}
    known = matrices(folder)
    for name, statistic in product(known, ("iqm", "mean", "median", "optimality_gap")):
        if pd.notna(found := board.loc[name].get(statistic)):
            of_rliable = getattr(metrics, f"aggregate_{statistic}")(known[name])
            assert found == pytest.approx(of_rliable, rel=1e-5, abs=1e-9)
    for name, values in known.items() if free and not metric["may_fail"] else ():
        d, v, f, skew = mean(values, by, manifest["paired"])
        assert board.loc[name, by] == pytest.approx(d, rel=1e-5, abs=1e-9)
        low, high = board.loc[name, [f"{by}_low", f"{by}_high"]].astype(float)
        if v == 0 or len(values) < 3:
            assert np.isnan(low)
        else:
            assert (low, high) == pytest.approx(ends(d, v, f, skew, 0.05), rel=2e-5, abs=1e-9)
    columns = [f"{of}coverage_{level}_mean" for level in (90, 95) for of in ("", "q_")]
    column = next((name for name in columns if name in board), None)
    for name, said in board["calibration"].dropna().items() if column else ():
        low, high = board.loc[name, [f"{column}_low", f"{column}_high"]]
        if board.loc[name, "role"] == "method" and low == low:
            assert EARLIER.get(said, said) == word(low, high, 0.9 if "90" in column else 0.95)


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_pairs_and_ranks_are_those_of_a_program_that_shares_no_code(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    pairs = pd.read_csv(folder / "pairs.csv", dtype={"first": str, "second": str})
    board = pd.read_csv(folder / "leaderboard.csv", dtype={"method": str}).set_index("method")
    pairs = pairs.set_index(["first", "second"])
    known, role, by = matrices(folder), board["role"], manifest["ranks_by"]
    alike = len({len(of) for of in known.values()}) == 1
    family = [
        (a, b)
        for a, b in combinations(sorted(known), 2)
        if {role[a], role[b]} <= {"method", "trivial"} and {role[a], role[b]} != {"trivial"}
    ]
    metric = manifest["primary_metric"]
    drawn = metric["fails_beyond"] is not None or (metric["lowest"], metric["highest"]) == (0, 1)
    drawn = drawn or bool({*metric["may_fail"]} & {*manifest["task_versions"]})
    better = {}
    for a, b in family:
        row = pairs.loc[(a, b)]
        if not drawn:
            d, v, f, skew = difference(known[a], known[b], by, alike and manifest["paired"])
            assert row["difference"] == pytest.approx(d, rel=1e-5, abs=1e-9)
            if v == 0 or min(len(known[a]), len(known[b])) < 3:
                assert np.isnan(row[["difference_low", "difference_high", "p"]].astype(float)).all()
                continue
            low, high = ends(d, v, f, skew, 0.05 / len(family))
            assert row["difference_low"] == pytest.approx(low, rel=2e-5, abs=1e-9)
            assert row["difference_high"] == pytest.approx(high, rel=2e-5, abs=1e-9)
        low, high = row["difference_low"], row["difference_high"]
        assert (low > 0 or high < 0) == (row["p_adjusted"] <= 0.05)
        if low > 0 or high < 0:
            better[(a, b) if low > 0 else (b, a)] = True
    ranked = [name for name in known if role[name] == "method"]
    for name in ranked if manifest["budget"]["ranks"] and len(ranked) > 1 else []:
        above = sum((other, name) in better for other in ranked)
        below = sum((name, other) in better for other in ranked)
        found = board.loc[name, ["rank_low", "rank_high"]].astype(int).tolist()
        assert found == [1 + above, len(ranked) - below]
        assert (board.loc[name, "may_be_first"] == "yes") == (above == 0)
    trivial = [name for name in known if role[name] == "trivial"]
    best = max(trivial, key=lambda name: board.loc[name, by], default=None)
    for name in ranked if best is not None else []:
        beats = board.loc[name, "beats_trivial"]
        assert pd.isna(beats) or (beats == "yes") == ((name, best) in better)


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_probabilities_of_improvement_are_those_of_a_program_that_shares_no_code(folder):
    pairs = pd.read_csv(folder / "pairs.csv", dtype={"first": str, "second": str})
    role = pd.read_csv(folder / "leaderboard.csv", dtype=str).set_index("method")["role"]
    known = {name: of for name, of in matrices(folder).items() if len(of) < 300}
    both = pairs[pairs["first"].isin([*known]) & pairs["second"].isin([*known])]
    kinds = [{role[a], role[b]} for a, b in zip(pairs["first"], pairs["second"], strict=True)]
    compared = [of <= {"method", "trivial"} and of != {"trivial"} for of in kinds]
    family = pd.Series(np.where(compared, sum(compared), 1), pairs.index)
    for row in both.itertuples():
        found = better(known[row.first], known[row.second], 0.05 / family[row.Index])
        ends = np.clip(found[1:], 0, 1)
        assert row.improvement == pytest.approx(found[0], abs=2e-6)
        stored = [row.improvement_low, row.improvement_high]
        assert stored == pytest.approx([*ends], abs=2e-6, nan_ok=True)


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_tasks_of_boards_that_are_paired_by_runs_are_independent(folder):
    """Within 3.5 standard errors: of seven boards one would fail by chance in 600 times."""
    if json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["paired"] != "runs":
        return
    known = [of for of in matrices(folder).values() if (np.ptp(of, axis=0) > 1e-9).all()]
    seeds, tasks = known[0].shape
    means = np.mean([stats.zscore(of) for of in known if len(of) == seeds], axis=0)
    pairs = np.atleast_2d(np.corrcoef(means.T))[np.triu_indices(tasks, 1)]
    assert pairs.sum() <= 3.5 * (len(pairs) / (seeds - 1)) ** 0.5
