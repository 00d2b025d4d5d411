"""Scores that others made, from their files: one table, a row a run.

Read are rliable's JSON (``{game: [runs]}`` a method, or ``{method: {game: [runs]}}``), records in
JSON, CSV with a row a run or an evaluation (exports of W&B's tables among them), W&B's exports of
a chart with cleanrl's run names, and folders with ``monitor.csv`` or ``evaluations.npz`` of
Stable-Baselines3, as rl-zoo lays them out. Nothing is unpickled, and no link is followed.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.results.files import read_bytes, reading
from uqbench.results.tables import MOST_BYTES

COLUMNS = {
    "method": ("method", "algorithm", "algo", "agent", "alg", "exp_name", "model"),
    "task": ("task", "env", "env_id", "environment", "env_name", "game", "dataset"),
    "seed": ("seed", "run", "run_id", "trial"),
    "score": (
        "score", "return", "final_return", "episode_return", "episodic_return", "mean_return",
        "charts/episodic_return", "eval/mean_reward", "rollout/ep_rew_mean", "mean_reward",
        "reward", "hns", "normalized_score", "human_normalized_score",
    ),
    "step": ("step", "global_step", "timestep", "timesteps", "_step"),
    "zero": ("zero", "random", "random_score"),
    "one": ("one", "human", "human_score"),
    "state": ("state", "status"),
}  # fmt: skip
"""Names by which columns are known, the first of a row that is there; letters alone count."""
NORMALIZED = ("hns", "normalized_score", "human_normalized_score")
"""Scores that need no constants any more."""
KINDS = (
    "rliable's JSON, a CSV with a row a run (columns method, task, seed, score), W&B's export of "
    "a table, or a folder with monitor.csv or evaluations.npz, as rl-zoo's ALGO/ENV_1"
)
MONITORS, EVALUATIONS = re.compile(r"(.*\.)?monitor\.csv"), "evaluations.npz"
ZOO = re.compile(r"(?P<task>.+)_(?P<seed>\d+)")
CLEANRL = re.compile(r"(?P<task>.+?)__(?P<method>.+)__(?P<seed>\d+)__\d+ - .+")
"""cleanrl's name of a run, in a column of a chart that was exported."""


def read_scores(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None, window: float = 0.1
) -> pd.DataFrame:
    """The scores in files and folders: ``method``, ``task``, ``seed``, ``score``, and what else.

    Args:
        paths: files of different methods or tasks, or of all.
        columns: names of columns by their role, a key of :data:`COLUMNS`.
        window: of curves, the last part of the steps, whose mean is the score.

    Raises:
        UqbenchError: a file is of no kind that is known, or lacks a column; names it and what
            would do.
    """
    parts = []
    for path in paths:
        if path.is_dir():
            rows = pd.DataFrame(_runs_of_folder(path, window))
            if rows.empty:
                raise UqbenchError(f"{path} has no scores: expected {KINDS}.")
        elif path.suffix == ".json":
            with reading(path, ValueError, RecursionError):
                rows = _of_json(json.loads(read_bytes(path, MOST_BYTES)), path)
        elif path.suffix in (".csv", ".tsv", ".txt"):
            rows = _of_csv(path)
        else:
            raise UqbenchError(f"{path} is of no kind that can be read: expected {KINDS}.")
        known = find_columns(map(str, rows.columns), columns)
        if "method" not in known.values():
            rows["method"] = path.stem
        parts.append(tidy(rows, str(path), columns, window))
    return pd.concat(parts, ignore_index=True)


def tidy(
    rows: pd.DataFrame, where: str, columns: Mapping[str, str] | None = None, window: float = 0.1
) -> pd.DataFrame:
    """A table with a row a run, whatever its columns are called and in whatever order.

    Args:
        rows: with a row a run, or a row a step of a run.
        where: it is from, for errors.
        columns: names of columns by their role.
        window: of curves, the last part of the steps, whose mean is the score.

    Raises:
        UqbenchError: a column is missing, a score is no number, or a run is there twice.
    """
    found = find_columns(map(str, rows.columns), columns)
    for role in ("method", "task", "score"):
        if role not in found.values():
            raise UqbenchError(
                f"{where} has no column of {role}s: it has {', '.join(map(str, rows.columns))}; "
                f"expected one of {', '.join(COLUMNS[role])}: rename one, or say "
                f"--column {role}=NAME (columns={{'{role}': NAME}} in Python)."
            )
    normalized = any(_plain(c) in map(_plain, NORMALIZED) for c, r in found.items() if r == "score")
    table = rows.rename(columns=str)[list(found)].rename(columns=found)
    if normalized:
        table = table.assign(zero=0.0, one=1.0)
    for name in {"score", "step", "zero", "one"} & {*table.columns}:
        numbers = pd.to_numeric(table[name], errors="coerce").astype(float)
        wrong = numbers.isna() & table[name].notna() & (table[name].astype(str).str.strip() != "")
        if wrong.any():
            raise UqbenchError(
                f"{where}: the {name} {str(table.loc[wrong, name].iloc[0])!r:.60} is no number."
            )
        table[name] = numbers
    if "state" in table:
        ended = table["state"].fillna("").astype(str).str.lower().isin(["", "finished"])
        table.loc[~ended, "score"] = np.nan
        table = table.drop(columns="state")
    for name in ("method", "task"):
        table[name] = table[name].astype(str)
    cell = ["method", "task"]
    if "seed" not in table:
        if "step" in table:
            raise UqbenchError(f"{where} has steps and no column of seeds: which run is a row of?")
        table["seed"] = table.groupby(cell).cumcount()
    if "step" in table:
        end = table.groupby([*cell, "seed"])["step"].transform("max")
        late = table[table["step"] > (1 - window) * end]
        kept = {name: "mean" for name in ("score", "zero", "one") if name in table}
        table = late.groupby([*cell, "seed"], as_index=False, sort=False).agg(kept)
    if (twice := table.duplicated([*cell, "seed"])).any():
        row = table[twice].iloc[0]
        raise UqbenchError(
            f"{where} has {row['method']} on {row['task']} with seed {row['seed']} twice: expected "
            f"a row a run; name the column of methods, seeds or steps (--column step=NAME)."
        )
    return table


def find_columns(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Roles by the columns that have them.

    Raises:
        UqbenchError: a column or role that the user names is unknown.
    """
    known = list(names)
    by_role: dict[str, str] = {}
    for role, column in (given or {}).items():
        for what, one, every in (("role", role, COLUMNS), ("column", column, known)):
            if one not in every:
                raise UqbenchError(f"there is no {what} {one!r}. {did_you_mean(one, every)}")
        by_role[role] = column
    plain = {_plain(name): name for name in reversed(known)}
    for role, aliases in COLUMNS.items():
        there = (plain[_plain(alias)] for alias in aliases if _plain(alias) in plain)
        if role not in by_role and (found := next(there, None)) is not None:
            by_role[role] = found
    return {column: role for role, column in by_role.items()}


def from_matrices(scores: Mapping[str, Any]) -> pd.DataFrame:
    """A table of rliable's dictionaries, ``{method: [runs, tasks]}`` or ``{method: {task: runs}}``.

    Raises:
        UqbenchError: an entry is neither.
    """
    rows = []
    for method, given in scores.items():
        by_task = given
        if not isinstance(given, Mapping):
            try:
                matrix = np.asarray(given, np.float64)
            except (TypeError, ValueError):
                matrix = np.empty(0)
            if matrix.ndim != 2:
                raise UqbenchError(
                    f"the scores of {method!r} are {type(given).__name__} of shape {matrix.shape}; "
                    f"expected numbers [runs, tasks], or {{task: [runs]}} where tasks have unequal "
                    f"numbers of runs."
                )
            width = len(str(matrix.shape[1] - 1))
            by_task = {f"task-{task:0{width}}": matrix[:, task] for task in range(matrix.shape[1])}
        for task, runs in by_task.items():
            values = np.atleast_1d(runs).tolist()
            rows += [(str(method), str(task), seed, one) for seed, one in enumerate(values)]
    return pd.DataFrame(rows, columns=["method", "task", "seed", "score"])


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _of_json(table: Any, path: Path) -> pd.DataFrame:
    """Records, or rliable's dictionaries of one method or several."""
    if isinstance(table, list) and table and isinstance(table[0], dict):
        return pd.DataFrame.from_records(table)
    if not isinstance(table, dict) or not table:
        raise UqbenchError(f"{path} is no table of scores: expected {KINDS}.")
    first = next(iter(table.values()))
    nested = isinstance(first, dict) or (isinstance(first, list) and isinstance(first[0], list))
    return from_matrices(table if nested else {path.stem: table})


def _of_csv(path: Path) -> pd.DataFrame:
    with reading(path, ValueError, pd.errors.ParserError):
        text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        head = text.partition("\n")[0]
        between = max(",;\t", key=head.count)
        rows = pd.read_csv(io.StringIO(text), sep=between, float_precision="round_trip")
    charts = {name: match for name in map(str, rows) if (match := CLEANRL.fullmatch(name))}
    curves = [name for name in charts if not name.endswith(("__MIN", "__MAX"))]
    if not curves:
        return rows
    steps = next(name for name in map(str, rows.columns) if name not in charts)
    parts = [
        pd.DataFrame({"step": rows[steps], "score": rows[name], **charts[name].groupdict()})
        for name in curves
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="score")


def _runs_of_folder(root: Path, window: float) -> Iterator[dict[str, Any]]:
    """A row for each folder with files of Stable-Baselines3: its evaluations, else its episodes."""
    for name, folders, files in os.walk(root):
        folders.sort()
        folder = Path(name)
        monitors = sorted(folder / file for file in files if MONITORS.fullmatch(file))
        if not monitors and EVALUATIONS not in files:
            continue
        task, episodes = _episodes(monitors)
        if EVALUATIONS in files:
            steps, values = _evaluations(folder / EVALUATIONS)
        else:
            steps, values = episodes["l"].cumsum(), episodes["r"]
        late = values[steps > (1 - window) * steps.max()] if len(steps) else values
        score = float(np.mean(late)) if len(late) else np.nan
        yield {**_named(root, folder, task), "score": score}


def _named(root: Path, folder: Path, task: str) -> dict[str, Any]:
    """Method, task and seed of a run's folder: ALGO/ENV_1, METHOD/TASK/SEED, or METHOD_SEED."""
    parts = (root.absolute().name, *folder.relative_to(root).parts)
    zoo = ZOO.fullmatch(parts[-1])
    if zoo and len(parts) > 1 and task in ("", zoo["task"]):
        return {"method": parts[-2], **zoo.groupdict()}
    own = re.fullmatch(r"(.*?)[-_]?(?:seed[-_=]?)?(\d+)", parts[-1])
    name, seed = (own[1], own[2]) if own else (parts[-1], "0")
    above = [part for part in parts[:-1] if part != task]
    if not task and len(parts) > 2 and not name:
        task, above = parts[-2], [*parts[:-2]]
    if not task:
        raise UqbenchError(
            f"{folder} does not say of which environment it is: expected a monitor.csv whose first "
            f"line names it, or folders ALGO/ENV_1, as rl-zoo has them, or METHOD/TASK/SEED."
        )
    return {"method": name or (above[-1] if above else "method"), "task": task, "seed": seed}


def _episodes(paths: Sequence[Path]) -> tuple[str, pd.DataFrame]:
    """The environment, and the episodes of a run's environments in the order of their ends."""
    parts, task = [], ""
    for path in paths:
        with reading(path, ValueError, KeyError, pd.errors.ParserError):
            first, _, rest = read_bytes(path, MOST_BYTES).decode().partition("\n")
            task = str(json.loads(first.removeprefix("#")).get("env_id") or task)
            parts.append(pd.read_csv(io.StringIO(rest))[["r", "l", "t"]].astype(float))
    if not parts:
        return task, pd.DataFrame({"r": [], "l": []})
    return task, pd.concat(parts).sort_values("t", kind="stable", ignore_index=True)


def _evaluations(path: Path) -> tuple[Any, Any]:
    """Steps and mean returns of a run's evaluations."""
    with reading(path, ValueError, KeyError, OSError, EOFError):
        data = io.BytesIO(read_bytes(path, MOST_BYTES))
        with np.load(data, allow_pickle=False) as stored:
            return stored["timesteps"], stored["results"].mean(axis=-1)
