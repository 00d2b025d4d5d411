"""A plugin that harms the process it runs in costs its own runs, and no others."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_runs import first_batch, plan_of

from uqbench.lanes import Uniform
from uqbench.registry import Host
from uqbench.results import RunState, Store
from uqbench.runner import Batch
from uqbench.runner.events import Failed, Finished, Split
from uqbench.runner.executors import local
from uqbench.runner.executors.limits import Limits

pytestmark = pytest.mark.long

TESTS = Path(__file__).parents[1]
LONG = pytest.mark.skipif("UQBENCH_FAULTS" not in os.environ, reason="tox -e faults")
"""The long form of the campaign."""
WRITTEN = "the worker was ended: its pipe was written to by something else than uqbench"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    for folder in (TESTS / "toy", TESTS / "faults" / "hostile"):
        monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,hostile,builtin")
    monkeypatch.setattr(local, "STOP_SECONDS", 0.3)
    return Host.load()


def batch(host: Host, deed: str, only_below: float = 1.0, seeds: int = 3) -> Batch:
    """Runs of a method that does something in lanes whose first number is below a bound."""
    settings = {"hostile": {"deed": deed, "only_below": only_below}}
    return first_batch(plan_of(host, suite="hostile", seeds=range(seeds), settings=settings))


def execute(groups: list[Any], out: Path, limits: Limits = local.NO_LIMITS) -> list[Any]:
    return list(local.run_locally(groups, out, 1, 0.0, limits))


def hurt(batch: Batch) -> list[int]:
    """Seeds whose lanes do it."""
    first = Uniform([run.agent_seed for run in batch.runs], "walk", device=torch.device("cpu"))
    below = (first.at(0) < batch.cell.config.only_below).tolist()
    return [run.seed for run, bad in zip(batch.runs, below, strict=True) if bad]


def test_a_run_that_exceeds_the_memory_fails_and_the_others_of_its_batch_finish(host, tmp_path):
    made = batch(host, "memory", only_below=0.5)
    bad = hurt(made)
    assert len(bad) == 1
    events = execute([(made,)], tmp_path, Limits(run_gigabytes=0.5))
    reason = "it took more than 0.5 GB of memory (--run-memory)"
    assert [e.reason for e in events if isinstance(e, Split)] == [reason]
    failed = [event for event in events if isinstance(event, Failed)]
    assert [(run.seed, e.reason) for e in failed for run in e.batch.runs] == [(bad[0], reason)]
    store = Store(tmp_path)
    states = {run.seed: store.find(run) for run in made.runs}
    finished = {seed for seed, found in states.items() if found.state is RunState.FINISHED}
    assert finished == {run.seed for run in made.runs} - set(bad)
    assert states[bad[0]].reason == reason


def test_a_dead_worker_whose_forked_child_lives_on_is_seen_and_replaced(host, tmp_path):
    bad, good = batch(host, "fork", seeds=1), batch(host, "", seeds=1)
    events, began = execute([(bad,), (good,)], tmp_path), time.monotonic()
    failed, finished = (event for event in events if isinstance(event, Failed | Finished))
    assert isinstance(finished, Finished)
    assert failed.reason == "the worker was killed by SIGKILL"
    assert time.monotonic() - began < 60
    assert Store(tmp_path).find(bad.runs[0]).state is RunState.FAILED  # its child held the lock


DEEDS = [
    ("exit", "the worker ended with exit code 3"),
    ("segfault", "the worker was killed by SIGSEGV"),
    ("babble", WRITTEN),
    ("loop", "it made no progress for 0.2 minutes (--stall-minutes)"),
]


@LONG
@pytest.mark.parametrize(("deed", "reason"), DEEDS)
def test_what_a_plugin_does_to_its_process_fails_its_run_alone(deed, reason, host, tmp_path):
    bad, good = batch(host, deed, seeds=1), batch(host, "", seeds=2)
    events = execute([(bad,), (good,)], tmp_path, Limits(stall_minutes=0.2))
    assert [event.reason for event in events if isinstance(event, Failed)] == [reason]
    store = Store(tmp_path)
    assert store.find(bad.runs[0]).reason == reason
    assert {store.find(run).state for run in good.runs} == {RunState.FINISHED}


@LONG
def test_a_thread_that_never_ends_does_not_keep_the_command_from_ending(host, tmp_path):
    made = batch(host, "thread", seeds=1)
    execute([(made,)], tmp_path)
    assert Store(tmp_path).find(made.runs[0]).state is RunState.FINISHED
