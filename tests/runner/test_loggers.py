"""Loggers write what the life-cycle hooks say, below the results folder, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from uqbench.errors import UqbenchError
from uqbench.identity import Run
from uqbench.registry.plugins import Host
from uqbench.runner.loggers import LOGGERS, Write, logging
from uqbench.suites.selection import Selection

TOY = Path(__file__).parents[1] / "toy"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    return Host.load()


@pytest.fixture
def run(host) -> Run:
    chosen = Selection("toy", methods=("fast",), tasks=("short",), seeds=(0,))
    return chosen.plan(host, "cpu").runs[0]


def go(host: Host, run: Run) -> list[str]:
    messages = host.call_hook("uqbench_run_started", run=run)
    for step in (100, 200):
        metrics = {"reward": step / 2, "events/falls": 1.0}
        messages += host.call_hook("uqbench_run_progress", run=run, step=step, metrics=metrics)
    return messages + host.call_hook(
        "uqbench_run_finished", run=run, scalars={"score": 0.5, "regret": None}
    )


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """What a logger wrote that is named like an installed library, ``json``."""
    rows: list[tuple] = []

    @contextmanager
    def open_log(root: Path, run: Run) -> Iterator[Write]:
        yield lambda step, metrics: rows.append((step, dict(metrics)))
        rows.append(("closed",))

    monkeypatch.setitem(LOGGERS, "json", open_log)
    return rows


def test_a_log_has_each_metric_and_the_final_ones_and_is_closed(host, run, tmp_path, logged):
    with logging(host, ("json",), tmp_path):
        assert go(host, run) == []
        assert logged == [
            (100, {"reward": 50.0, "events/falls": 1.0}),
            (200, {"reward": 100.0, "events/falls": 1.0}),
            (None, {"final/score": 0.5}),
            ("closed",),
        ]


def test_a_log_is_closed_at_an_interrupt(host, run, tmp_path, logged):
    with logging(host, ("json",), tmp_path):
        host.call_hook("uqbench_run_started", run=run)
    assert logged == [(None, {}), ("closed",)]


def test_nothing_is_logged_unless_it_is_asked_for(host, run, tmp_path, logged):
    with logging(host, (), tmp_path):
        go(host, run)
    with logging(host, ("json",), tmp_path):
        pass
    go(host, run)
    assert logged == []


def test_tensorboard_reads_back_what_was_logged(host, run, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with logging(host, ("tensorboard",), tmp_path):
        assert go(host, run) == []
    found = accumulator.EventAccumulator(str(tmp_path / "logs" / "tensorboard" / run.folder))
    found.Reload()
    assert [(e.step, e.value) for e in found.Scalars("reward")] == [(100, 50.0), (200, 100.0)]
    assert found.Scalars("final/score")[0].value == 0.5


def test_wandb_logs_offline(host, run, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with logging(host, ("wandb",), tmp_path):
        assert go(host, run) == []
    wandb.teardown()  # it writes in a process of its own
    (found,) = tmp_path.rglob("*.wandb")
    assert b"final/score" in found.read_bytes()


def test_an_unknown_logger_is_named(host, tmp_path):
    with (
        pytest.raises(UqbenchError, match=r"no logger 'tensorbord'\. Did you mean 'tensorboard'"),
        logging(host, ("tensorbord",), tmp_path),
    ):
        pass
