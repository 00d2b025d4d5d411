"""Reading ``run.json``, which may come from anywhere: a valid record, or what is wrong with it."""

from __future__ import annotations

import json
from typing import Any, TypeGuard

from pydantic import ValidationError

from uqbench.contract.config import explain
from uqbench.contract.identity import digest_of
from uqbench.results.folders import Folder
from uqbench.results.records import MOST_BYTES, SCHEMA_VERSION, RunRecord

RECORD = "run.json"
LONGEST_REASON = 500


class DamagedError(Exception):
    """A file is damaged; the message says why."""


class NewerError(Exception):
    """A record was written by a newer uqbench."""


def read_record(folder: Folder) -> RunRecord:
    """The record in a run's folder.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        NewerError: its schema is newer than this uqbench.
        DamagedError: it is not a valid record.
    """
    try:
        data = folder.read(RECORD, MOST_BYTES)
        version = json.loads(data)["schema_version"]
        if version > SCHEMA_VERSION:
            raise NewerError(f"it has schema {version}, this uqbench reads up to {SCHEMA_VERSION}")
        record = RunRecord.model_validate_json(data)
        whole = record.digest == record.compute_digest()
    except ValidationError as error:
        raise DamagedError(f"{RECORD}: {_short(explain(error))}") from error
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        # not UTF-8, not JSON, nested too deeply, a number with more digits than Python writes
        raise DamagedError(f"{RECORD} cannot be read: {_short(_said(error))}") from error
    if not whole:
        raise DamagedError(f"{RECORD} does not match its digest")
    return record


def check_place(record: RunRecord, folder: Folder) -> None:
    """Check that a record belongs to the run whose folder it is in.

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
    try:
        own = f"{seed}-{digest_of(identity)[:8]}"
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(f"{RECORD}: identity: {_short(_said(error))}") from error
    if folder.name != own:
        raise DamagedError(f"{RECORD} has another identity: it is of the run {own}")
    saved = 0 if record.checkpoint is None else record.checkpoint.step
    if max(record.step, saved) > steps:
        raise DamagedError(f"{RECORD}: step {max(record.step, saved)} is beyond its {steps}")
    undefined = sorted(record.scalars.keys() - record.metrics.keys())
    if undefined:
        raise DamagedError(f"{RECORD}: scalars without a definition: {_short(str(undefined))}")


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
