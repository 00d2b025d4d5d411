"""Processes of the driver write the steps of their runs, which ``uqbench status`` reads."""

import json

from uqbench.executor import ORDERS
from uqbench.runner import events
from uqbench.runner.step_log import StepLogWriter, forget, latest_steps, log_path


def test_the_steps_of_what_is_executed_are_there_until_they_are_forgotten(batch, tmp_path):
    writer = StepLogWriter(tmp_path)
    writer.add(events.Started(batch))
    writer.add(events.Progress(batch, 20, 1.0, {}))
    assert set(latest_steps(tmp_path)) == {str(run.folder) for run in batch.runs}
    assert {latest.step for latest in latest_steps(tmp_path).values()} == {20}
    forget(tmp_path, writer.name)
    assert not (tmp_path / ORDERS).exists()


def test_a_nodes_log_has_more_and_its_steps_are_read(tmp_path):
    log = {
        "version": 2, "order": "0" * 16, "host": "n7", "pid": 3, "attempts": 2, "refused": "",
        "steps": {"a/b/0": {"step": 7, "seconds_left": 1.5}}, "events": [{"kind": "started"}],
    }  # fmt: skip
    path = log_path(tmp_path, "0" * 16)
    path.parent.mkdir()
    path.write_text(json.dumps(log))
    assert {run: latest.step for run, latest in latest_steps(tmp_path).items()} == {"a/b/0": 7}
    path.write_text(json.dumps(log | {"version": 1}))
    assert latest_steps(tmp_path) == {}
