"""Two stored boards of one suite, of two machines say: the same, or where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uqbench.boards.scores import from_csv
from uqbench.boards.stored import StoredBoard
from uqbench.results.files import stored_text
from uqbench.results.scores import Score

MOST = 5
"""Differences of a kind that are named; of the others it says how many."""
MEASURED = ("steps_per_s",)
"""Metrics of cost, which differ from run to run."""
SETTINGS = ("suite", "budget", "primary_metric", "ranks_by", "normalization", "score_versions")


def differences(first: StoredBoard, second: StoredBoard) -> list[str]:
    """Differences of two boards, the causes first; empty where every run came to the same.

    Raises:
        UqbenchError: a file is damaged.
    """
    ours, theirs = _rows(first), _rows(second)
    both = sorted(ours.keys() & theirs.keys())
    told = _settings(first, second)
    told += _named(f"only in {first.folder}", sorted(ours.keys() - theirs.keys()))
    told += _named(f"only in {second.folder}", sorted(theirs.keys() - ours.keys()))
    other = [key for key in both if not ours[key].same_result(theirs[key], MEASURED)]
    values = [of for key in other if (of := _values(ours[key], theirs[key]))]
    if other:
        same = "" if values else ", in their digests alone"
        told.append(f"{len(other)} of {len(both)} runs came to something else{same}")
    told += values[:MOST] + [f"… and {len(values) - MOST} more"] * (len(values) > MOST)
    ranks, others = _ranks(first), _ranks(second)
    moved = [f"{m}: {ranks[m]} or {others[m]}" for m in sorted(ranks.keys() & others.keys())
             if ranks[m] != others[m]]  # fmt: skip
    return told + ([f"ranks: {', '.join(moved)}"] if moved else [])


def _rows(board: StoredBoard) -> dict[str, Score]:
    path = board.folder / "scores.csv"
    scores = from_csv(stored_text(board.checked(path.name), path), str(path))
    return {f"{score.task}/{score.method}/{score.seed}": score for score in scores}


def _settings(first: StoredBoard, second: StoredBoard) -> list[str]:
    ours, theirs = (board.manifest.model_dump(mode="json") for board in (first, second))
    flat = [_flat({name: of[name] for name in (*SETTINGS, "methods")}) for of in (ours, theirs)]
    keys = [key for key in flat[0].keys() & flat[1].keys() if flat[0][key] != flat[1][key]]
    told = [f"{key}: {flat[0][key]} or {flat[1][key]}" for key in sorted(keys)]
    content = [
        f"code of {name}: {'+'.join(of)} or {'+'.join(theirs['content'][name])}"
        for name, of in ours["content"].items()
        if theirs["content"].get(name, of) != of
    ]
    return told + content


def _flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value}
    return flat


def _named(what: str, names: list[str]) -> list[str]:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return [f"{what}: {', '.join(names[:MOST])}{more}"] if names else []


def _values(ours: Score, theirs: Score) -> str:
    if ours.status != theirs.status:
        return f"{ours.run}: {ours.status} or {theirs.status}"
    parts = [
        f"{name} {ours.values[name]} or {theirs.values[name]}"
        for name in ours.values.keys() & theirs.values.keys() - {*MEASURED}
        if repr(ours.values[name]) != repr(theirs.values[name])
    ]
    return f"{ours.task}/{ours.method}/{ours.seed}: {', '.join(sorted(parts))}" if parts else ""


def _ranks(board: StoredBoard) -> dict[str, str]:
    table = board.leaderboard
    table = table[table["rank"].notna()]
    rows = zip(table["method"], table["rank_low"], table["rank_high"], strict=True)
    return {method: f"{low:.0f}–{high:.0f}" for method, low, high in rows}
