"""The runs of a report, compressed: their pages are made by the reader's browser.

A board may have thousands of runs. Their rows of ``scores.csv`` are kept as JSON, compressed, and a
script of the page shows one of them when it is asked for.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import TEXT

DIGITS = 12
"""Of a digest, as a reader compares it; ``scores.csv`` has all 64."""
MADE_WITH = ("device", "platform", "first", "last", "versions")


def run_data(boards: Sequence[StoredBoard], earlier: Sequence[str]) -> str:
    """All runs of some boards as base64 of gzip of JSON; the same boards, the same text.

    Args:
        boards: of the report.
        earlier: of each, what its suite does otherwise by now; empty where nothing.
    """
    found = [_board(board, then) for board, then in zip(boards, earlier, strict=True)]
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def read_run_data(text: str) -> list[dict[str, Any]]:
    """Read it back."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(text)))
    return found


def _board(board: StoredBoard, earlier: str) -> dict[str, Any]:
    scores = board.scores
    digest = "results_digest" if "results_digest" in scores else "digest"
    metrics = [name for name in scores if name not in TEXT and name not in ("seed", "score")]
    columns: list[list[Any]] = [
        *(scores[name].tolist() for name in ("task", "method", "seed", "status", "device")),
        [str(run).rsplit("-", 1)[-1] for run in scores["run"]],
        [str(value)[:DIGITS] for value in scores[digest]],
        scores["content"].tolist(),
        *(_numbers(scores[name]) for name in ("score", *metrics)),
    ]
    return {
        "suite": board.suite,
        "name": board.name,
        "budget": board.manifest.budget["name"],
        "standard": board.manifest.standard,
        "earlier": earlier,
        "digest_of": "results" if digest == "results_digest" else "run.json",
        "metrics": metrics,
        "configs": board.configs,
        "made": _made(board),
        "rows": list(zip(*columns, strict=True)),
    }


def _made(board: StoredBoard) -> list[dict[str, Any]]:
    """What the runs of each content were made with."""
    made, _ = board.provenance
    return [
        {
            "content": " ".join(f"{name}:{value}" for name, value in sorted(one.content.items())),
            "revision": one.revision or "",
            **{key: getattr(one, key) for key in MADE_WITH},
        }
        for one in made
    ]


def _numbers(column: pd.Series) -> list[float | None]:
    return [float(f"{value:.7g}") if math.isfinite(value) else None for value in column]
