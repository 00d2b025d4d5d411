"""Rows of a board that others submitted: ``submissions.json``."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter

from uqbench.boards.manifest import Digest
from uqbench.contract.identity import runs_of
from uqbench.results.files import reading
from uqbench.suites.plan import Plan

NAME = "submissions.json"
Plain = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_ .,;:()=!+-]*$", max_length=2000)]


class Submitted(BaseModel):
    """A method's row.

    Attributes:
        state: ``verified`` where the row's runs were made here in a sandbox, ``verified (no
            sandbox)`` where there was none, ``self-reported`` where they are the author's.
        says: what is known of them, in words.
        wheel: sha256 of the file of the package that has the method.
        file: sha256 of the submission.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    state: Literal["verified", "verified (no sandbox)", "self-reported"]
    says: Plain
    wheel: Digest
    file: Digest


TABLE = TypeAdapter(dict[str, Submitted])


def read_submitted(text: bytes | None) -> dict[str, Submitted]:
    """By method; nothing where a board has no such file.

    Raises:
        UqbenchError: it is damaged.
    """
    if text is None:
        return {}
    with reading(NAME, ValueError, RecursionError):
        return TABLE.validate_json(text)


def states(rows: Mapping[str, Submitted]) -> dict[str, str]:
    """The words on each method's row."""
    return {method: f"{row.state}: {row.says}" for method, row in rows.items()}


def reseeded(plan: Plan, seeds: Mapping[str, Iterable[int]]) -> Plan:
    """The plan with other seeds of some methods, by name: those that the keeper drew."""
    cells = []
    for cell in plan.cells:
        of = cell.runs[0]
        if (own := seeds.get(of.method)) is not None:
            names = of.suite, of.budget, of.task, of.method
            cell = replace(cell, runs=runs_of(*names, of.identity, sorted(set(own))))
        cells.append(cell)
    return replace(plan, cells=tuple(cells))
