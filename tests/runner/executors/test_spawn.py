"""Spawned processes import what their parent would, and nothing from the current folder."""

import os
import sys

from uqbench.runner.executors.spawn import SAFE, Channel, ready, start


def tell(channel: Channel) -> None:
    channel.send((sys.path, os.environ.get(SAFE)))


def test_modules_in_the_current_folder_are_not_executed(tmp_path, monkeypatch):
    for name in ("signal", "struct", "multiprocessing", "uqbench"):
        path = tmp_path / f"{name}.py"
        path.write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(SAFE, raising=False)
    before = list(sys.path)
    process, channel = start(tell)
    ready([channel], 60.0)
    path, safe = next(channel.receive())  # not all: the other end may be closed by now
    process.join()
    assert not (tmp_path / "executed").exists()
    assert path == before
    assert safe is None  # what the process starts is as it would be without
    assert SAFE not in os.environ
