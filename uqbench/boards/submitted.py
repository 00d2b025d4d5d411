"""Rows of a board that others submitted: ``submissions.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter

from uqbench.boards.agreement import Agreement
from uqbench.errors import UqbenchError

NAME = "submissions.json"
State = Literal["verified", "self-reported"]


class Submitted(BaseModel):
    """A method's row.

    Attributes:
        state: ``verified`` once runs of it were made again here, and agreed.
        bundle: sha256 of the file that was submitted.
        agreement: of the runs that were made again: how many agreed how.
        checks: how many checks of its plugin its author reported, by their outcome.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    state: State
    bundle: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    agreement: dict[Agreement, int] = {}
    checks: dict[str, int] = {}


_TABLE = TypeAdapter(dict[str, Submitted])


def read_submitted(text: bytes | None) -> dict[str, Submitted]:
    """By method; nothing where a board has no such file.

    Raises:
        UqbenchError: it is damaged.
    """
    if text is None:
        return {}
    try:
        return _TABLE.validate_json(text)
    except (ValueError, RecursionError) as error:
        raise UqbenchError(f"{NAME} is damaged, because {error!s:.300}") from error


def submitted_json(rows: Mapping[str, Submitted]) -> str:
    """``submissions.json``."""
    return _TABLE.dump_json(dict(sorted(rows.items())), indent=1).decode() + "\n"


def states(rows: Mapping[str, Submitted]) -> dict[str, str]:
    """The state of each method's row."""
    return {method: row.state for method, row in rows.items()}
