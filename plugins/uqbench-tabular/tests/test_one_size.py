"""A method's widths in all tasks of ``noise-and-ignorance``, times one factor."""

import numpy as np
import uqbench_dqn.sizes
from uqbench_leaderboard.rescored import gathered

import uqbench
from uqbench.registry import Host
from uqbench.results.store import Store
from uqbench.suites import make_plan, read_suites

METHODS = ["exact-posterior", "one-doubt"]


def test_one_factor_for_all_tasks_is_the_best_one_in_a_method_s_other_runs(tmp_path):
    """By NumPy, from the records: of 41 factors, by the mean of all other runs of both tasks."""
    uqbench.run("noise-and-ignorance", "smoke", methods=METHODS, out=tmp_path, workers=1)
    host, store = Host.load(), Store(tmp_path)
    suite = read_suites(host, check=()).suite("noise-and-ignorance")
    plan = make_plan(suite, host, "smoke", methods=METHODS, device="cpu")
    found = {row.run: row.values["size_at_one_factor"] for row in gathered(plan, store)}
    assert len(found) == 8
    for method in METHODS:
        runs = [run.on_device("cpu") for run in plan.runs if run.method == method]
        assert len({run.task for run in runs}) == 2
        curves = []
        for run in runs:
            records, _ = store.columns(run)
            own = dict(zip(records["metric"].tolist(), records["value"].tolist(), strict=True))
            curves.append([own[f"queries/size@{k}"] for k in range(len(uqbench_dqn.sizes.SIZES))])
            assert own["queries/size@20"] == own["queries/size"]
        for place, run in enumerate(runs):
            best = np.delete(curves, place, 0).mean(0).argmax()
            assert found[run.place] == curves[place][best]
