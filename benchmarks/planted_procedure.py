"""Whether each board's error rate would see a wrong procedure: makes planted_procedure.csv.

    python benchmarks/planted_procedure.py [SUITE/BUDGET ...]

Boards of equal methods are drawn as for ``errors.csv``; beside uqbench's own procedure one without
any adjustment is planted: two methods differ where their own p-value is at most .05. ``found`` says
whether the planted one would be seen, by the same binomial test that marks a board. Where a board
has a single pair, or two rows whose runs vary, the two procedures are one.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from uqbench_leaderboard import error_rates as module
from uqbench_leaderboard.error_rates import RANK, is_above

from uqbench.boards.leaderboard import COMPARED
from uqbench.contract.claim import Paired
from uqbench.statistics.bounded import Ranges, scaled
from uqbench.statistics.levels import ALPHA
from uqbench.suites.metrics import Metric, NormalizationConstants

TABLE = Path(__file__).with_suffix(".csv")
BOARDS = Path(__file__).parents[1] / "leaderboards"
PAIRED: dict[bool | str, Paired] = {False: "", True: "seeds", "runs": "runs"}
Matrix = NDArray[np.float64]


def matrices(folder: Path, tasks: Sequence[str]) -> dict[str, Matrix]:
    """The scores of each row with all of its runs, ``[seeds, tasks]``."""
    scores = pd.read_csv(folder / "scores.csv.gz", dtype={"method": str, "task": str})
    found = {}
    for method, own in scores.groupby("method"):
        table = own.pivot(index="seed", columns="task", values="score")
        if table.shape[1] == len(tasks) and np.isfinite(table.to_numpy()).all():
            found[str(method)] = table[tasks].to_numpy()
    return found


def ranges(manifest: dict[str, Any], tasks: Sequence[str]) -> Ranges | None:
    """The range of the primary metric's scores on each task where runs may fail."""
    own = manifest["primary_metric"]
    metric = Metric.model_validate({key: own[key] for key in own if key != "margin"})
    constants = manifest["normalization"]["constants"]
    normalizers = [NormalizationConstants.model_validate(constants[t]).normalize for t in tasks]
    return scaled([metric.range_on(task) for task in tasks], normalizers)


def rates(folder: Path) -> dict[str, str]:
    """The row of a board: pairs, drawn boards, percent with some pair apart by either procedure."""
    planted, pairs = list[bool](), list[int]()
    own = module.some_differ

    def watched(p: Sequence[float], family: int) -> bool:
        planted.append(min(p, default=1.0) <= ALPHA)
        pairs.append(family)
        return own(p, family)

    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    roles = pd.read_csv(folder / "leaderboard.csv", dtype=str).set_index("method")["role"]
    tasks = sorted(manifest["task_versions"])
    compared = {n: of for n, of in matrices(folder, tasks).items() if roles[n] in COMPARED}
    module.some_differ = watched
    try:
        wrong = module.error_rates(
            compared,
            manifest["ranks_by"],
            paired=PAIRED[manifest["paired"]],
            ranks=manifest["budget"]["ranks"],
            ranges=ranges(manifest, tasks),
            baselines=[name for name in compared if roles[name] == "trivial"],
        )[RANK]
    finally:
        module.some_differ = own
    if not wrong:
        return {"pairs": "0", "drawn": "0", "own": "", "planted": "", "found": "no ranks"}
    varying = sum(np.ptp(of) > 0 for of in compared.values())
    alone = "two rows vary" if varying < 3 else "no"
    return {
        "pairs": str(pairs[0]),
        "drawn": str(len(wrong)),
        "own": f"{100 * float(np.mean(wrong)):.1f}",
        "planted": f"{100 * float(np.mean(planted)):.1f}",
        "found": "yes" if is_above(planted) else "one pair" if pairs[0] == 1 else alone,
    }


def main() -> None:
    """Write the rows of all boards, or those of some anew."""
    began, made = time.process_time(), dict[str, dict[str, str]]()
    folders = sorted(path.parent for path in BOARDS.glob("*/*/manifest.json"))
    if sys.argv[1:]:
        folders = [BOARDS / name for name in sys.argv[1:]]
        with TABLE.open(newline="", encoding="utf-8") as file:
            made = {row["board"]: row for row in csv.DictReader(file)}
    for folder in folders:
        name = "/".join(folder.parts[-2:])
        made[name] = {"board": name} | rates(folder)
        print(f"{time.process_time() - began:6.0f} s", *made[name].values(), flush=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(next(iter(made.values()))), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made[name] for name in sorted(made))


if __name__ == "__main__":
    main()
