"""The final state of each run's agent: cut out of that of a batch, and read again.

The agents of a batch are one object whose tensors have the lanes first, or are declared to be
shared (:meth:`uqbench.contract.agent.Agent.exported_state`).
"""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, Uncertainty
from uqbench.contract.errors import CannotSaveError, StorageError, in_words
from uqbench.contract.side_by_side import SideBySide
from uqbench.results.folders import Folder
from uqbench.results.records import RunRecord
from uqbench.results.tables import AGENT, TRAINING, read_checked
from uqbench.runner.batches import Batch
from uqbench.runner.checkpoints import UnusableError, plain
from uqbench.runner.train.loop_agent import SinglePolicy
from uqbench.runner.train.measurements import Measurements

AnyAgent = Agent | SinglePolicy
Own = Callable[[Tensor, torch.Size | None], Tensor]


def training_files(
    batch: Batch,
    agent: Agent | SinglePolicy,
    make: Callable[[Batch], Agent | SinglePolicy],
    obs: Tensor,
    measured: Measurements,
) -> list[dict[str, bytes]]:
    """The files of each run's training: its agent, and what was measured.

    Args:
        batch: the runs, a lane each.
        agent: of all lanes.
        make: makes the agent of a batch, untrained.
        obs: ``[L, M, *obs]``, at which they have to agree.
        measured: in their training.

    Raises:
        CannotSaveError: see :func:`exported_agent`; none is left out.
    """
    files = []
    for lane, run in enumerate(batch.runs):
        try:
            alone = make(batch.of([run]))
        except Exception as error:  # a plugin may raise anything, and memory be short
            raise CannotSaveError(f"an agent of one lane: {in_words(error)}") from error
        own = None
        if isinstance(env := measured.env, SideBySide):
            own = partial(env.of_task, [*measured.alone].index(run.task))
        state = exported_agent(agent, alone, lane, len(batch.runs), obs, own)
        files.append({AGENT: state, TRAINING: _file_of(measured.of_lane(lane))})
    return files


def exported_agent(
    agent: AnyAgent, single: AnyAgent, lane: int, lanes: int, obs: Tensor, own: Own | None = None
) -> bytes:
    """The state of one lane's agent, for ``torch.load(…, weights_only=True)``.

    Args:
        agent: of all lanes; or a method that owns its loop, a lane of its own.
        single: of this lane alone, as it was constructed; it is left with the state.
        lane: which.
        lanes: L.
        obs: ``[L, M, *obs]``, at which the two have to agree bit for bit.
        own: cuts a task's own part out of what is padded for several, in the shape that it has for
            ``single``, where ``agent`` has lanes of several tasks (:class:`SideBySide`).

    Raises:
        CannotSaveError: there is no state, it cannot be divided by lanes, or does not act or answer
            the same.
    """
    try:
        if isinstance(agent, SinglePolicy) or isinstance(single, SinglePolicy):
            state = agent.state_dict()
        else:
            whole, part = agent.exported_state(), single.exported_state()
            state = _part(part, whole, (lane, lanes), own, agent.shared_by_lanes, "")
        single.load_state_dict(state)
        asked = obs[lane : lane + 1] if own is None else own(obs[lane : lane + 1], None)
        chosen = single.policy(asked.clone())
        same = chosen.equal(agent.policy(obs.clone())[lane : lane + 1])
        said = single.uncertainty(asked.clone()), agent.uncertainty(obs.clone())
        same &= _answers_alike(*said, lane)
    except CannotSaveError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise CannotSaveError(f"the agent: {type(error).__name__}: {error}") from error
    if not same:
        raise CannotSaveError(
            "the agent, restored from its state, alone in a batch, acts otherwise than before, or "
            "predicts otherwise"
        )
    return _file_of(state)


def load(
    into: Callable[[Any], object], folder: Folder, name: str, record: RunRecord, device: str
) -> None:
    """Load the state in a file of a run, once it matches the digest in the run's record.

    Args:
        into: takes the state, such as an agent's ``load_state_dict``.
        folder: of the run.
        name: of the file.
        record: of the run.
        device: of the tensors.

    Raises:
        UnusableError: it is damaged, or what is installed rejects it.
        StorageError: it cannot be read, and may be intact.
    """
    try:
        data = read_checked(folder, name, record.digests.get(name, ""))
        into(torch.load(io.BytesIO(data), map_location=device, weights_only=True))
    except StorageError:
        raise
    except Exception as error:  # torch raises anything on foreign bytes, and so may a plugin
        raise UnusableError(f"{folder / name} cannot be used: {error!s:.300}") from error


def _file_of(state: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    torch.save(plain(state, ""), file)
    return file.getvalue()


def _answers_alike(own: Uncertainty | None, of_all: Uncertainty | None, lane: int) -> bool:
    """Whether an agent alone predicts what it does as a lane, to the bit on a CPU."""
    if own is None or of_all is None:
        return own is of_all
    parts = [(x, getattr(of_all, name)) for name, x in vars(own).items() if x is not None]
    return all(
        x.shape[1:] == whole.shape[1:]
        and x.allclose(whole[lane : lane + 1], 0 if x.device.type == "cpu" else 1e-3, 0, True)
        for x, whole in parts
    )


def _part(
    single: Any, whole: Any, at: tuple[int, int], own: Own | None, shared: Sequence[str], name: str
) -> Any:
    """One lane's part of a value, whose tensors have L times the rows of an agent's alone."""
    lane, lanes = at
    if name in shared:
        return whole
    if isinstance(whole, Mapping):
        return {
            key: _part(single[key], value, at, own, shared, f"{name}.{key}".lstrip("."))
            for key, value in whole.items()
        }
    if isinstance(whole, list | tuple):
        pairs = enumerate(zip(single, whole, strict=True))
        return type(whole)(_part(s, w, at, own, shared, f"{name}[{i}]") for i, (s, w) in pairs)
    if not isinstance(whole, Tensor) or not whole.dim():
        return whole
    if single.dim() and len(whole) == len(single) * lanes:
        rows = whole[lane * len(single) : (lane + 1) * len(single)]
        return rows if own is None else own(rows, single.shape)
    raise CannotSaveError(
        f"the agent's {name} is {tuple(whole.shape)} for {lanes} lanes and {tuple(single.shape)} "
        f"for one: expected the lanes first, or {name!r} in its shared_by_lanes"
    )
