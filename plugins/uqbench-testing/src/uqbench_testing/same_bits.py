"""The first difference in bits between two devices, or two ways of executing the same steps."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils._pytree import keystr, tree_flatten_with_path

from uqbench.contract.agent import Agent
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.runner.train.compiling import Capture
from uqbench.runner.train.loop import Position, interact
from uqbench.runner.train.recorder import Recorder


@dataclass(frozen=True)
class Difference:
    """The first difference between two devices, or two ways of executing.

    Attributes:
        where: the step or the tensor.
        largest: absolute difference; NaN where types or shapes differ.
    """

    where: str
    largest: float


def compare_captured(
    make: Callable[[], tuple[Agent, LaneEnv]], steps: int, capture: Capture, actors: int = 1
) -> Difference | None:
    """Train two identically made agents, one from Python and one captured.

    Args:
        make: a new agent, and a new environment with as many lanes that can be captured.
        steps: of each lane.
        capture: records a step for replay.
        actors: of each lane.

    Returns:
        The first tensor of the agents' states and metrics that differs in a bit; None if none
        does.
    """
    both = [make(), make()]
    for (agent, env), chosen in zip(both, (None, capture), strict=True):
        deque(train(agent, env, steps, chosen, actors), maxlen=0)
    return apart(both[0][0], both[1][0])


def apart(one: Agent, other: Agent) -> Difference | None:
    """The first tensor of two agents' states and metrics that differs in a bit."""
    state = difference(one.state_dict(), other.state_dict(), "state")
    return state or difference(one.metrics(), other.metrics(), "metrics")


def difference(one: Any, other: Any, where: str = "") -> Difference | None:
    """The first tensor in which two equally nested structures differ, on any devices.

    NaN equals NaN. An outcome counts as the dictionary of its fields.
    """
    leaves, structure = tree_flatten_with_path(_plain(one))
    others, other_structure = tree_flatten_with_path(_plain(other))
    if structure != other_structure:
        return Difference(f"{where}: other parts", float("nan"))
    for (path, a), (_, b) in zip(leaves, others, strict=True):
        if (largest := _largest(a, b)) != 0:
            return Difference(f"{where}{keystr(path)}", largest)
    return None


def same(one: Any, other: Any) -> bool:
    """Whether nested states or metrics are equal, bit for bit; NaN equals NaN."""
    return difference(one, other) is None


def _largest(one: Any, other: Any) -> float:
    """The absolute difference of two leaves; NaN where they have none."""
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return 0.0 if one is other or one == other else float("nan")
    a, b = one.cpu(), other.cpu()
    if a.dtype != b.dtype or a.shape != b.shape:
        return float("nan")
    alike = (a == b) | (a.isnan() & b.isnan())
    return 0.0 if alike.all() else float((a.double() - b.double()).abs().max())


def _plain(structure: Any) -> Any:
    """An outcome or any mapping as a dictionary, anything else as it is."""
    if isinstance(structure, Mapping):
        return dict(structure)
    return vars(structure) if isinstance(structure, Outcome) else structure


def train(
    agent: Agent, env: LaneEnv, steps: int, capture: Capture | None = None, actors: int = 1
) -> Iterator[Position]:
    """An agent's training."""
    first, _ = env.reset()
    recorder = Recorder(len(first) // actors, steps, (), first.device, actors=actors)
    return interact(agent, env, steps, recorder, capture=capture, actors=actors)
