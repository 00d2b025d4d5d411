"""What a node writes becomes events of whoever follows, once each, also later."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from uqbench.runner.dispatch.progress import ProgressWriter, read_progress

from uqbench.executor import ORDERS, Life, Order, Resources
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner import events
from uqbench.runner.batching.batches import Batch, BatchGroup, make_batch_groups
from uqbench.runner.dispatch.event_log import steps_now
from uqbench.runner.dispatch.follow import follow, forget
from uqbench.runner.dispatch.orders import make_order, write_order
from uqbench.runner.executors.limits import Limits
from uqbench.runner.interleaving import execute
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

TOY = Path(__file__).parents[2] / "toy"


class Cluster:
    """Says that orders are alive until they are not."""

    def __init__(self, alive: bool = True, note: str = "") -> None:
        self.life = Life(alive, note)

    def submit(self, orders: Sequence[Order]) -> None: ...

    def alive(self, names: Collection[str]) -> Mapping[str, Life]:
        return dict.fromkeys(names, self.life)

    def preview(self, orders: Sequence[Order]) -> str:
        return ""

    def cancel(self, names: Collection[str]) -> None: ...


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    return Host.load()


@pytest.fixture
def sent(host: Host, tmp_path: Path) -> tuple[Order, BatchGroup]:
    plan = make_plan(
        read_suites(host).suite("toy"), host, "smoke", device="cpu", methods=["fast"],
        tasks=["short"],
    )  # fmt: skip
    [group] = make_batch_groups(plan, set(plan.runs), "cpu", 2)
    order = make_order(plan, group, host, 0.0, Limits(), Resources())
    write_order(order, tmp_path)
    return order, group


def kinds(found: Iterator[Any]) -> list[str]:
    return [type(event).__name__ for event in found]


def test_events_come_back_as_they_were_and_the_files_are_removed(host, sent, tmp_path):
    order, group = sent
    [batch] = group
    writer, told = ProgressWriter(order, tmp_path), []

    def report(event: events.Event) -> None:
        told.append(event)
        writer.hear(event)

    execute(group, Store(tmp_path), host, report, 0.0)
    writer.hear(events.Notice(batch, "a word"))
    heard = list(follow(Cluster(), [sent], tmp_path))
    assert heard == [event for event in told if not isinstance(event, events.Progress)] + [
        events.Notice(batch, "a word")
    ]
    assert not (tmp_path / ORDERS).exists()


def test_progress_is_the_latest_only_and_status_sees_it(sent, tmp_path):
    order, (batch,) = sent
    time = 0.0
    writer = ProgressWriter(order, tmp_path, clock=lambda: time)
    writer.hear(events.Started(batch, 10, 2.0, 2))
    for step in (20, 60):
        time = float(step)
        metrics = {run.seed: {"reward": float(run.seed), "nan": float("nan")} for run in batch.runs}
        writer.hear(events.Progress(batch, step, step / 10, metrics))
    assert {now.step for now in steps_now(tmp_path).values()} == {60}
    assert {now.rate for now in steps_now(tmp_path).values()} == {50 / 6.0}
    assert set(steps_now(tmp_path)) == {str(run.folder) for run in batch.runs}
    heard = list(follow(Cluster(False, "the node burned"), [sent], tmp_path))
    started, progress, failed = heard
    assert (started.step, progress.step, failed.reason) == (10, 60, "the node burned")
    assert progress.metrics[1]["reward"] == 1.0
    assert progress.metrics[1]["nan"] != progress.metrics[1]["nan"]


def test_who_is_gone_without_a_word_fails_and_what_it_had_finished_is_finished(
    host, sent, tmp_path
):
    _, (batch,) = sent
    store = Store(tmp_path)
    execute((batch.of(batch.runs[:1]),), store, host, lambda event: None, 0.0)
    heard = list(follow(Cluster(False, "out of memory"), [sent], tmp_path))
    assert kinds(iter(heard)) == ["Finished", "Failed"]
    assert heard[0].batch.runs == batch.runs[:1]
    assert heard[0].scalars[0]["online_return"] is not None
    assert heard[1].batch.runs == batch.runs[1:]
    found = store.find(batch.runs[1])
    assert (found.state, found.reason) == (RunState.FAILED, "out of memory")


def test_who_removes_an_order_is_told_no_more(sent, tmp_path):
    order, (batch,) = sent
    writer = ProgressWriter(order, tmp_path)
    writer.hear(events.Started(batch))
    forget(tmp_path, order.name)
    writer.hear(events.Notice(batch, "a word"))
    assert not (tmp_path / ORDERS).exists()


def test_a_node_that_refuses_is_told(sent, tmp_path):
    order, _ = sent
    ProgressWriter(order, tmp_path).refuse("refused: other versions")
    [failed] = follow(Cluster(), [sent], tmp_path)
    assert failed.reason == "refused: other versions"


def test_a_second_attempt_adds_to_what_the_first_one_told(sent, tmp_path):
    order, (batch,) = sent
    first, other = (batch.of([run]) for run in batch.runs)
    writer = ProgressWriter(order, tmp_path)
    writer.hear(events.Failed(first, "an error"))
    again = ProgressWriter(order, tmp_path)
    assert again.again
    again.hear(events.Taken(first))
    again.hear(events.Failed(other, "another"))
    heard = list(follow(Cluster(), [sent], tmp_path))
    assert kinds(iter(heard)) == ["Failed", "Taken", "Failed"]


def test_a_file_from_elsewhere_that_names_no_run_is_no_progress(sent, tmp_path):
    order, (batch,) = sent
    ProgressWriter(order, tmp_path).hear(events.Started(batch))
    [path] = (tmp_path / ORDERS).glob("*.progress")
    text = path.read_text()
    for wrong in (text.replace("[0,1]", "[0,7]"), text.replace(order.name, "0" * 16), "[" * 99999):
        path.write_text(wrong)
        assert read_progress(tmp_path, order.name) is None
    path.write_text(text)
    assert read_progress(tmp_path, order.name) is not None


def test_a_batch_too_large_for_the_memory_is_halved_and_others_are_taken_apart(
    host, tmp_path, monkeypatch
):
    import torch

    plan = make_plan(
        read_suites(host).suite("toy"), host, "smoke", device="cpu", methods=["fast"],
        tasks=["short"], seeds=range(5),
    )  # fmt: skip
    [group] = make_batch_groups(plan, set(plan.runs), "cpu", 5)

    def sizes(error: Exception) -> list[list[int]]:
        from toy_uqbench.walker import Walker

        def observe(walker: Walker, step: Any) -> None:
            raise error

        monkeypatch.setattr(Walker, "observe", observe)
        found: list[Batch] = []
        execute(group, Store(tmp_path), host, lambda event: _parts(event, found), 0.0)
        return [[run.seed for run in part.runs] for part in found]

    memory = torch.OutOfMemoryError("CUDA out of memory")
    assert sizes(memory) == [[0, 1, 2], [3, 4]]
    assert sizes(RuntimeError("it stumbled")) == [[0], [1], [2], [3], [4]]


def _parts(event: events.Event, found: list[Batch]) -> None:
    if isinstance(event, events.Split):
        found += event.parts
