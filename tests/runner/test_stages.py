"""Trained here, judged there: the same results, wherever a run stops between its two stages."""

import os
import pickle
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_runs import Command, began, first_batch, plan_of, texts

from uqbench.agent import Uncertainty
from uqbench.registry import Host
from uqbench.results import RunState, Store
from uqbench.runner import Batch, execute, make_batch_groups, states
from uqbench.runner.events import Failed, Finished, Started
from uqbench.runner.process import Stop
from uqbench.runner.states import on_stored_devices, reopen
from uqbench.runner.train.measurements import Measurements
from uqbench.suites import Metric, Plan, read_suites
from uqbench.uncertainty import scores

ERROR = Metric(
    name="q_error", summary="error of the mean", kind="agent", statistic="uncertainty/error",
    direction="min")  # fmt: skip
STEPS = 600


@pytest.fixture
def plan(host: Host) -> Plan:
    suite = read_suites(host).suite("toy")
    suite = suite.model_copy(update={"metrics": (*suite.metrics, ERROR)})
    return plan_of(host, suite=suite, methods=["fast"], tasks=["long"])


@pytest.fixture
def batch(plan: Plan) -> Batch:
    """Three seeds, as lanes of one batch; evaluated in the middle and at the end."""
    return first_batch(plan)


def run(batch, store, host, stage=None, seconds=60):
    """Execute what is left of a batch; what was reported."""
    told: list[Any] = []
    execute((replace(batch, stage=stage),), store, host, told.append, seconds, Stop())
    return told


def results(store: Store, batch: Batch) -> list[tuple[str, dict[str, Any]]]:
    records = [store.find(run).record for run in batch.runs]
    assert all(record.status == "finished" for record in records)
    scalars = [{n: x for n, x in one.scalars.items() if n != "speed"} for one in records]
    return [(one.digests["results"], of) for one, of in zip(records, scalars, strict=True)]


def in_states(store: Store, batch: Batch) -> set[RunState]:
    return {store.find(run).state for run in batch.runs}


def names(store: Store, batch: Batch) -> set[str]:
    return {path.name for run in batch.runs for path in store.folder(run).iterdir()}


FINISHED = {"run.json", "metrics.parquet", "episodes.parquet"}
TRAINED = {"run.json", "agent.pt", "training.pt"}


@pytest.fixture
def at_once(batch: Batch, host: Host, tmp_path: Path) -> Any:
    store = Store(tmp_path / "at-once")
    run(batch, store, host)
    assert names(store, batch) == FINISHED
    return results(store, batch)


def test_trained_and_judged_in_a_copy_it_equals_one_done_at_once(batch, host, at_once, tmp_path):
    there, here = Store(tmp_path / "there"), Store(tmp_path / "here")
    told = run(batch, there, host, "train")
    assert isinstance(told[-1], Finished)
    assert (told[-1].scalars, in_states(there, batch)) == ({}, {RunState.TRAINED})
    assert names(there, batch) == TRAINED
    shutil.copytree(there.root, here.root)
    before = here.find(batch.runs[0]).record.timing
    assert began(run(batch, here, host, "judge")) == [STEPS] * 3
    assert (results(here, batch), names(here, batch)) == (at_once, FINISHED)
    record = here.find(batch.runs[0]).record
    assert [one.step for one in record.resumed] == [STEPS]
    assert record.timing.lanes == before.lanes == 3  # an hour of training counts once,
    assert record.timing.cpu_seconds > before.cpu_seconds > 0  # and judging for all lanes
    assert in_states(there, batch) == {RunState.TRAINED}


def killed(call: Callable[[], object]) -> None:
    """Call something in a process of its own, which is killed inside."""
    if (pid := os.fork()) == 0:
        try:
            call()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), status
    assert os.WTERMSIG(status) == signal.SIGKILL


def kill(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("where", ["between", "judging", "asked", "storing"])
def test_killed_while_judged_it_is_trained_once(where, batch, host, at_once, tmp_path, monkeypatch):
    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        if where == "asked":
            stop = Stop()
            patch.setattr(Measurements, "_columns", lambda self: stop.ask())
            with pytest.raises(SystemExit):
                execute((batch,), store, host, lambda _: None, 60, stop)
        elif where == "between":
            patch.setattr(Measurements, "judged", kill)
        elif where == "judging":
            patch.setattr(Measurements, "_columns", kill)
        else:
            end, done = Store.finish, []
            patch.setattr(Store, "finish", lambda *a: kill() if done else (done.append(1), end(*a)))
        if where != "asked":
            killed(lambda: run(batch, store, host))
    left = {RunState.TRAINED} | ({RunState.FINISHED} if where == "storing" else set())
    assert in_states(store, batch) == left
    assert began(run(batch, store, host)) == [STEPS] * (2 if where == "storing" else 3)
    assert (results(store, batch), names(store, batch)) == (at_once, FINISHED)


def test_killed_while_storing_the_others_are_trained(batch, host, at_once, tmp_path, monkeypatch):
    store, train, done = Store(tmp_path), Store.train, []
    with monkeypatch.context() as patch:
        patch.setattr(Store, "train", lambda *a: kill() if done else (done.append(1), train(*a))[1])
        killed(lambda: run(batch, store, host))
    assert [store.find(one).state for one in batch.runs] == [
        RunState.TRAINED, RunState.ABANDONED, RunState.ABANDONED]  # fmt: skip
    began = [(e.step, len(e.batch.runs)) for e in run(batch, store, host) if isinstance(e, Started)]
    assert (began, results(store, batch)) == ([(STEPS, 1), (0, 2)], at_once)


def test_only_what_is_meant_is_to_do(plan, batch, host, tmp_path):
    store = Store(tmp_path)
    run(batch.of(batch.runs[:1]), store, host, "train")
    stored = states.stored_states(plan, store)
    assert states.to_do(stored) == set(plan.runs)
    assert states.to_do(stored, "judge") == {plan.runs[0]}
    assert states.to_do(stored, "train") == set(plan.runs[1:])
    said = "\n".join(states.describe(replace(plan, stage="train"), stored, store))
    assert "1 trained: to be judged, by --judge." in said
    said = "\n".join(states.describe(plan, stored, store))
    assert "1 trained: judged now." in said


@pytest.mark.parametrize("name", ["agent.pt", "training.pt"])
@pytest.mark.parametrize("damage", ["altered", "gone"])
def test_a_damaged_training_is_named_and_made_again(name, damage, batch, host, at_once, tmp_path):
    store, one = Store(tmp_path), batch.of(batch.runs[1:2])
    run(batch, store, host, "train")
    path = store.folder(one.runs[0]) / name
    path.write_bytes(path.read_bytes()[:-1] + b"?") if damage == "altered" else path.unlink()
    why = "does not match its digest in run.json" if damage == "altered" else "is damaged"
    [failed] = [e for e in run(batch.of(one.runs), store, host, "judge") if isinstance(e, Failed)]
    assert str(path) in failed.reason
    assert why in failed.reason
    [notice] = texts(run(batch, store, host))
    assert notice.startswith(f"starting over: {path}")
    assert results(store, batch) == at_once


@pytest.mark.parametrize("name", ["agent.pt", "training.pt"])
def test_a_training_from_elsewhere_runs_no_command(name, batch, host, tmp_path):
    store, mark, one = Store(tmp_path / "results"), tmp_path / "mark", batch.of(batch.runs[:1])
    run(one, store, host, "train")
    path = store.folder(one.runs[0]) / name
    torch.save({"state": Command(f"touch {mark}")}, path, pickle_module=pickle)
    record = store.read(one.runs[0].place).record
    listed = record.digests | {name: sha256(path.read_bytes()).hexdigest()}
    store.write(one.runs[0], record.model_copy(update={"digests": listed}))
    [failed] = [e for e in run(one, store, host, "judge") if isinstance(e, Failed)]
    assert not mark.exists()
    assert f"{path} cannot be used: " in failed.reason


def test_an_agent_without_a_state_is_judged_at_once(batch, host, at_once, tmp_path, monkeypatch):
    lacking = {"one": torch.zeros(7)}
    monkeypatch.setattr("toy_uqbench.walker.Walker.exported_state", lambda self: lacking)
    store = Store(tmp_path)
    [notice] = texts(run(batch, store, host, "train"))
    assert notice.startswith("--train-only: judged at once: the agent")
    assert results(store, batch) == at_once
    assert texts(run(batch, Store(tmp_path / "other"), host)) == []


def test_an_agent_that_predicts_otherwise_alone_is_not_judged(batch, host, tmp_path, monkeypatch):
    def crowd(self, obs):
        return Uncertainty(mean=torch.full((*obs.shape[:2], 2), float(len(obs))))

    monkeypatch.setattr("toy_uqbench.walker.Walker.uncertainty", crowd)
    store = Store(tmp_path)
    assert any("or predicts otherwise" in text for text in texts(run(batch, store, host, "train")))
    assert in_states(store, batch) == {RunState.FINISHED}


def again(plan: Plan, batch: Batch, store: Store, host: Host) -> tuple[list[str], list[Any]]:
    said: list[str] = []
    reopen(plan, store, said.append)
    return said, run(batch, store, host, "judge")


def test_kept_runs_are_judged_by_newer_scores(plan, batch, host, at_once, tmp_path, monkeypatch):
    store, keeping = Store(tmp_path / "kept"), replace(batch, keep_agents=True)
    run(keeping, store, host)
    assert names(store, batch) == FINISHED | TRAINED
    assert results(store, batch) == at_once
    assert again(plan, keeping, store, host)[0] == []  # nothing is older
    newer = replace(scores.SCORING_RULES["error"], version="2")
    monkeypatch.setitem(scores.SCORING_RULES, "error", newer)
    before = store.find(batch.runs[0]).record
    said, told = again(plan, batch, store, host)  # what was kept stays, though nobody says so
    assert said == [f"Judged again: 3 runs; what was judged before is in {store.root}/.earlier/1."]
    assert began(told) == [STEPS] * 3
    assert results(store, batch) == at_once
    after = store.find(batch.runs[0]).record
    assert before.score_versions == {}
    assert after.score_versions == {"uncertainty/error": "2"}
    assert after.timing == before.timing  # what training and the first judging cost
    assert Store(store.root / ".earlier" / "1").find(batch.runs[0]).state is RunState.FINISHED
    assert names(store, batch) == FINISHED | TRAINED
    assert again(plan, keeping, store, host)[0] == []


def test_a_run_that_kept_nothing_is_told_and_stays(plan, batch, host, tmp_path, monkeypatch):
    store = Store(tmp_path)
    run(batch, store, host)
    newer = replace(scores.SCORING_RULES["error"], version="2")
    monkeypatch.setitem(scores.SCORING_RULES, "error", newer)
    said, _ = again(plan, batch, store, host)
    assert "3 finished runs of other scores" in said[0]
    assert "--rerun" in said[0]
    assert in_states(store, batch) == {RunState.FINISHED}


def test_what_a_gpu_trained_is_judged_on_a_cpu(plan, batch, host, at_once, tmp_path):
    store = Store(tmp_path)
    there = batch.of([one.on_device("cuda") for one in batch.runs])
    run(there, store, host, "train")
    here = on_stored_devices(plan, store)
    assert here.runs == there.runs
    for batches in make_batch_groups(replace(here, stage="judge"), set(here.runs), "cpu", 5):
        execute(batches, store, host, lambda _: None)
    assert [of for of, _ in results(store, there)] == [of for of, _ in at_once]
