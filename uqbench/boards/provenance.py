"""Provenance of a board's runs: processors, versions, revisions, and the packages' contents.

Kept in ``made_with.json`` when a board is written from runs. It does not follow from the scores, so
a rewrite keeps it as it is; boards from before it was kept have none.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from uqbench.registry.contents import installed_content
from uqbench.results.files import reading
from uqbench.results.scores import Making, Score, Scores


@dataclass(frozen=True)
class MadeWith:
    """Runs that were made with the same.

    Attributes:
        device: what was computed on, in words.
        platform: operating system and architecture.
        versions: of Python and of every distribution that took part.
        content: first digits of the content hash of each package that took part.
        revision: of uqbench's checkout; None where it was none.
        first, last: UTC times at which the first run was begun and the last was finished.
        runs: how many.
    """

    device: str
    platform: str
    versions: dict[str, str]
    content: dict[str, str]
    revision: str | None
    first: str
    last: str
    runs: int


def provenance(scores: Scores | Iterable[Score]) -> list[MadeWith]:
    """Provenance of the scored runs, the most frequent first."""
    groups: dict[str, list[Making]] = {}
    last, key = None, ""
    for cell in Scores.of(scores).cells:
        for made in cell.made:
            if made is not None:
                if made.provenance is not last:
                    last, key = made.provenance, made.provenance.model_dump_json()
                groups.setdefault(key, []).append(made)
    rows = [
        MadeWith(
            (of := made[0].provenance).device, of.platform, dict(sorted(of.versions.items())),
            {name: value[:8] for name, value in sorted(of.content.items())}, of.git_revision,
            min(one.began for one in made), max(one.updated for one in made), len(made),
        )
        for made in groups.values()
    ]  # fmt: skip
    return sorted(rows, key=lambda one: (-one.runs, one.first))


def provenance_json(made: Sequence[MadeWith], older: str) -> str:
    """``made_with.json``; ``older`` is :func:`of_older_code` when the board is written."""
    return json.dumps({"older": older, "runs": [asdict(one) for one in made]}, indent=1) + "\n"


@dataclass(frozen=True)
class _Stored:
    older: str
    runs: list[MadeWith]


def read_provenance(text: bytes | None) -> tuple[list[MadeWith], str]:
    """Read it back; nothing where a board has none.

    Raises:
        UqbenchError: it is damaged.
    """
    if text is None:
        return [], ""
    with reading("made_with.json", ValueError, RecursionError):
        read = TypeAdapter(_Stored).validate_json(text, strict=True)
    return read.runs, read.older


def of_older_code(scores: Scores) -> str:
    """The packages whose content was another than what is installed; empty where none was."""
    parts = []
    for package, values in sorted(contents(scores).items()):
        here = (installed_content(package) or "")[:8] or "not installed"
        if values != {here}:
            parts.append(f"{package} {'+'.join(sorted(values))} (here {here})")
    return ", ".join(parts)


def contents(scores: Scores) -> dict[str, set[str]]:
    """The content hashes that each package had in the runs; one, unless mixed."""
    hashes: dict[str, set[str]] = {}
    for part in {part for cell in scores.cells for own in {*cell.content} for part in own.split()}:
        package, _, value = part.partition(":")
        hashes.setdefault(package, set()).add(value)
    return hashes
