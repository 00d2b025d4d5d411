"""What a board's runs were made with: processors, versions, revisions, and the packages' contents.

Kept in ``made_with.json`` when a board is written from runs. It does not follow from the scores, so
a rewrite keeps it as it is; boards from before it was kept have none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from uqbench.boards.scores import Score
from uqbench.errors import UqbenchError
from uqbench.registry.contents import content_hash


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


def provenance(scores: Sequence[Score]) -> list[MadeWith]:
    """What the scored runs were made with, the most frequent first."""
    groups: dict[str, tuple[MadeWith, list[tuple[str, str]]]] = {}
    for score in scores:
        record = score.record
        if record is None:
            continue
        of = record.provenance
        key = of.model_dump_json()
        if key in groups:
            groups[key][1].append((record.began, record.updated))
            continue
        content = {name: value[:8] for name, value in sorted(of.content.items())}
        versions = dict(sorted(of.versions.items()))
        one = MadeWith(of.device, of.platform, versions, content, of.git_revision, "", "", 0)
        groups[key] = one, [(record.began, record.updated)]
    rows = [
        MadeWith(
            **{
                **asdict(one),
                "first": min(began for began, _ in times),
                "last": max(ended for _, ended in times),
                "runs": len(times),
            }
        )
        for one, times in groups.values()
    ]
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

    Boards from before it was kept whether they are of older code have the list alone.

    Raises:
        UqbenchError: it is damaged.
    """
    if text is None:
        return [], ""
    try:
        read = TypeAdapter(_Stored | list[MadeWith]).validate_json(text, strict=True)
    except (ValueError, RecursionError) as error:
        raise UqbenchError(f"made_with.json is damaged, because {error!s:.300}") from error
    return (read, "") if isinstance(read, list) else (read.runs, read.older)


def of_older_code(scores: Sequence[Score]) -> str:
    """The packages whose content was another than what is installed; empty where none was."""
    parts = []
    for package, values in sorted(contents(scores).items()):
        try:
            here = content_hash(package)[:8]
        except ModuleNotFoundError:
            here = "not installed"
        if values != {here}:
            parts.append(f"{package} {'+'.join(sorted(values))} (here {here})")
    return ", ".join(parts)


def contents(scores: Sequence[Score]) -> dict[str, set[str]]:
    """The content hashes that each package had in the runs; one, unless mixed."""
    hashes: dict[str, set[str]] = {}
    for part in {part for score in scores for part in score.content.split()}:
        package, _, value = part.partition(":")
        hashes.setdefault(package, set()).add(value)
    return hashes
