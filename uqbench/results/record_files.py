"""Reading ``run.json``, which may come from anywhere: a run's state, or what is wrong with it."""

import re
from typing import Any, TypeGuard

from pydantic import ValidationError
from pydantic_core import from_json

from uqbench.contract.config import explain
from uqbench.contract.identity import Run, digest_of
from uqbench.results.folders import NOT_A_FILE, Folder
from uqbench.results.records import MOST_BYTES, SCHEMA_VERSION, RunRecord, RunState, StoredRun

RECORD = "run.json"
CHECKPOINT = "checkpoint"
LONGEST_REASON = 500


class DamagedError(Exception):
    """A file is damaged; the message says why."""


def read_run(folder: Folder, run: Run | None = None) -> StoredRun:
    """The state of the run in a folder, as its record says, which must be valid and in its place.

    Args:
        folder: of the run.
        run: whose folder it is, where that is known.
    """
    try:
        table = from_json(folder.read(RECORD, MOST_BYTES))
        version = table["schema_version"]
        if version > SCHEMA_VERSION:
            newer = f"it has schema {version}, this uqbench reads up to {SCHEMA_VERSION}"
            return StoredRun(RunState.NEWER, reason=newer)
        record = RunRecord.model_validate(table)
        if digest_of({name: table[name] for name in table if name != "digest"}) != record.digest:
            raise DamagedError(f"{RECORD} does not match its digest")
        _check_place(record, folder, run)
    except FileNotFoundError:
        return StoredRun(RunState.MISSING)
    except OSError as error:
        return cannot_be_read(RECORD, error)
    except DamagedError as error:
        return StoredRun(RunState.DAMAGED, reason=str(error))
    except ValidationError as error:
        return StoredRun(RunState.DAMAGED, reason=f"{RECORD}: {_short(explain(error))}")
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        # not UTF-8, not JSON, nested too deeply, a number with more digits than Python writes
        why = f"{RECORD} cannot be read: {_short(_said(error))}"
        return StoredRun(RunState.DAMAGED, reason=why)
    return StoredRun(RunState(record.status), record, record.reason, False, record.provenance)


def cannot_be_read(name: str, error: OSError) -> StoredRun:
    """A damaged run: one of its files is no file, or the disk fails."""
    reason = f"{name} cannot be read: {error.strerror}"
    return StoredRun(RunState.DAMAGED, reason=reason, unreadable=error.errno not in NOT_A_FILE)


def _check_place(record: RunRecord, folder: Folder, run: Run | None) -> None:
    """Check that a record belongs to the run whose folder it is in, and its checkpoint, too.

    A record from elsewhere may name any folder as that of its checkpoint.

    Raises:
        DamagedError: it does not, or does not say which run it is.
    """
    identity = record.identity
    budget = identity.get("budget")
    steps = budget.get("steps") if isinstance(budget, dict) else None
    if not _is_count(steps) or steps == 0:
        raise DamagedError(f"{RECORD}: identity.budget.steps: expected a number of steps")
    seed = identity.get("seed")
    if not _is_count(seed):
        raise DamagedError(f"{RECORD}: identity.seed: expected a number")
    if run is None or identity != run.identity:
        own = f"{seed}-{digest_of(identity)[:8]}"
        if folder.name != own or run is not None:
            raise DamagedError(f"{RECORD} has another identity: it is of the run {own}")
    saved = 0 if record.checkpoint is None else record.checkpoint.step
    if max(record.step, saved) > steps:
        raise DamagedError(f"{RECORD}: step {max(record.step, saved)} is beyond its {steps}")
    undefined = sorted(record.scalars.keys() - record.metrics.keys())
    if undefined:
        raise DamagedError(f"{RECORD}: scalars without a definition: {_short(str(undefined))}")
    if record.checkpoint is not None:
        named, (suite, budget, _, method, _) = record.checkpoint.folder, folder.names[-5:]
        before, after = (re.escape(part) for part in (f"{suite}/{budget}/", f"/{method}/"))
        of_method = rf"[a-z0-9][a-z0-9_-]*{after}[0-9]+-[0-9a-f]{{8}}"
        if not re.fullmatch(rf"{before}{of_method}/{CHECKPOINT}", named):
            raise DamagedError(
                f"{RECORD} names the checkpoint {named!r}; expected "
                f"{suite}/{budget}/<task>/{method}/<seed>-<8 hex digits>/{CHECKPOINT}"
            )


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= 2**53


def _said(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"there is no {error}"
    return str(error) or type(error).__name__


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]} …"
