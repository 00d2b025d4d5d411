"""Whether a GPU computes what the CPU does, and how fast: what ``uqbench doctor --gpu`` asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import keystr, tree_flatten_with_path

from uqbench.agent import Agent
from uqbench.environment import LaneEnv, Outcome
from uqbench.runner.timing import WARM_UP
from uqbench.runner.train.compiling import Capture
from uqbench.runner.train.loop import Position, interact
from uqbench.runner.train.recorder import Recorder

Clock = Callable[[], float]
"""Returns seconds, when the device has done what it was given."""


@dataclass(frozen=True)
class Difference:
    """Where two devices, or two ways of executing, first disagree.

    Attributes:
        where: the step or the tensor.
        largest: absolute difference; NaN where types or shapes differ.
    """

    where: str
    largest: float


def compare_lanes(one: LaneEnv, other: LaneEnv, steps: int, seed: int = 0) -> Difference | None:
    """Step two copies of an environment with the same uniformly random valid actions.

    Args:
        one: on the CPU.
        other: on any device, with as many lanes, of the same seeds.
        steps: of each lane.
        seed: of the actions.

    Returns:
        The first outcome that differs in a bit; None if none does.
    """
    generator = torch.Generator().manual_seed(seed)
    (obs, valid), (other_obs, other_valid) = one.reset(), other.reset()
    first = difference((obs, valid), (other_obs, other_valid), "reset")
    for t in range(steps):
        if first is not None:
            break
        open_ = torch.ones(len(obs), one.n_actions) if valid is None else valid.float()
        action = torch.multinomial(open_, 1, generator=generator)[:, 0]
        outcome = one.step(action)
        first = difference(outcome, other.step(action.to(other_obs.device)), f"step {t}")
        valid = outcome.valid
    return first


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
    ends = []
    for chosen in (None, capture):
        agent, env = make()
        for _ in _positions(agent, env, steps, chosen, actors):
            pass
        ends.append((agent.state_dict(), agent.metrics()))
    (state, metrics), (other_state, other_metrics) = ends
    return difference(state, other_state, "state") or difference(metrics, other_metrics, "metrics")


def updates_per_second(
    agent: Agent, env: LaneEnv, steps: int, capture: Capture | None, clock: Clock
) -> float:
    """Environment steps per second of all lanes together, once they are warm."""
    began, lanes = 0.0, 0
    for position in _positions(agent, env, WARM_UP + steps, capture):
        if position.step == WARM_UP:
            began, lanes = clock(), len(position.obs)
    return steps * lanes / (clock() - began)


def difference(one: Any, other: Any, where: str = "") -> Difference | None:
    """The first tensor in which two equally nested structures differ, on any devices.

    NaN equals NaN. An outcome counts as the dictionary of its fields.
    """
    leaves, structure = tree_flatten_with_path(_plain(one))
    others, other_structure = tree_flatten_with_path(_plain(other))
    if structure != other_structure:
        return Difference(f"{where}: other parts", float("nan"))
    for (path, a), (_, b) in zip(leaves, others, strict=True):
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            if a is not b and a != b:
                return Difference(f"{where}{keystr(path)}", float("nan"))
            continue
        a, b = a.cpu(), b.cpu()
        if a.dtype != b.dtype or a.shape != b.shape:
            return Difference(f"{where}{keystr(path)}", float("nan"))
        if not bool(((a == b) | (a.isnan() & b.isnan())).all()):
            return Difference(
                f"{where}{keystr(path)}", float((a.double() - b.double()).abs().max())
            )
    return None


def _plain(structure: Any) -> Any:
    """An outcome or any mapping as a dictionary, anything else as it is."""
    if isinstance(structure, Mapping):
        return dict(structure)
    return vars(structure) if isinstance(structure, Outcome) else structure


def _positions(
    agent: Agent, env: LaneEnv, steps: int, capture: Capture | None, actors: int = 1
) -> Iterator[Position]:
    """An agent's training."""
    first, _ = env.reset()
    recorder = Recorder(len(first) // actors, steps, (), first.device, actors=actors)
    return interact(agent, env, steps, recorder, capture=capture, actors=actors)
