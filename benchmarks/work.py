"""The work of the training benchmarks, the same for all who do it."""

from __future__ import annotations

from measure import seconds

GAME = "breakout"
ACTIONS = 6
BATCH = 32
QUANTILES = 50
CHANNELS, KERNEL, HIDDEN = 16, 3, 128
LEARNING_RATE, ADAM_EPSILON = 1e-4, 1e-8
DISCOUNT = 0.99
REPLAY_CAPACITY = 100_000
TARGET_SYNC_PERIOD = 1_000
EPSILON = 0.03  # from the first update on: nearly every step asks the network for an action
PLANNED_STEPS = 5_000_000  # what agents are told, so that they set up what a full run needs

LEARNING_STARTS = 64
WARM_UP = 200  # steps with an update that come before the clock starts


class Clock:
    """Times a number of steps, after the start of learning and a warm-up."""

    def __init__(self, steps: int) -> None:
        self.first = LEARNING_STARTS + WARM_UP
        self.last = self.first + steps
        self._began = self._ended = 0.0

    def on_step(self, taken: int) -> None:
        """Call with the number of steps taken, after each."""
        if taken == self.first:
            self._began = seconds()
        elif taken == self.last:
            self._ended = seconds()

    @property
    def steps_per_second(self) -> float:
        return (self.last - self.first) / (self._ended - self._began)
