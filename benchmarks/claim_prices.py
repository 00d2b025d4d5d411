"""What it would cost to decide the claims that are open: ``benchmarks/claim_prices.csv``.

    python benchmarks/claim_prices.py [BOARDS]

Each claim counts once, as the index of boards counts it. A price is the number of seeds that would
decide with 80 % probability if today's estimates were exact, times what a seed of the methods that
the claim names took on that board, by its ``cost.csv``; ``chance`` is the probability that these
seeds decide, averaged over the error of today's estimates. A claim has no price where no number of
seeds decides: where an estimate is exactly on the border, or the claim is not one about a mean over
seeds. Printed is how many claims have which verdict, those of suites without a board apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pandas as pd
from uqbench_claims.judged import distinct, judged_claims
from uqbench_claims.verdict import Verdict

from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards.stored import StoredBoard, boards_below
from uqbench.registry.load_host import load_host
from uqbench.results.folders import Folder
from uqbench.suites.reading import read_suites
from uqbench.suites.suite import Suite

ROOT = Path(__file__).parents[1]


def data_sets(suite: Suite) -> int | None:
    """How many data sets a suite's problem has, where each has its own ground truth."""
    specs = load_host().datasets
    own = [specs[task.dataset].load_factory() for task in suite.tasks if task.dataset]
    counts = [count for of in own if (count := getattr(of, "n_datasets", None))]
    return min(counts, default=None)


def hours(board: StoredBoard, claim: str) -> float | None:
    """Core-hours of a seed of the methods that a claim names; None where none was kept."""
    options = Options(suite=board.suite, budget=board.manifest.budget["name"])
    plan = Session(options, say=lambda _: None).plan()
    (kind,) = [kind for known, kind in plan.claims if known.id == claim]
    own = board.cost[board.cost["method"].isin(kind.named_methods)]
    if kind.tasks:
        own = own[own["task"].isin(kind.tasks)]
    return own["device_hours"].sum() / board.scores["seed"].nunique() if len(own) else None


def prices(root: Path) -> pd.DataFrame:
    """A row an undecided claim; prints how many claims have which verdict."""
    suites = read_suites(load_host(), check=()).suites
    boards = [StoredBoard(folder) for folder in boards_below(Folder(root))]
    counted = distinct(claim for board in boards for claim in judged_claims(board))
    words = Counter(claim.verdict for claim in counted)
    told = [f"{words[word.value]} {word.value}" for word in Verdict if words[word.value]]
    elsewhere = sum(len(suite.claims) for suite in suites.values()) - len(counted)
    print(f"Of {len(counted)} claims: {', '.join(told)}; {elsewhere} of suites without a board")
    rows = []
    for one in sorted(counted, key=lambda claim: (claim.board.title, claim.id)):
        if one.verdict != Verdict.OPEN.value:
            continue
        claims = one.board.claims
        row = claims[claims["claim"] == one.id].iloc[0]
        more, cost = row["more_seeds"], hours(one.board, one.id)
        most = data_sets(suites[one.board.suite])
        short = most is not None and most < one.seeds + more
        rows.append(
            {
                "board": one.board.title,
                "claim": one.id,
                **{name: row[name] for name in ("more_seeds", "more_seeds_low", "more_seeds_high")},
                "chance": row["chance"],
                "core_hours": None if cost is None else float(f"{cost * more:.2g}"),
                "remark": f"there are {most} data sets; more need a ground truth" if short else "",
            }
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table = prices(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "leaderboards")
    print(table.to_string(index=False))
    table.to_csv(ROOT / "benchmarks" / "claim_prices.csv", index=False, float_format="%.6g")
