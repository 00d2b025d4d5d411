"""Capturing steps without a GPU, to test that an agent's phases are what it says.

The operations of one step are recorded with the tensors that they read and wrote; a replay executes
them again on the same memory, as a CUDA graph does. A number of the host that found its way into a
step stays what it was, and the replayed run differs from the one from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from uqbench.agent import Agent
from uqbench.environment import LaneEnv, Outcome
from uqbench.runner.train.compiling import Replay
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder


def run(agent: Agent, lanes: int, steps: int, *, captured: bool, first: int = 0) -> LaneEnv:
    """Let an agent act and learn in :class:`Whirl`, its steps captured or run from Python.

    Two agents made alike are in the same state afterwards if what they do may be captured.

    Args:
        agent: fresh, made for ``Whirl(lanes)``.
        lanes: L.
        steps: environment steps of each lane.
        captured: whether steps are recorded once a phase and replayed.
        first: number of the first lane's world; the others follow.
    """
    env = Whirl(lanes, first)
    recorder = Recorder(lanes, steps, (), torch.device("cpu"))
    for _ in interact(agent, env, steps, recorder, capture=simulated if captured else None):
        pass
    return env


def simulated(step: Callable[[], None]) -> Replay:
    """Record a step, executing it; the first replay is therefore nothing."""
    recording = _Recording()
    with recording:
        step()
    executed = True

    def replay() -> None:
        nonlocal executed
        if not executed:
            recording.replay()
        executed = False

    return replay


class Whirl(LaneEnv):
    """A deterministic environment of tensor operations, with images, rewards and short episodes.

    Each lane turns three numbers, differently by action and lane; they light a pixel each.
    """

    SHAPE = (3, 10, 10)
    n_actions = 4
    observation_space = spaces.Box(0, 1, SHAPE, bool)
    capturable = True

    def __init__(self, lanes: int, first: int = 0) -> None:
        self._lane = torch.arange(first, first + lanes)[:, None] * 0.37
        self._angles = torch.zeros(lanes, 3, dtype=torch.float64)
        self._factors = torch.tensor([7.3, 11.9, 5.7], dtype=torch.float64)
        self._obs = torch.zeros(lanes, *self.SHAPE, dtype=torch.bool)
        self._reward = torch.zeros(lanes)
        self._terminated = torch.zeros(lanes, dtype=torch.bool)
        self._never = torch.zeros(lanes, dtype=torch.bool)

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Begin at the lane's own angles."""
        self._angles.copy_(self._lane.frac().expand(-1, 3))
        self._draw()
        return self._obs, None

    def step(self, action: Tensor) -> Outcome:
        """Turn; the first number says the reward, the second whether the episode ends."""
        turned = (self._angles * self._factors + 0.17 * action[:, None] + self._lane).frac()
        self._angles.copy_(turned)
        self._reward.copy_(turned[:, 0] < 0.2)
        self._terminated.copy_(turned[:, 1] < 0.1)
        self._draw()
        return Outcome(self._reward, self._terminated, self._never, self._obs, self._obs)

    def _draw(self) -> None:
        pixel = (self._angles * 100).long()
        self._obs.zero_().flatten(2).scatter_(2, pixel[..., None], True)

    def state_dict(self) -> dict[str, Any]:
        """The angles."""
        return {"angles": self._angles.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self._angles.copy_(state["angles"])


class _Recording(TorchDispatchMode):
    """The operations of a step, each with its arguments and the tensors that it gave."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations: list[tuple[Callable[..., Any], Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Sequence[Any],
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        given = function(*args, **(kwargs or {}))
        self._operations.append((function, args, kwargs or {}, _tensors(given)))
        return given

    def replay(self) -> None:
        with torch.no_grad():
            for function, args, kwargs, tensors in self._operations:
                for tensor, again in zip(tensors, _tensors(function(*args, **kwargs)), strict=True):
                    if again.data_ptr() != tensor.data_ptr():  # neither a view nor in place
                        tensor.copy_(again)


def _tensors(given: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(given) if isinstance(leaf, Tensor)]
