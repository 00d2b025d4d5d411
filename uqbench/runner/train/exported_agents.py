"""The final state of each run's agent, cut out of that of a batch.

The agents of a batch are one object whose tensors have the lanes first, or are declared to be
shared (:meth:`uqbench.contract.agent.Agent.exported_state`).
"""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import Agent
from uqbench.contract.errors import CannotSaveError
from uqbench.runner.batches import Batch
from uqbench.runner.checkpoints import plain
from uqbench.runner.train.guards import chosen
from uqbench.runner.train.loop_agent import SinglePolicy


def exported_agents(
    batch: Batch,
    agent: Agent | SinglePolicy,
    make: Callable[[Batch], Agent | SinglePolicy],
    obs: Tensor | None,
    notify: Callable[[str], None],
) -> list[bytes | None]:
    """The state of each lane's agent; none at all, said by ``notify``, where one cannot be had.

    Args:
        batch: the runs, a lane each; none is kept where they do not ask for it.
        agent: of all lanes.
        make: makes the agent of a batch, untrained.
        obs: ``[L, M, *obs]``, at which they have to agree; None before the first step.
        notify: called with messages for the user.
    """
    if not batch.keep_agents or obs is None:
        return [None] * len(batch.runs)
    lanes, alone = len(batch.runs), (make(batch.of([run])) for run in batch.runs)
    try:
        return [exported_agent(agent, one, i, lanes, obs) for i, one in enumerate(alone)]
    except CannotSaveError as error:
        notify(f"--keep-agents: not kept: {error}")
        return [None] * lanes


def exported_agent(
    agent: Agent | SinglePolicy, single: Agent | SinglePolicy, lane: int, lanes: int, obs: Tensor
) -> bytes:
    """The state of one lane's agent, for ``torch.load(…, weights_only=True)``.

    Args:
        agent: of all lanes; or a method that owns its loop, a lane of its own.
        single: of this lane alone, as it was constructed; it is left with the state.
        lane: which.
        lanes: L.
        obs: ``[L, M, *obs]``, at which the two have to agree bit for bit.

    Raises:
        CannotSaveError: there is no state, it cannot be divided by lanes, or does not act the same.
    """
    try:
        if isinstance(agent, SinglePolicy) or isinstance(single, SinglePolicy):
            state = agent.state_dict()
        else:
            whole, part = agent.exported_state(), single.exported_state()
            state = _part(part, whole, lane, lanes, agent.shared_by_lanes)
        single.load_state_dict(state)
        own = chosen(single, obs[lane : lane + 1])
        same = own.equal(chosen(agent, obs)[lane : lane + 1])
    except CannotSaveError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise CannotSaveError(f"the agent: {type(error).__name__}: {error}") from error
    if not same:
        raise CannotSaveError(
            "the agent, restored from its state, alone in a batch, acts otherwise than before"
        )
    file = io.BytesIO()
    torch.save(plain(state, ""), file)
    return file.getvalue()


def _part(
    single: Any, whole: Any, lane: int, lanes: int, shared: Sequence[str], name: str = ""
) -> Any:
    """One lane's part of a value, whose tensors have L times the rows of an agent's alone."""
    if name in shared:
        return whole
    if isinstance(whole, Mapping):
        return {
            key: _part(single[key], value, lane, lanes, shared, f"{name}.{key}".lstrip("."))
            for key, value in whole.items()
        }
    if isinstance(whole, list | tuple):
        pairs = enumerate(zip(single, whole, strict=True))
        return type(whole)(_part(s, w, lane, lanes, shared, f"{name}[{i}]") for i, (s, w) in pairs)
    if not isinstance(whole, Tensor) or not whole.dim():
        return whole
    if single.dim() and len(whole) == len(single) * lanes:
        return whole[lane * len(single) : (lane + 1) * len(single)]
    raise CannotSaveError(
        f"the agent's {name} is {tuple(whole.shape)} for {lanes} lanes and {tuple(single.shape)} "
        f"for one: expected the lanes first, or {name!r} in its shared_by_lanes"
    )
