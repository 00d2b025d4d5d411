"""Boards as results show them: stored as files, or computed from runs when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from uqbench.boards.leaderboard import Board
from uqbench.errors import UqbenchError
from uqbench.results.files import read_bytes, stored_text
from uqbench.results.records import MOST_BYTES

MANIFEST = "manifest.json"


class Tables(Protocol):
    """The tables of one board."""

    @property
    def suite(self) -> str:
        """Name of the suite."""

    @property
    def board(self) -> str:
        """Name of the board: its budget, or a selection of its runs."""

    @property
    def where(self) -> str:
        """What errors call it."""

    @property
    def manifest(self) -> dict[str, Any]:
        """What the board says of itself."""

    def text(self, name: str) -> str | None:
        """A table such as ``leaderboard.csv``; None where the board has none."""


@dataclass(frozen=True)
class StoredTables:
    """A board's folder; its tables are held against the digests in its manifest."""

    folder: Path

    @property
    def suite(self) -> str:
        """That the manifest names."""
        return str(self.manifest["suite"]["name"])

    @property
    def board(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the board says of itself.

        Raises:
            UqbenchError: there is none, or it is damaged.
        """
        path = self.folder / MANIFEST
        try:
            found = json.loads(_bytes(path))
            str(found["suite"]["name"]), found["sha256"].get, str(found["ranks_by"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UqbenchError(f"{path} is damaged: {type(error).__name__}: {error!s:.300}") from (
                error
            )
        assert isinstance(found, dict)
        return found

    def text(self, name: str) -> str | None:
        """A table; None where the board has none.

        Raises:
            UqbenchError: it is not the one that the manifest is of.
        """
        path = self.folder / name
        if not path.exists():
            return None
        data = _bytes(path)
        listed = self.manifest["sha256"].get(name)
        if listed is not None and sha256(data).hexdigest() != listed:
            raise UqbenchError(
                f"{path} does not match its digest in {MANIFEST}: it was edited, or cut; write "
                f"the board again."
            )
        return stored_text(data, path)


class ComputedTables:
    """A board that is computed from runs when one of its tables is asked for.

    Args:
        suite: its name.
        board: name of the board.
        where: of its runs.
        compute: computes it.
    """

    def __init__(self, suite: str, board: str, where: str, compute: Callable[[], Board]) -> None:
        self.suite, self.board, self.where = suite, board, where
        self._compute = compute

    @cached_property
    def computed(self) -> Board:
        """The board itself."""
        return self._compute()

    @cached_property
    def _files(self) -> dict[str, str]:
        return self.computed.files()

    @property
    def manifest(self) -> dict[str, Any]:
        """What a stored board would say of itself."""
        found: dict[str, Any] = json.loads(self._files[MANIFEST])
        return found

    def text(self, name: str) -> str | None:
        """A table; None where such a board has none."""
        return self._files.get(name)


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UqbenchError(f"{path} is damaged, because it cannot be read: {reason}") from error
