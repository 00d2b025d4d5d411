"""Scores that others made, from their files and objects: parts of a table, a row a value.

Read are rliable's dictionaries and JSON (``{game: [runs]}`` a method, ``{method: {game: [runs]}}``
or ``{method: [runs, tasks]}``, and ``[runs, tasks, frames]``), ``.npz`` and ``.npy`` of them;
tables with a row a run or a step in CSV (and ``.csv.gz``), JSON, JSON lines, Parquet and Feather,
as W&B's and MLflow's tables of runs are; W&B's exports of a chart with cleanrl's run names; and
folders with ``monitor.csv`` or ``evaluations.npz`` of Stable-Baselines3, as rl-zoo lays them out.
Nothing is unpickled, and no link is followed.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from uqbench.contract.errors import UqbenchError
from uqbench.results.files import read_bytes, reading, unpacked
from uqbench.results.numbers import numbers
from uqbench.results.score_table import RUN, USED, Part, find_columns
from uqbench.results.tables import MOST_BYTES

KINDS = (
    "rliable's JSON or .npz, a table with a row a run (columns method, task, seed, score) in CSV, "
    "JSON, JSON lines, Parquet or Feather, W&B's export of a table or a chart, or a folder with "
    "monitor.csv or evaluations.npz, as rl-zoo's ALGO/ENV_1"
)
MONITORS, EVALUATIONS = re.compile(r"(.*\.)?monitor\.csv"), "evaluations.npz"
ZOO = re.compile(r"(?P<task>.+)_(?P<seed>\d+)")
CLEANRL = re.compile(r"(?P<task>.+?)__(?P<method>.+)__(?P<seed>\d+)__\d+")
"""cleanrl's name of a run, in the columns of a chart that was exported: RUN - METRIC."""
SPREAD, COUNTERS = ("__MIN", "__MAX"), ("_step", "_runtime", "_timestamp")
Read = Callable[[Path], bytes]


def read_scores(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None
) -> tuple[list[Part], dict[str, str]]:
    """Parts of the scores in files and folders, and digests of what was read, by short names.

    Args:
        paths: files of different methods or tasks, or of all.
        columns: names of columns by their role, a key of :data:`uqbench.results.score_table.COLUMNS`.

    Raises:
        UqbenchError: a file is of no kind that is known, is damaged, or is there twice; names it
            and what would do.
    """
    digests: dict[Path, str] = {}
    columns = columns or {}

    def read(path: Path) -> bytes:
        data = read_bytes(path, MOST_BYTES)
        digests[path] = sha256(data).hexdigest()
        return data

    for path, times in Counter(path.resolve() for path in paths).items():
        if times > 1:
            raise UqbenchError(f"{path} is given twice: give it once.")
    parts = []
    for path in paths:
        if not path.exists():
            raise UqbenchError(f"{path} does not exist: expected {KINDS}.")
        if not path.is_dir():
            with _reading(path):
                suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
                reader = _READERS.get(suffix)
                part = None if reader is None else reader(path, read, columns)
            if part is None or part.rows.empty:
                raise UqbenchError(f"{path} has no scores that can be read: expected {KINDS}.")
            parts.append(part)
    folders = [path for path in paths if path.is_dir()]
    parts += [_folders(folders, read, columns)] if folders else []
    common = os.path.commonpath([path.absolute().parent for path in digests])
    names = {path: path.absolute().relative_to(common).as_posix() for path in digests}
    stems = Counter(_stem(path) for path in digests)
    named = []
    for part in parts:
        path = Path(part.where)
        twice = part.method is not None and stems[_stem(path)] > 1
        same = [p for p in digests if (digests[p], p.name) == (digests.get(path), path.name)]
        if twice and len(same) > 1:
            raise UqbenchError(f"{', '.join(map(str, same))} are one file: give it once.")
        method = path.absolute().parent.name if twice else part.method
        named.append(part._replace(method=method))
    return named, {names[path]: digest for path, digest in digests.items()}


def from_objects(scores: Any, columns: Mapping[str, str] | None = None) -> list[Part]:
    """Parts of a frame, a series, an array of xarray, or a dictionary of such by method.

    Args:
        scores: as :func:`uqbench.compare` takes them.
        columns: names of columns by their role.

    Raises:
        UqbenchError: an entry has another form; says what was expected.
    """
    if isinstance(scores, Mapping) and not hasattr(scores, "to_dataframe"):
        return [Part("the dictionary", from_matrices(scores, columns or {}), columns=SAID)]
    return [Part("the frame", _frame(scores))]


SAID = {"keys of the dictionary": "method, task, seed"}


def from_matrices(scores: Mapping[str, Any], columns: Mapping[str, str]) -> pd.DataFrame:
    """A table of dictionaries by method, whose entries are arrays, frames, or runs by task.

    Args:
        scores: ``{method: [runs, tasks]}``, ``{method: [runs, tasks, frames]}``,
            ``{method: {task: runs}}``, or ``{method: frame}``, a row a run and a column a task.
        columns: names of columns by role; a task ``=NAME`` makes ``{method: [runs]}`` of it.

    Raises:
        UqbenchError: an entry is none of these.
    """
    parts = [_of_method(f"{name}", own, columns) for name, own in scores.items()]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*RUN, "score"])


def _of_method(method: str, own: Any, columns: Mapping[str, str]) -> pd.DataFrame:
    if isinstance(own, Mapping) and not hasattr(own, "to_dataframe"):
        rows = [
            (method, str(task), seed, x)
            for task, runs in own.items()
            for seed, x in enumerate(np.ravel(np.asarray(runs)).tolist())
        ]
        return pd.DataFrame(rows, columns=[*RUN, "score"])
    if hasattr(own, "columns") or hasattr(own, "to_series") or hasattr(own, "to_pandas"):
        frame = _frame(own)
        found = find_columns([*map(str, frame)], {}, f"the frame of {method}")
        if "score" not in found:
            kept = [found[role] for role in ("seed", "step") if role in found]
            frame = frame.melt(kept, var_name="task", value_name="score", ignore_index=False)
            frame["task"] = frame["task"].map(str)
            found |= {"task": "task", "score": "score"}
        if "seed" not in found:
            frame, found["seed"] = frame.rename_axis("seed").reset_index(), "seed"
        roles = {found[role]: role for role in ("task", "seed", "step", "score") if role in found}
        return frame.rename(columns=roles)[[*roles.values()]].assign(method=method)
    try:
        array = np.asarray(own)
    except ValueError:
        array = np.zeros(())
    task = columns.get("task", "")
    if array.ndim == 1 and task.startswith("="):
        array = array[:, None]
    if array.ndim not in (2, 3):
        raise UqbenchError(
            f"the scores of {method!r} have shape {np.shape(array)}; expected numbers "
            f"[runs, tasks] or [runs, tasks, frames], {{task: [runs]}} where tasks have unequal "
            f"numbers of runs, or [runs] of one task that columns={{'task': '=NAME'}} says."
        )
    index = np.indices(array.shape).reshape(array.ndim, -1)
    names = [f"task-{k:03}" for k in range(array.shape[1])] if task[:1] != "=" else [task[1:]]
    table = {"method": method, "task": np.array(names)[index[1]], "seed": index[0]}
    steps = {"step": index[2] + 1} if array.ndim == 3 else {}
    return pd.DataFrame({**table, **steps, "score": array.ravel()})


def _frame(scores: Any) -> pd.DataFrame:
    """A frame of columns, of what pandas and its kin have: levels of an index become columns."""
    if hasattr(scores, "dims"):  # xarray's
        frame = scores.to_series() if hasattr(scores, "to_series") else scores.to_dataframe()
    else:
        frame = scores.to_pandas() if hasattr(scores, "to_pandas") else scores
    if isinstance(frame, pd.DataFrame) and frame.columns.nlevels > 1:
        frame = frame.stack([*range(frame.columns.nlevels)], future_stack=True)
    if isinstance(frame, pd.Series):
        frame = frame.rename("score").to_frame()
    if not isinstance(frame, pd.DataFrame):
        raise UqbenchError(
            f"expected scores as files, a frame, or a dictionary of arrays by method; got "
            f"{type(scores).__name__}."
        )
    levels = [name for name in frame.index.names if name is not None and name not in frame]
    return frame.reset_index(levels) if levels else frame


def _stem(path: Path) -> str:
    return path.name.partition(".")[0] if path.suffix == ".gz" else path.stem


def _reading(path: Path) -> Any:
    return reading(path, ValueError, LookupError, AttributeError, TypeError, RecursionError,
                   OSError, EOFError, BadZipFile, pa.ArrowException)  # fmt: skip


def _table(path: Path, rows: pd.DataFrame, *, commas: bool = False) -> Part:
    return Part(str(path), rows, _stem(path), commas)


def _json(path: Path, read: Read, columns: Mapping[str, str]) -> Part:
    """Records, columns, or rliable's dictionaries of one method or several; numbers stay as texts."""
    table = _loads(read(path))
    return _records(path, table) if isinstance(table, list) else _dictionary(path, table, columns)


def _records(path: Path, table: Sequence[Any]) -> Part:
    if not all(isinstance(row, dict) for row in table):
        raise ValueError("it has a row that is no record: expected {column: value}")
    return _table(path, pd.DataFrame.from_records(table))


def _loads(data: bytes | str) -> Any:
    data = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    return json.loads(data, parse_float=str, parse_int=str, parse_constant=str)


def _dictionary(path: Path, table: Mapping[str, Any], columns: Mapping[str, str]) -> Part:
    """The scores of one method by task, or of several; all values of a dictionary have one form."""
    forms = {"by task" if isinstance(x, dict) else np.ndim(x) for x in table.values()}
    by_name = forms <= {0, 1}
    if len(forms) > 1 or "" in table:
        raise UqbenchError(
            f"{path}: expected entries of one form, as {{game: [runs]}}; those of "
            f"{', '.join(map(str, table)):.200} differ."
        )
    if by_name and {"score", "method"} <= find_columns([*table], {}, str(path)).keys():
        return _table(path, pd.DataFrame(dict(table)))
    rows = from_matrices({_stem(path): table} if by_name and table else table, columns)
    if not by_name:
        return Part(str(path), rows, columns={"keys": "method, task, seed"})
    return Part(str(path), rows.drop(columns="method"), _stem(path))


def _lines(path: Path, read: Read, columns: Mapping[str, str]) -> Part:
    text = read(path).decode("utf-8-sig")
    return _records(path, [_loads(line) for line in text.splitlines() if line.strip()])


def _arrow(path: Path, read: Read, columns: Mapping[str, str]) -> Part:
    load = pd.read_parquet if path.suffix == ".parquet" else pd.read_feather
    return _table(path, load(io.BytesIO(read(path))))


def _numpy(path: Path, read: Read, columns: Mapping[str, str]) -> Part:
    stored = np.load(io.BytesIO(read(path)), allow_pickle=False)
    if isinstance(stored, np.ndarray):
        if stored.dtype.names:
            return _table(path, pd.DataFrame(stored))
        return _dictionary(path, {_stem(path): stored}, columns)
    with stored:
        if {"timesteps", "results"} <= {*stored}:
            raise UqbenchError(f"{path} does not say whose it is: give the folder that it is in.")
        return _dictionary(path, dict(stored), columns)


def _csv(path: Path, read: Read, columns: Mapping[str, str]) -> Part:
    """A table of texts, or W&B's export of a chart."""
    data = read(path)
    text = (unpacked(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    between = max(",;\t", key=text.partition("\n")[0].count)
    rows = pd.read_csv(
        io.StringIO(text), sep=between, dtype=str, keep_default_na=False, header=None
    )
    header, rows = [*rows.iloc[0]], rows[1:].reset_index(drop=True)
    rows.columns = pd.Index(header)
    runs = [name for name in rows if CLEANRL.fullmatch(name.rpartition(" - ")[0])]
    if runs:
        return _chart(path, rows, runs, columns)
    return _table(path, rows)._replace(commas=between == ";")


def _chart(path: Path, rows: pd.DataFrame, runs: list[str], columns: Mapping[str, str]) -> Part:
    """One metric of W&B's runs over their steps; counters and spreads are left out, and are said."""
    others = [name for name in rows if name not in runs]
    steps = find_columns(others, {r: c for r, c in columns.items() if r == "step"}, str(path))
    if "step" not in steps:
        raise UqbenchError(f"{path} has no column of steps: export the chart over global_step.")
    metrics, parts = {}, []
    for name in runs:
        run, _, metric = name.rpartition(" - ")
        end = next((end for end in SPREAD if metric.endswith(end)), "")
        metric = metric.removesuffix(end)
        left = f"a spread: {end}" if end else "a counter of W&B: " + metric
        if not end and metric not in COUNTERS:
            left, metrics[metric] = USED, "score"
        named = CLEANRL.fullmatch(run).groupdict()  # type: ignore[union-attr]
        own = pd.DataFrame({"step": rows[steps["step"]], "score": rows[name], **named})
        logged = own["score"] != ""
        own = own[logged] if logged.any() else own[-1:]  # a run that logged none is a run
        parts.append(own.assign(why=left if left else pd.NA, metric=metric))
    if "score" in columns:
        find_columns([*metrics], {"score": columns["score"]}, str(path))
        metrics = {columns["score"]: "score"}
    if len(metrics) != 1:
        raise UqbenchError(
            f"{path} has {len(metrics)} metrics, {', '.join(metrics)}: expected one; say which, by "
            f"--column score=NAME (columns={{'score': NAME}} in Python)."
        )
    table, (metric,) = pd.concat(parts, ignore_index=True), metrics
    table["why"] = table["why"].mask((table["metric"] != metric) & table["why"].isna(), "another metric")
    said = {steps["step"]: "step", "the part before ' - '": "task, method, seed", **metrics}
    said |= dict.fromkeys(set(others) - {steps["step"]}, "not asked for")
    return Part(str(path), table.drop(columns="metric"), columns=said)


class _Folder(NamedTuple):
    """A run's folder: the task that its monitors name, and its values of either kind."""

    root: Path
    path: Path
    task: str
    episodes: pd.DataFrame | None
    evaluations: pd.DataFrame | None


def _folders(roots: Sequence[Path], read: Read, columns: Mapping[str, str]) -> Part:
    """The runs of Stable-Baselines3 below folders: evaluations if all have them, else episodes."""
    runs: list[_Folder] = []
    for root in roots:
        own: dict[Path, _Folder] = {}
        for name, folders, files in os.walk(root):
            folders.sort()
            with _reading(Path(name)):
                task, episodes = _episodes(Path(name), files, read)
                evaluations = _evaluations(Path(name), read) if EVALUATIONS in files else None
            above = next((p for p in Path(name).parents if p in own), None)
            if above is not None and episodes is None and own[above].evaluations is None:
                own[above] = own[above]._replace(evaluations=evaluations)  # of logs/RUN/eval
            elif episodes is not None or evaluations is not None:
                own[Path(name)] = _Folder(root, Path(name), task, episodes, evaluations)
        if not own:
            raise UqbenchError(f"{root} has no scores that can be read: expected {KINDS}.")
        runs += own.values()
    kinds = {"evaluations": "results", "episodes": "r"}
    asked = columns.get("score")
    usable = [
        kind for kind, column in kinds.items()
        if asked in (None, column) and all(getattr(run, kind) is not None for run in runs)
    ]  # fmt: skip
    if not usable:
        lacks = next(run.path for run in runs if run.evaluations is None)
        raise UqbenchError(
            f"{lacks} has no {EVALUATIONS}, and other runs have no monitor.csv: expected one of "
            f"them of all runs (--column score=r for episodes, score=results for evaluations)."
        )
    shared = Counter((run.path.absolute().parent, _numbered(run.path)[0]) for run in runs)
    parts = [
        getattr(run, kind).assign(
            **_named(run, shared),
            file=str(run.path / (EVALUATIONS if kind == "evaluations" else "monitor.csv")),
            why=pd.NA if kind == usable[0] else f"of {kind}: {usable[0]} count",
        )
        for run in runs
        for kind in kinds
        if getattr(run, kind) is not None
    ]
    said = {"names of folders": "method, task, seed", kinds[usable[0]]: f"score, of {usable[0]}"}
    said |= {"l": "step, their sum"} if usable[0] == "episodes" else {"timesteps": "step"}
    return Part(", ".join(map(str, roots)), pd.concat(parts, ignore_index=True), columns=said)


def _evaluations(folder: Path, read: Read) -> pd.DataFrame:
    data = io.BytesIO(read(folder / EVALUATIONS))
    with np.load(data, allow_pickle=False) as stored:
        return pd.DataFrame(
            {"step": stored["timesteps"], "score": stored["results"].mean(axis=-1)}
        )


def _episodes(
    folder: Path, files: Sequence[str], read: Read
) -> tuple[str, pd.DataFrame | None]:
    """The episodes of a run's monitors in the order of time, which begins anew with a process."""
    task, parts, seen = "", [], set[str]()
    for file in filter(MONITORS.fullmatch, sorted(files)):
        text = read(folder / file).decode("utf-8-sig")
        if text in seen:
            raise UqbenchError(f"{folder / file} is there twice, under another name.")
        seen.add(text)
        head, _, rest = text.partition("\n")
        about = json.loads(head.removeprefix("#"))
        task = str(about.get("env_id") or task)
        rows = pd.read_csv(io.StringIO(rest), dtype=str, keep_default_na=False)
        r, length, t = (numbers(rows[name], f"{folder / file}: {name}") for name in "rlt")
        again = np.diff(t, prepend=t[:1]) < 0  # the process was started again, in the same file
        if again.sum() > len(t) / 10:
            raise UqbenchError(f"{folder / file}: episodes are not in the order of their times, t.")
        before = np.cumsum(np.where(again, np.roll(t, 1), 0))
        time = about["t_start"] + t + before
        parts.append(pd.DataFrame({"score": r, "l": length, "time": time}))
    if not parts:
        return task, None
    rows = pd.concat(parts).sort_values("time", kind="stable")
    return task, rows.assign(step=rows["l"].cumsum())[["step", "score"]]


def _numbered(path: Path) -> tuple[str, str]:
    """The name of a folder without the seed at its end, and the seed; digits need a separator."""
    own = path.absolute().name
    parts = re.fullmatch(r"(.*?)[-_]?seed[-_=]?(\d+)|(?:(.+)[-_])?(\d+)", own)
    if parts is None:
        return own, ""
    name, seed, other, digits = parts.groups()
    return (name, seed) if seed else (other or "", digits)


def _named(run: _Folder, shared: Mapping[Any, int]) -> dict[str, str]:
    """Method, task and seed of a run's folder: ALGO/ENV_1, METHOD/TASK/SEED, or METHOD_SEED."""
    task, slug, path = run.task, run.task.replace("/", "-"), run.path.absolute()
    *above, own = path.relative_to(run.root.absolute().parent.parent).parts
    zoo = ZOO.fullmatch(own)
    if zoo and above and (zoo["task"] == slug or (not task and re.search(r"-v\d+$", zoo["task"]))):
        return {"method": above[-1], "task": task or zoo["task"], "seed": zoo["seed"]}
    name, seed = _numbered(path)
    if name and "seed" not in own and shared[path.parent, name] < 2:
        name, seed = own, ""  # one folder alone: its digits are part of the name
    if not task and len(above) > 1 and not name:
        task = above.pop()
    if not task:
        raise UqbenchError(
            f"{run.path} does not say of which environment it is: expected a monitor.csv whose "
            f"first line names it, or folders ALGO/ENV_1, as rl-zoo has them, or METHOD/TASK/SEED."
        )
    above = [part for part in above if part not in (task, slug)] or ["method"]
    return {"method": name or above[-1], "task": task, "seed": seed or "0"}


_READERS: Mapping[str, Callable[[Path, Read, Mapping[str, str]], Part]] = {
    ".json": _json, ".jsonl": _lines, ".ndjson": _lines, ".csv": _csv, ".tsv": _csv,
    ".parquet": _arrow, ".feather": _arrow, ".npz": _numpy, ".npy": _numpy,
}  # fmt: skip
