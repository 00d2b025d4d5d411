"""What a hostile agent does."""

import ctypes
import os
import signal
import threading
import time
from contextlib import suppress

from toy_uqbench.walker import Walker

from hostile_uqbench import HostileConfig
from uqbench.agent import Step


class Hostile(Walker):
    config: HostileConfig

    def observe(self, step: Step) -> None:
        super().observe(step)
        if self.t == self.config.at + 1 and self.hurt.any():
            DEEDS[self.config.deed]()


def fork_and_die() -> None:
    """A child holds all that its parent had open, and lives on."""
    if os.fork():
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)
    os._exit(0)


def hoard() -> None:
    hoarded = bytearray(b"x") * 1_500_000_000
    time.sleep(600)
    del hoarded


def loop() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.01)


def babble() -> None:
    """Write into whatever is open, the pipe to the parent among it."""
    for descriptor in range(3, 64):
        with suppress(OSError):
            os.write(descriptor, b"\x00\x00\x00\x10not what it sent")
    time.sleep(600)


def leave_a_thread() -> None:
    threading.Thread(target=time.sleep, args=(600,)).start()


DEEDS = {
    "": lambda: None, "exit": lambda: os._exit(3), "segfault": lambda: ctypes.string_at(0),
    "fork": fork_and_die, "memory": hoard, "loop": loop, "babble": babble, "thread": leave_a_thread,
}  # fmt: skip
