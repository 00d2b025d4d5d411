"""What it would cost to decide the claims that are open: makes the table of docs/claims.md.

    python benchmarks/claim_prices.py

Each claim counts once, on the committed board of a budget that it needs: the one that decides, or
has the most seeds. A price is the number of seeds that would decide with 80 % probability, times
what a seed of the methods that the claim names took on that board, by its ``cost.csv``.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd

from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites
from uqbench.suites.suite import Suite

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "claims.md"
BEGIN, END = "<!-- prices -->\n", "<!-- end of prices -->\n"
MORE = re.compile(r"about ([\d,]+) more seeds? would decide with 80 % probability (\([^)]*\))")
ORDER = ("holds", "does not hold", "equal", "undecided", "not applicable", "not run")


def data_sets(suite: Suite) -> int | None:
    """How many data sets a suite's problem has, where each has its own ground truth."""
    specs = load_host().datasets
    own = [specs[task.dataset].load_factory() for task in suite.tasks if task.dataset]
    counts = [count for of in own if (count := getattr(of, "n_datasets", None))]
    return min(counts, default=None)


def price(suite: str, budget: str, claim: str, more: int) -> float | None:
    """Core-hours of so many seeds of the methods that a claim names; None where none was kept."""
    path = ROOT / "leaderboards" / suite / budget
    plan = Session(Options(suite=suite, budget=budget), say=lambda _: None).plan()
    (kind,) = [kind for known, kind in plan.claims if known.id == claim]
    cost, scores = pd.read_csv(path / "cost.csv"), pd.read_csv(path / "scores.csv")
    own = cost[cost["method"].isin(kind.named_methods)]
    if kind.tasks:
        own = own[own["task"].isin(kind.tasks)]
    return own["device_hours"].sum() / scores["seed"].nunique() * more if len(own) else None


def table() -> list[str]:
    """The page's lines."""
    found: dict[tuple[str, str], tuple[int, int, str, str]] = {}
    suites = read_suites(load_host(), check=()).suites
    for suite in suites.values():
        found |= {(suite.name, of.id): (ORDER.index("not run"), 0, "", "") for of in suite.claims}
        for path in sorted((ROOT / "leaderboards" / suite.name).glob("*/claims.csv")):
            for row in pd.read_csv(path).drop_duplicates("claim").to_dict("records"):
                key, reason = (suite.name, row["claim"]), str(row["reason"])
                judged = ORDER.index(row["verdict"]), -int(row["seeds"]), path.parent.name, reason
                if key in found:
                    found[key] = min(found[key], judged)
    words = Counter(ORDER[judged[0]] for judged in found.values())
    told = ", ".join(f"{words[word]} {word}" for word in ORDER if words[word])
    lines = [f"Of {len(found)} claims: {told}. Those that are undecided:", ""]
    lines += ["| suite | claim | more seeds | core-hours |", "| --- | --- | --- | --- |"]
    for (name, which), (verdict, _, budget, reason) in sorted(found.items()):
        if ORDER[verdict] != "undecided":
            continue
        more = MORE.search(reason)
        hours = price(name, budget, which, int(more[1].replace(",", ""))) if more else None
        seeds = f"{more[1]} {more[2]}" if more else reason
        board = ROOT / "leaderboards" / name / budget / "scores.csv"
        needed = pd.read_csv(board)["seed"].nunique() + int(more[1].replace(",", "")) if more else 0
        if (count := data_sets(suites[name])) is not None and count < needed:
            seeds += f", but there are {count} data sets, and more need a ground truth first"
        told = "" if hours is None else f"{hours:.2g}"
        lines.append(f"| {name} {budget} | `{which}` | {seeds} | {told} |")
    return lines


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    written = "\n".join(table())
    print(written)
    PAGE.write_text(f"{before}{BEGIN}\n{written}\n\n{END}{after}", encoding="utf-8")
