"""GPUs are shared out among processes."""

from pathlib import Path

import pytest
from toy_runs import plan_of

from uqbench.errors import UqbenchError
from uqbench.runner import make_batch_groups
from uqbench.runner.device import share_out, visible
from uqbench.runner.executors.local import run_locally

TOY = Path(__file__).parents[1] / "toy"


SHARES = [
    ("01", 0.25, None, "01010101"),
    ("3", 0.3, None, "333"),
    ("01", 0.5, 3, "010"),
    ("01", 0.0, 3, "010"),
    ("", 0.5, 2, ""),
]


@pytest.mark.parametrize(("gpus", "each", "workers", "expected"), SHARES)
def test_each_process_has_a_gpu_and_the_first_ones_differ(gpus, each, workers, expected):
    assert share_out(list(gpus), each, workers) == list(expected)


def test_a_batch_takes_one_gpu_at_most():
    with pytest.raises(UqbenchError, match="gpus=2: a batch computes on one GPU"):
        share_out(["0", "1"], 2.0, None)


def test_the_gpus_that_the_user_allows_are_those_that_are_used(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, 6")
    assert visible() == ["4", "6"]


@pytest.mark.long
def test_workers_see_the_gpu_that_they_were_given_and_no_other(host, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    chosen = {"methods": ["fast"], "tasks": ["short"]}
    plan = plan_of(host, "smoke", settings={"fast": {"step_seconds": 0.01}}, **chosen)
    log = tmp_path / "gpus"
    monkeypatch.setenv("TOY_GPUS", str(log))
    groups = make_batch_groups(plan, set(plan.runs), "cpu", 1)
    list(run_locally(groups, tmp_path / "results", 2, 0.0, gpus=["5", "7"]))
    assert sorted(log.read_text().split()) == ["5", "7"]
