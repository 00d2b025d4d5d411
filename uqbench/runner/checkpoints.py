"""Checkpoints: the state of a batch on disk, what it belongs to, and when it is written.

``<folder>/step-<n>.pt`` holds the state and ``<folder>/checkpoint.json``, written last, names it
with its digest: a reader finds the old checkpoint or the new one, and detects a damaged one. The
clock decides when a checkpoint is written, never what a run computes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from uqbench.contract.config import explain
from uqbench.contract.errors import CannotSaveError, StorageError, UqbenchError, see
from uqbench.contract.identity import digest_of
from uqbench.results.folders import NOT_A_FILE, Folder
from uqbench.results.records import MOST_BYTES, Count, Moment, Provenance, Resumed, Seconds
from uqbench.runner.process import Spent, Stop, Stopwatch

if TYPE_CHECKING:  # it takes seconds, and those who follow runs read no state
    import torch

CHECKPOINT_SECONDS = 60.0
"""Between two checkpoints of a batch, unless the user says otherwise."""
SHARE = 0.01
"""Largest share of the time that writing checkpoints may take."""
ABOUT = "checkpoint.json"
_NAME = r"(checkpoint\.json|step-[0-9]+\.pt)"
_OWN = re.compile(rf"{_NAME}|\.{_NAME}\.[0-9a-f]+\.tmp")
"""Names of the files that a checkpoint consists of, and of those left half-written."""


class UnusableError(UqbenchError):
    """A checkpoint is damaged or belongs to something else; the run starts over."""


class Checkpoint(BaseModel):
    """The contents of ``checkpoint.json``.

    Attributes:
        seeds: of the runs that execute together, lane by lane.
        runs: digests of their identities.
        step: steps taken.
        seconds: wall time that they took.
        cpu_seconds: process time that they took.
        began: UTC time at which work on the runs began.
        provenance: of the process that began them; resuming needs the same versions and content.
        resumed: where, and on which device, they resumed since.
        state: digest of the state's file.
        digest: of these contents without this field.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    seeds: tuple[Count, ...]
    runs: tuple[str, ...]
    step: Count
    seconds: Seconds
    cpu_seconds: Seconds
    began: Moment
    provenance: Provenance
    resumed: tuple[Resumed, ...]
    state: str = ""
    digest: str = ""

    def compute_digest(self) -> str:
        """The sha256 that ``digest`` should hold."""
        return digest_of(self.model_dump(mode="json", exclude={"digest"}))

    @property
    def spent(self) -> Spent:
        """Time that they took."""
        return Spent(self.seconds, self.cpu_seconds)


def write(folder: Folder, about: Checkpoint, state: Mapping[str, Any]) -> None:
    """Replace the checkpoint in a folder, completely or not at all.

    Args:
        folder: the checkpoint's own.
        about: what it belongs to, without digests.
        state: tensors, numbers, strings, bytes and None, in dictionaries, lists and tuples.

    Raises:
        CannotSaveError: the state holds something else.
        StorageError: it cannot be written, as on a full disk.
    """
    saved = plain(state, "")
    name = _state_name(about)
    folder.write(name, partial(_save, saved))
    about = about.model_copy(update={"state": folder.digest(name)})
    about = about.model_copy(update={"digest": about.compute_digest()})
    folder.write(ABOUT, about.model_dump_json(indent=1).encode() + b"\n")
    with suppress(OSError):  # the next write tries again
        # the previous one, and half-written files
        folder.remove(*(other for other in _own_files(folder) if other not in (name, ABOUT)))


def read_about(folder: Folder) -> Checkpoint:
    """The contents of ``checkpoint.json``, unchecked.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON of the schema, or too large.
        RecursionError: it is nested too deep.
    """
    return Checkpoint.model_validate_json(folder.read(ABOUT, MOST_BYTES))


def read(folder: Folder) -> Checkpoint:
    """The contents of ``checkpoint.json``; the digests of both files are checked.

    Raises:
        UnusableError: there is none, or it is damaged.
        StorageError: it cannot be read, and may be whole.
    """
    path = folder / ABOUT
    try:
        about = read_about(folder)
        whole = about.digest == about.compute_digest()
        if whole:
            path = folder / _state_name(about)
            whole = folder.digest(path.name) == about.state
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, RecursionError) as error:  # too large, or text that is no UTF-8
        why = explain(error) if isinstance(error, ValidationError) else error
        raise UnusableError(f"{path} cannot be read: {why}") from error
    if not whole:
        raise UnusableError(f"{path} does not match its digest")
    return about


def read_state(folder: Folder, about: Checkpoint, device: torch.device) -> dict[str, Any]:
    """The state of a checkpoint: tensors that were on the CPU on the CPU, the rest on ``device``.

    Raises:
        UnusableError: it is damaged.
        StorageError: it cannot be read, and may be whole.
    """
    import torch

    def place(storage: Any, tag: str) -> Any:
        return storage if tag == "cpu" else storage.to(device=device)

    path = folder / _state_name(about)
    try:
        with folder.open(path.name) as file:  # torch would turn any I/O error into a RuntimeError
            state: dict[str, Any] = torch.load(file, map_location=place, weights_only=True)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (UqbenchError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # torch raises anything on foreign bytes
        raise UnusableError(f"{path} cannot be read: {error}") from error
    return state


def remove(folder: Folder) -> None:
    """Remove a checkpoint's own files, if there are any, and its folder, if nothing else is there.

    Nothing behind a symbolic link is removed.
    """
    with suppress(OSError):  # what cannot be removed does no harm
        folder.remove(ABOUT, *_own_files(folder))
        folder.parent.remove(folder.name)


def _own_files(folder: Folder) -> list[str]:
    """Entries named like a checkpoint's files that are not folders."""
    kinds = folder.kinds()
    return [name for name, kind in kinds.items() if kind != "folder" and _OWN.fullmatch(name)]


def _state_name(about: Checkpoint) -> str:
    return f"step-{about.step}.pt"


def _unreadable(path: Path, error: OSError) -> UqbenchError:
    kind = UnusableError if error.errno in NOT_A_FILE else StorageError
    return kind(f"{path} cannot be read: {error.strerror or error}")


def _save(state: Any, file: BinaryIO) -> None:
    import torch

    try:
        torch.save(state, file)
    except RuntimeError as error:  # torch's, which hides that of a full disk
        raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None


def plain(value: Any, name: str) -> Any:
    """The value, with views copied: torch would save the whole storage behind them.

    Raises:
        CannotSaveError: it, or something in it, is not plain.
    """
    from torch import Tensor

    kind = type(value)
    if kind is bytes and not value:
        raise CannotSaveError(f"{name.removeprefix('.')} is empty bytes, which torch cannot read")
    if isinstance(value, Tensor):
        value = value.detach()
        own = value.numel() * value.element_size()
        return value if value.untyped_storage().nbytes() == own else value.clone()
    if value is None or kind in (bool, int, float, str, bytes):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item, f"{name}.{key}") for key, item in value.items()}
    if kind in (list, tuple):
        return kind(plain(item, f"{name}[{i}]") for i, item in enumerate(value))
    raise CannotSaveError(
        f"{name.removeprefix('.')} is a {kind.__module__}.{kind.__qualname__}; expected tensors, "
        f"numbers, strings, bytes and None, in dictionaries, lists and tuples"
        f"{see('cannot-be-saved')}"
    )


class Checkpointer:
    """Writes the checkpoints of one batch.

    Args:
        folder: where they are written.
        about: what they belong to; ``step`` and ``seconds`` are those at which this process began.
        watch: measures the batch's own time.
        every: seconds between two; more if they would take more than ``SHARE``; 0 for none.
        stop: whether to end after this step.
        written: called with a checkpoint's step once it is complete.
        notify: called with messages for the user.
    """

    def __init__(
        self,
        folder: Folder,
        about: Checkpoint,
        watch: Stopwatch,
        every: float,
        stop: Stop,
        written: Callable[[int], None],
        notify: Callable[[str], None],
    ) -> None:
        self.stop, self.notify, self._folder, self._about = stop, notify, folder, about
        self._watch, self._began, self._every, self._written = watch, watch.spent, every, written
        self._last = about.step  # that step has a checkpoint, or there is nothing to save
        self._due = time.monotonic() + every

    @property
    def spent(self) -> Spent:
        """Time of the batch's own steps, including those in earlier processes."""
        return self._about.spent.plus(self._watch.spent).plus(self._began, -1)

    def after(self, step: int, state: Callable[[], Mapping[str, Any]]) -> None:
        """Write a checkpoint if one is due; called after every step.

        Raises:
            StorageError: the disk is full.
            SystemExit: the process was asked to stop.
        """
        due = self._every and (self.stop.asked or time.monotonic() >= self._due)
        if due and step != self._last:
            self._save(step, state)
        if self.stop.asked:
            raise SystemExit(1)

    def _save(self, step: int, state: Callable[[], Mapping[str, Any]]) -> None:
        began = time.monotonic()
        about = self._about.model_copy(update={"step": step, **self.spent._asdict()})
        try:
            saved = state()
            write(self._folder, about, saved)
            self._last = step
            self._written(step)
        except CannotSaveError as error:
            self._every = 0.0
            self.notify(f"no checkpoints, an interrupted run starts over: {error}")
        except UqbenchError as error:  # the previous one is still there
            if isinstance(error, StorageError) and error.full and not self.stop.asked:
                raise
            self.notify(f"no checkpoint: {error}")
        ended = time.monotonic()
        self._due = ended + max(self._every, (ended - began) / SHARE)
