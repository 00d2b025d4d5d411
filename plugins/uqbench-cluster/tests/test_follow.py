"""What a node writes becomes events of whoever follows, once each, also later."""

import json
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from uqbench_cluster.drive import ClusterDriver
from uqbench_cluster.event_log import EventLog, EventLogWriter, decode, follow
from uqbench_cluster.jobs import jobs
from uqbench_cluster.orders import make_order, write_order

from uqbench.executor import ORDERS, ExecutorContext, JobState, JobStatus, Order
from uqbench.registry import Added, Host
from uqbench.results import RunState, Store
from uqbench.runner import BatchGroup, events, execute, make_batch_groups
from uqbench.runner.drive import Where
from uqbench.runner.step_log import forget, latest_steps, read_log
from uqbench.specs import ExecutorSpec, NoConfig
from uqbench.suites import Plan, make_plan, read_suites


def cluster(*states: JobState, note: str = "") -> Mock:
    """Says in which states jobs are: the last one is repeated."""
    left = list(states or [JobState.RUNNING])

    def status(names: Collection[str]) -> dict[str, JobStatus]:
        return dict.fromkeys(names, JobStatus(left.pop(0) if len(left) > 1 else left[0], note))

    return Mock(poll_seconds=0.01, status=status)


def planned(host: Host) -> Plan:
    of = {"methods": ["fast"], "tasks": ["short"]}
    return make_plan(read_suites(host).suite("toy"), host, "smoke", device="cpu", **of)


@pytest.fixture
def sent(host: Host, tmp_path: Path) -> tuple[Order, BatchGroup]:
    plan = planned(host)
    [group] = make_batch_groups(plan, set(plan.runs), "cpu", 2)
    order = make_order(plan, group, host, Where(checkpoint_seconds=0.0))
    write_order(order, tmp_path)
    return order, group


def register(host: Host, make: Callable[[], Any]) -> None:
    """An executor ``cluster``."""

    def factory(context: ExecutorContext, config: NoConfig) -> Any:
        return make()

    spec = ExecutorSpec(name="cluster", version="1", factory=factory, config=NoConfig, summary=".")
    added = Added({"executor": [spec]})
    host.register(name="cluster", distribution="cluster", version="1", load=lambda: added)


def kinds(found: Iterable[Any]) -> list[str]:
    return [type(event).__name__ for event in found]


def test_progress_is_the_latest_only_and_status_sees_it(sent, tmp_path):
    order, (batch,) = sent
    time = 0.0
    writer = EventLogWriter(tmp_path, order, clock=lambda: time)
    writer.add(events.Started(batch, 10, 2.0, 2))
    for step in (20, 60):
        time = float(step)
        metrics = {run.seed: {"reward": float(run.seed), "nan": float("nan")} for run in batch.runs}
        writer.add(events.Progress(batch, step, step / 10, metrics, 10))
    left = 6.0 * (batch.budget.steps - 60) / 50
    assert {now.step for now in latest_steps(tmp_path).values()} == {60}
    for now in latest_steps(tmp_path).values():
        assert now.seconds_left == pytest.approx(left)
    assert set(latest_steps(tmp_path)) == {str(run.folder) for run in batch.runs}
    followed = list(follow(cluster(JobState.ENDED, note="the node burned"), [sent], tmp_path))
    assert order.path(tmp_path).exists()  # for whoever executes it after all
    started, progress, failed = followed
    assert (started.step, progress.step, failed.reason) == (10, 60, "the node burned")
    assert progress.metrics[1]["reward"] == 1.0
    assert progress.metrics[1]["nan"] != progress.metrics[1]["nan"]


def test_who_is_gone_fails_and_what_it_had_finished_is_finished(host, sent, tmp_path):
    _, (batch,) = sent
    store = Store(tmp_path)
    execute((batch.of(batch.runs[:1]),), store, host, lambda event: None, 0.0)
    followed = list(follow(cluster(JobState.ENDED, note="out of memory"), [sent], tmp_path))
    assert kinds(followed) == ["Finished", "Failed"]
    assert followed[0].batch.runs == batch.runs[:1]
    assert followed[0].scalars[0]["online_return"] is not None
    assert followed[1].batch.runs == batch.runs[1:]
    found = store.find(batch.runs[1])
    assert (found.state, found.reason) == (RunState.FAILED, "out of memory")


def test_a_job_that_is_requeued_finds_its_order_and_is_not_failed(host, sent, tmp_path):
    """Its node was lost; Slurm says so, once even that it ended, then that it waits."""
    order, group = sent
    lost = cluster(JobState.ENDED, JobState.RESTARTING, JobState.WAITING, note="NODE_FAIL")
    following = follow(lost, [sent], tmp_path, lambda seconds: None)
    assert next(following) == events.Notice(group[0], "NODE_FAIL")
    assert order.path(tmp_path).exists()
    writer = EventLogWriter(tmp_path, order)
    execute(group, Store(tmp_path), host, writer.add, 0.0)
    assert "Failed" not in kinds(following)
    assert not (tmp_path / ORDERS).exists()


def test_jobs_that_wait_for_one_reason_are_a_notice_and_counted(host, tmp_path, monkeypatch):
    plan = planned(host)
    groups = make_batch_groups(plan, set(plan.runs), "cpu", 1)
    sent = [(make_order(plan, group, host, Where("cluster")), group) for group in groups]
    for order, _ in sent:
        write_order(order, tmp_path)
    busy = cluster(JobState.WAITING, JobState.ENDED, note="Priority")
    monkeypatch.setattr(Host, "load", lambda: host)
    register(host, lambda: cluster(JobState.WAITING, note="Priority"))
    assert jobs(tmp_path) == [f"{len(sent)} jobs waiting: Priority"]
    followed = follow(busy, sent, tmp_path, lambda seconds: None)
    assert kinds(followed) == ["Notice", *["Failed"] * len(sent)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterDriver, "_executor", lambda *_: busy)
        assert not jobs(tmp_path)


FOREIGN = "which others wrote or may write: it was not asked"


PLACES = [
    (("cluster", {}), 0o644, "2 orders of cluster, which cannot be asked: ConnectionError: no"),
    (("cluster", {}), 0o666, f"2 orders of cluster, {FOREIGN}"),
    (("cluster", {"x": 1}), 0o644, "2 orders of cluster, which cannot be asked: UqbenchError"),
    (("ray", {"address": "ray://203.0.113.7"}), 0o644, "2 orders of ray, which is not install"),
    (("local", {}), 0o644, "2 orders of local, which takes no orders."),
]


@pytest.mark.parametrize(("place", "mode", "sentence"), PLACES)
def test_status_makes_no_executor_of_others_and_says_in_a_sentence_who_was_not_asked(
    place, mode, sentence, host, tmp_path, monkeypatch
):
    plan = planned(host)
    for group in make_batch_groups(plan, set(plan.runs), "cpu", 1):
        order = make_order(plan, group, host, Where(*place))
        write_order(order, tmp_path)
        order.path(tmp_path).chmod(mode)
    monkeypatch.setattr(Host, "load", lambda: host)
    made = []

    def factory() -> None:
        made.append(1)
        raise ConnectionError("no")

    register(host, factory)
    [said] = jobs(tmp_path)
    assert said.startswith(sentence)
    assert len(made) == ("ConnectionError" in sentence)


def test_a_run_that_is_locked_is_not_failed_whatever_the_scheduler_says(host, sent, tmp_path):
    _, (batch,) = sent
    store = Store(tmp_path)
    locks = [store.lock(run) for run in batch.runs]
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        for lock in locks if len(looks) == 5 else ():
            lock.release()

    [failed] = follow(cluster(JobState.ENDED, note="gone"), [sent], tmp_path, sleep)
    assert isinstance(failed, events.Failed)
    assert len(looks) >= 5


def test_a_second_attempt_adds_to_what_the_first_one_told(sent, tmp_path):
    order, (batch,) = sent
    first, other = (batch.of([run]) for run in batch.runs)
    EventLogWriter(tmp_path, order).add(events.Failed(first, "an error"))
    again = EventLogWriter(tmp_path, order)
    assert again.resumed
    again.add(events.Taken(first))
    again.add(events.Failed(other, "another"))
    assert kinds(list(follow(cluster(), [sent], tmp_path))) == ["Failed", "Taken", "Failed"]


def test_a_node_that_refuses_is_told_and_who_removes_an_order_is_told_no_more(sent, tmp_path):
    order, (batch,) = sent
    writer = EventLogWriter(tmp_path, order)
    writer.refuse("refused: other versions")
    writer.write()
    [failed] = follow(cluster(), [sent], tmp_path)
    assert failed.reason == "refused: other versions"
    forget(tmp_path, order.name)
    writer.add(events.Notice(batch, "a word"))
    assert not (tmp_path / ORDERS).exists()


def test_every_kind_of_event_comes_back_from_the_log_as_it_was(sent):
    _, group = sent
    [batch] = group
    numbers = {run.seed: {"a": 0.5, "b": float("inf")} for run in batch.runs}
    for event in (
        events.Started(batch, 3, 1.5, 2),
        events.Progress(batch, 4, 0.5, numbers, 3),
        events.Finished(batch.of(batch.runs[:1]), 2.0, {0: {"a": None}}),
        events.Failed(batch, "no room", full=True),
        events.Split(batch, "too large", 2),
        events.Taken(batch.of(batch.runs[1:])),
        events.Notice(batch, "a word"),
    ):
        table = json.loads(json.dumps(events.EVENT.dump_python(event, mode="json")))
        assert decode(table, events.runs_by_folder(group)) == event
    name = events.EVENT.dump_python(events.Notice(batch, "a\udcff"), mode="json")
    assert json.dumps(name, ensure_ascii=False).encode()


def test_what_names_other_runs_is_no_event_and_another_orders_file_no_log(sent, tmp_path):
    order, (batch,) = sent
    EventLogWriter(tmp_path, order).add(events.Started(batch))
    [path] = (tmp_path / ORDERS).glob("*.progress")
    text = path.read_text()
    for wrong in (text.replace(order.name, "0" * 16), "[" * 99999):
        path.write_text(wrong)
        assert read_log(tmp_path, order.name, EventLog) is None
    path.write_text(text.replace("short", "long"))
    assert read_log(tmp_path, order.name, EventLog) is not None
    [event] = follow(cluster(JobState.ENDED, note="gone"), [sent], tmp_path)
    assert isinstance(event, events.Failed)
