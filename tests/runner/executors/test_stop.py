"""A worker that is asked to stop says so, whenever it is asked, and however often."""

import os
import signal
import time
from pathlib import Path

import pytest

from uqbench.runner.executors.local import STOPPED, _work
from uqbench.runner.executors.messages import Channel, ready
from uqbench.runner.executors.spawn import listen, start
from uqbench.runner.stop import Stop

TOY = Path(__file__).parents[2] / "toy"


def last_message(channel: Channel) -> object:
    message = None
    while True:
        ready([channel], 120.0)
        try:
            for message in channel.receive():  # noqa: B007
                pass
        except (EOFError, OSError):
            return message


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_a_worker_that_is_asked_while_it_starts_says_that_it_stops(
    tmp_path, monkeypatch, number, seconds
):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    process, channel = start(_work, str(tmp_path), 0.0, "")
    time.sleep(seconds)
    for _ in range(2):
        os.kill(process.pid or 0, number)
    assert last_message(channel) == STOPPED
    process.join(120.0)
    assert process.exitcode == STOPPED


def wait_for_a_signal(channel: Channel, seconds: float) -> None:
    time.sleep(seconds)  # as imports take
    stop = Stop()
    try:
        listen(stop.ask)
        time.sleep(60.0)
    except SystemExit:
        channel.send("stopped")


def test_a_signal_that_comes_before_there_is_a_handler_is_kept_until_there_is():
    process, channel = start(wait_for_a_signal, 1.0)
    os.kill(process.pid or 0, signal.SIGUSR2)
    assert last_message(channel) == "stopped"
    process.join(60.0)
    assert process.exitcode == 0
