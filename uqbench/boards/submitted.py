"""Rows of a board that others submitted: ``submissions.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter

from uqbench.boards.manifest import Digest
from uqbench.boards.verification import Agreement, Verification
from uqbench.results.files import reading

NAME = "submissions.json"
State = Literal["verified", "self-reported"]


class Submitted(BaseModel):
    """A method's row.

    Attributes:
        state: ``verified`` once enough rows of it were made again here, and agreed.
        bundle: sha256 of the file that was submitted: where its rows are from.
        agreement: of the runs that were made again: how many agreed how.
        checks: how many checks of its plugin its author reported, by their outcome.
        rows: how many finished rows could be drawn.
        new_runs: how many runs were made with seeds that no board has.
        proves: what all that proves, in words.
        sandbox: whether the runs were made where nothing could tell the method so.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    state: State
    bundle: Digest
    agreement: dict[Agreement, int] = {}
    checks: dict[str, int] = {}
    rows: int = 0
    new_runs: int = 0
    proves: Annotated[str, StringConstraints(pattern=r"^[\w .,:%()-]{0,200}$")] = ""
    sandbox: bool = False

    @classmethod
    def of(
        cls, made: Verification | None, bundle: str, checks: Mapping[str, int], sandbox: bool
    ) -> Submitted:
        """The row of a method, of which the verification is known."""
        if made is None or not made.agreement:
            return cls(state="self-reported", bundle=bundle, checks=dict(checks))
        return cls(
            state="verified" if made.verified else "self-reported",
            bundle=bundle,
            agreement=dict(Counter(made.agreement.values())),
            checks=dict(checks),
            rows=made.rows,
            new_runs=made.new_runs,
            proves=made.sentence,
            sandbox=sandbox,
        )

    @property
    def says(self) -> str:
        """What the row says on a board."""
        return f"{self.state}: {self.proves}" if self.proves else self.state


_TABLE = TypeAdapter(dict[str, Submitted])


def read_submitted(text: bytes | None) -> dict[str, Submitted]:
    """By method; nothing where a board has no such file.

    Raises:
        UqbenchError: it is damaged.
    """
    if text is None:
        return {}
    with reading(NAME, ValueError, RecursionError):
        return _TABLE.validate_json(text)


def submitted_json(rows: Mapping[str, Submitted]) -> str:
    """``submissions.json``."""
    return _TABLE.dump_json(dict(sorted(rows.items())), indent=1).decode() + "\n"


def states(rows: Mapping[str, Submitted]) -> dict[str, str]:
    """What each method's row says."""
    return {method: row.says for method, row in rows.items()}
