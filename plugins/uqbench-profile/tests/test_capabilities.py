"""The profile of a board: means over tasks of a seed, then over seeds."""

import math
from itertools import product

import pandas as pd
import pytest
from uqbench_profile.capabilities import CAPABILITIES, profile, table


def scores() -> pd.DataFrame:
    """Two methods, two seeds; three seas and the bandits."""
    of_bandits = [metric for metric, on in CAPABILITIES.values() if on == "bandit-table"]
    rows = []
    for (method, good), seed in product((("mine", 0.4), ("other", 0.8)), (0, 1)):
        own = {"method": method, "seed": seed, "status": "finished"}
        bandits = dict.fromkeys(of_bandits, good)
        rows.append({**own, "task": "bandit-table", "exploration": "none", **bandits})
        for number, task in enumerate(("sea-8", "sea-10", "noisy-sea-8")):
            sea = {"exploration": good + 0.1 * number + 0.02 * seed}
            rows.append({**own, "task": task, **dict.fromkeys(of_bandits, "none"), **sea})
    return pd.DataFrame(rows)


def test_an_estimate_is_the_mean_over_seeds_of_the_means_over_tasks_with_a_t_interval() -> None:
    found = profile(scores()).set_index(["method", "capability"])
    mine = found.loc["mine", "deep exploration"]
    assert mine["estimate"] == pytest.approx(0.46)
    half = 12.7062 * (0.02 / math.sqrt(2)) / math.sqrt(2)  # Student's t of one degree
    assert mine["high"] - mine["estimate"] == pytest.approx(half, rel=1e-4)
    assert mine["runs"] == 2
    assert found.loc[("mine", "… with noisy rewards"), "estimate"] == pytest.approx(0.61)
    assert found.loc[("other", "decisions"), "estimate"] == pytest.approx(0.8)
    assert ("mine", "… with a noisy TV") not in found.index  # was not run


def test_a_seed_that_lacks_a_task_does_not_count() -> None:
    lacking = scores()
    lost = (lacking["task"] == "sea-8") & (lacking["seed"] == 1) & (lacking["method"] == "mine")
    lacking.loc[lost, "status"] = "failed"
    found = profile(lacking).set_index(["method", "capability"])
    assert found.loc[("mine", "deep exploration"), "runs"] == 1
    assert math.isnan(found.loc[("mine", "deep exploration"), "low"])


def test_the_table_has_capabilities_in_their_order_and_the_best_method_first() -> None:
    wide = table(profile(scores()))
    assert list(wide.index) == ["other", "mine"]
    not_run = ("… with a noisy TV", "risk control")
    assert list(wide.columns) == [name for name in CAPABILITIES if name not in not_run]
