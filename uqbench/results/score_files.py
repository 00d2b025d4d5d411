"""Scores that others made, from their files: one table, a row a run.

Read are rliable's JSON (``{game: [runs]}`` a method, or ``{method: {game: [runs]}}``), records in
JSON, CSV (and ``.csv.gz``) with a row a run or an evaluation (exports of W&B's tables among them),
W&B's exports of a chart with cleanrl's run names, and folders with ``monitor.csv`` or
``evaluations.npz`` of Stable-Baselines3, as rl-zoo lays them out. Nothing is unpickled, and no link
is followed.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from uqbench.contract.errors import UqbenchError, unknown
from uqbench.results.files import read_bytes, reading, unpacked
from uqbench.results.tables import MOST_BYTES

COLUMNS = {
    "method": "method algorithm algo agent alg exp_name model",
    "task": "task env env_id environment env_name game dataset",
    "seed": "seed run run_id trial",
    "score": "score return final_return episode_return episodic_return mean_return "
    "charts/episodic_return eval/mean_reward rollout/ep_rew_mean mean_reward reward hns "
    "normalized_score human_normalized_score",
    "step": "step global_step timestep timesteps _step",
    "zero": "zero random random_score",
    "one": "one human human_score",
    "state": "state status",
}
"""Names by which columns are known, the first of a row that is there; letters alone count."""
NORMALIZED = ("hns", "normalizedscore", "humannormalizedscore")
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
        if not path.exists():
            raise UqbenchError(f"{path} does not exist: expected {KINDS}.")
        with reading(
            path, ValueError, LookupError, AttributeError, TypeError, RecursionError, OSError
        ):
            if path.is_dir():
                rows = pd.DataFrame(_runs_of_folder(path, window))
            else:
                read = {".json": _json, ".csv": _csv, ".tsv": _csv, ".gz": _csv}.get(path.suffix)
                rows = pd.DataFrame() if read is None else read(path)
        if rows.empty:
            raise UqbenchError(f"{path} has no scores that can be read: expected {KINDS}.")
        if "method" not in find_columns(rows, columns).values():
            rows["method"] = path.stem.removesuffix(".csv")
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
    found, cell = find_columns(rows, columns), ["method", "task"]
    for role in (*cell, "score"):
        if role not in found.values():
            raise UqbenchError(
                f"{where} has no column of {role}s: it has {', '.join(map(str, rows))}; "
                f"expected one of {COLUMNS[role].replace(' ', ', ')}: rename one, or say "
                f"--column {role}=NAME (columns={{'{role}': NAME}} in Python)."
            )
    table = rows.rename(columns=str)[list(found)].rename(columns=found)
    if table.empty or table[cell].isna().to_numpy().any():
        raise UqbenchError(
            f"{where}: expected scores, each with its method and task; one has none."
        )
    table = table.astype(dict.fromkeys(cell, str))
    if any(role == "score" and _plain(name) in NORMALIZED for name, role in found.items()):
        table = table.assign(zero=0.0, one=1.0)
    for name in {"score", "step", "zero", "one"} & {*table}:
        numbers = pd.to_numeric(table[name], errors="coerce").astype(float)
        given = table[name].astype("string").str.strip().fillna("")
        for text in given[numbers.isna() & ~given.str.lower().isin(["", "nan", "none"])]:
            raise UqbenchError(f"{where}: the {name} {text!r:.60} is no number.")
        table[name] = numbers
    if "state" in table:
        ended = table.pop("state").fillna("").astype(str).str.lower().isin(["", "finished"])
        table.loc[~ended, "score"] = np.nan
    if "seed" not in table:
        table["seed"] = 0 if "step" in table else table.groupby(cell).cumcount()
    run = [*cell, "seed"]
    if "step" in table:
        late = table[table["step"] > (1 - window) * table.groupby(run)["step"].transform("max")]
        kept = table.columns.intersection(["score", "zero", "one"])
        table = late.groupby(run, as_index=False, sort=False)[list(kept)].mean()
    for method, task, seed in table.loc[table.duplicated(run), run].to_numpy():
        raise UqbenchError(
            f"{where} has {method} on {task} with seed {seed} twice: expected a row a run; name "
            f"the column of methods, seeds or steps (--column step=NAME)."
        )
    return table


def find_columns(rows: pd.DataFrame, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Roles by the columns that have them.

    Raises:
        UqbenchError: a column or role that the user names is unknown.
    """
    by_role, names = dict(given or {}), [*map(str, rows)]
    for role, column in by_role.items():
        for what, one, every in (("role", role, COLUMNS), ("column", column, names)):
            if one not in every:
                raise unknown(what, one, every)
    plain = {_plain(name): name for name in reversed(names)}
    for role, aliases in COLUMNS.items():
        for alias in reversed(aliases.split() if role not in (given or {}) else ()):
            by_role |= {role: plain[_plain(alias)]} if _plain(alias) in plain else {}
    return {column: role for role, column in by_role.items()}


def from_matrices(scores: Mapping[str, Any]) -> pd.DataFrame:
    """A table of rliable's dictionaries, ``{method: [runs, tasks]}`` or ``{method: {task: runs}}``.

    Raises:
        UqbenchError: an entry is neither.
    """
    rows = []
    for method, by_task in scores.items():
        if not isinstance(by_task, Mapping):
            if np.ndim(by_task) != 2:
                raise UqbenchError(
                    f"the scores of {method!r} have shape {np.shape(by_task)}; expected numbers "
                    f"[runs, tasks], or {{task: [runs]}} where tasks have unequal numbers of runs."
                )
            by_task = {f"task-{task:03}": runs for task, runs in enumerate(np.transpose(by_task))}
        for task, runs in by_task.items():
            rows += [(method, task, seed, x) for seed, x in enumerate(np.ravel(runs).tolist())]
    return pd.DataFrame(rows, columns=["method", "task", "seed", "score"])


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _json(path: Path) -> pd.DataFrame:
    """Records, or rliable's dictionaries of one method or several."""
    table = json.loads(read_bytes(path, MOST_BYTES))
    if isinstance(table, list):
        return pd.DataFrame.from_records(table)
    first: Any = next(iter(table.values()), None)
    nested = isinstance(first, dict) or np.ndim(first) == 2
    return from_matrices(table if nested else {path.stem: table})


def _csv(path: Path) -> pd.DataFrame:
    data = read_bytes(path, MOST_BYTES)
    text = (unpacked(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    between = max(",;\t", key=text.partition("\n")[0].count)
    rows = pd.read_csv(io.StringIO(text), sep=between, float_precision="round_trip")
    charts = {name: CLEANRL.fullmatch(name) for name in map(str, rows)}
    steps = next((name for name, run in charts.items() if run is None), "")
    parts = [
        pd.DataFrame({"step": rows[steps], "score": rows[name], **run.groupdict()})
        for name, run in charts.items()
        if run is not None and not name.endswith(("__MIN", "__MAX"))
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="score") if parts else rows


def _runs_of_folder(root: Path, window: float) -> Iterator[dict[str, Any]]:
    """A row for each folder with files of Stable-Baselines3: its evaluations, else its episodes."""
    for name, folders, files in os.walk(root):
        folders.sort()
        folder, task, episodes = Path(name), "", []
        for file in filter(MONITORS.fullmatch, sorted(files)):
            head, _, rest = read_bytes(folder / file, MOST_BYTES).decode().partition("\n")
            task = str(json.loads(head.removeprefix("#")).get("env_id") or task)
            episodes.append(pd.read_csv(io.StringIO(rest))[["r", "l", "t"]].astype(float))
        if EVALUATIONS in files:
            data = io.BytesIO(read_bytes(folder / EVALUATIONS, MOST_BYTES))
            with np.load(data, allow_pickle=False) as stored:
                steps, values = stored["timesteps"], stored["results"].mean(axis=-1)
        elif episodes:
            ended = pd.concat(episodes).sort_values("t", kind="stable")
            steps, values = ended["l"].cumsum(), ended["r"]
        else:
            continue
        late = values[steps > (1 - window) * max(steps, default=0)]
        yield {**_named(root, folder, task), "score": np.mean(late) if len(late) else np.nan}


def _named(root: Path, folder: Path, task: str) -> dict[str, Any]:
    """Method, task and seed of a run's folder: ALGO/ENV_1, METHOD/TASK/SEED, or METHOD_SEED."""
    *above, own = (root.absolute().name, *folder.relative_to(root).parts)
    zoo = ZOO.fullmatch(own)
    if zoo and above and task in ("", zoo["task"]):
        return {"method": above[-1], **zoo.groupdict()}
    name, seed = re.fullmatch(r"(.*?)[-_]?(?:seed[-_=]?)?(\d*)", own).groups()  # type: ignore[union-attr]
    if not task and len(above) > 1 and not name:
        task = above.pop()
    if not task:
        raise UqbenchError(
            f"{folder} does not say of which environment it is: expected a monitor.csv whose first "
            f"line names it, or folders ALGO/ENV_1, as rl-zoo has them, or METHOD/TASK/SEED."
        )
    above = [part for part in above if part != task] or ["method"]
    return {"method": name or above[-1], "task": task, "seed": seed or "0"}
