"""When a deep Q-learning agent updates its networks, and on which transitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from uqbench.lanes import Clock, DistinctIntegers, TransitionBuffer, Uniform
from uqbench.lanes.random import FunctionOfStep
from uqbench.updates import triangular_numbers, update_index
from uqbench_dqn.config import DeepQConfig


class PeriodicUpdates(FunctionOfStep):
    """A gradient step every ``learn_period`` steps from ``start`` on (Mnih et al. 2015).

    Args:
        seeds: one per lane.
        config: settings.
        start: first step with a gradient step.
        replay: whose transitions are drawn, without repeats.
        clock: the step.

    Attributes:
        draws: the clock of what a gradient step draws: here the step's.
        block: gradient steps whose draws are made at once; None for as many as suits.
    """

    block: int | None = None

    def __init__(
        self,
        seeds: Sequence[int],
        config: DeepQConfig,
        start: int,
        replay: TransitionBuffer,
        clock: Clock,
    ) -> None:
        self.draws = clock
        self._config, self._start = config, start
        self._integers = DistinctIntegers(
            seeds, "replay", config.batch_size, replay.capacity, clock.tensor.device
        )

    def phase(self, t: int) -> tuple[bool, bool]:
        """Whether step ``t`` takes a gradient step, and whether it syncs the target network."""
        if t < self._start:
            return False, False
        return t % self._config.learn_period == 0, t % self._config.target_sync_period == 0

    def batches(self) -> Iterator[Tensor]:
        """The replay slots ``[L, B]`` of this step's one minibatch."""
        yield self._integers.at(self.draws)


class TriangularUpdates(FunctionOfStep):
    """``updates_per_event`` gradient steps after 1, 3, 6, 10, … environment steps.

    Source: Eriksson et al. 2022, Table 8. Arguments and attributes are those of
    :class:`PeriodicUpdates`; minibatches are drawn with repeats, so that the first step has one.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        config: DeepQConfig,
        start: int,
        replay: TransitionBuffer,
        clock: Clock,
    ) -> None:
        self.block = config.updates_per_event
        self.draws = GradientSteps(clock, self.block)
        self._config, self._start, self._replay = config, start, replay
        device, shape = clock.tensor.device, (config.batch_size,)
        self._uniform = Uniform(seeds, "replay", shape, device, self.block)

    def phase(self, t: int) -> tuple[bool, bool]:
        """Whether step ``t`` is an event, and whether it syncs the target network."""
        event = update_index(t + 1, "triangular", period=1)
        if event is None or t + 1 < self._start:
            return False, False
        return True, event % self._config.target_sync_updates == 0

    def batches(self) -> Iterator[Tensor]:
        """The replay slots ``[L, B]`` of each of the event's minibatches."""
        for _ in range(self.block):
            yield (self._uniform.at(self.draws) * self._replay.stored).long()
            self.draws.advance()


class GradientSteps(Clock):
    """Counts the gradient steps of a triangular schedule: a clock for what each of them draws.

    Args:
        clock: the step.
        per_event: gradient steps of an event; the block size of what follows this clock, so that
            the draws of an event are prepared before it.
    """

    def __init__(self, clock: Clock, per_event: int) -> None:
        super().__init__(clock.tensor.device)
        self._per_event = per_event
        clock.prepares(self)

    def prepare(self, t: int) -> None:
        """Go to the first gradient step of the next event, before environment step ``t``."""
        first = self._per_event * triangular_numbers(t)
        if first != self.t:
            self.t = first
            self.tensor.fill_(first)
            for prepared in self._prepared:
                prepared.prepare(first)

    def advance(self) -> None:
        """Go to the next gradient step of the event."""
        self.tensor += 1
