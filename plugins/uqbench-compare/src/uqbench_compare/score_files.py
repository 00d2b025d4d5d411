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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from uqbench.contract.errors import UqbenchError
from uqbench.registry.packages import lacking
from uqbench.results.files import read_bytes, reading, unpacked
from uqbench.results.tables import MOST_BYTES
from uqbench_compare.numbers import numbers
from uqbench_compare.score_table import RUN, Part, find_columns

KINDS = (
    "rliable's JSON or .npz, a table with a row a run (columns method, task, seed, score) in CSV, "
    "JSON, JSON lines, Parquet or Feather, W&B's export of a table or a chart, or a folder with "
    "monitor.csv or evaluations.npz, as rl-zoo's ALGO/ENV_1"
)
MONITORS, EVALUATIONS = re.compile(r"(.*\.)?monitor\.csv"), "evaluations.npz"
ZOO = re.compile(r"(?P<task>.+)_(?P<seed>\d+)")
CLEANRL = re.compile(
    r"^(?P<task>.+?)__(?P<method>.+)__(?P<seed>\d+)__\d+ - (?P<metric>.+?)(?P<spread>__MIN|__MAX)?$"
)
"""A column of a chart that W&B exported: cleanrl's name of a run, and its metric."""


def read_scores(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None
) -> tuple[list[Part], dict[str, str]]:
    """Parts of the scores in files and folders, and digests of what was read, by short names.

    Args:
        paths: files of different methods or tasks, or of all.
        columns: names of columns by their role, a key of
            :data:`uqbench_compare.score_table.COLUMNS`.

    Raises:
        UqbenchError: a file is of no kind that is known, is damaged, or is given twice; names it
            and what would do.
    """
    digests: dict[Path, str] = {}

    def read(path: Path) -> bytes:
        data = read_bytes(path, MOST_BYTES)
        digests[path] = sha256(data).hexdigest()
        return data

    parts = []
    for path in paths:
        if not path.exists():
            raise UqbenchError(f"{path} does not exist: expected {KINDS}.")
        if [one.resolve() for one in paths].count(path.resolve()) > 1:
            raise UqbenchError(f"{path} is given twice: give it once.")
        if not path.is_dir():
            suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
            with reading(path, Exception):
                part = (
                    _READERS[suffix](path, read(path), columns or {})
                    if suffix in _READERS
                    else None
                )
            if part is None or part.rows.empty:
                raise UqbenchError(f"{path} has no scores that can be read: expected {KINDS}.")
            parts.append(part)
    folders = [path for path in paths if path.is_dir()]
    files = {part.where: Path(part.where) for part in parts}
    parts += [_folders(folders, read, columns or {})] if folders else []
    for k, part in enumerate(parts):  # of files of one name, the method is the folder's name
        own = files.get(part.where)
        alike = [p for p in files.values() if own is not None and _stem(p) == _stem(own)]
        if part.method is not None and own is not None and len(alike) > 1:
            if len({digests[p] for p in alike}) < len(alike):
                raise UqbenchError(f"{', '.join(map(str, alike))}: two are the same: give one.")
            parts[k] = part._replace(method=own.absolute().parent.name)
    common = os.path.commonpath([path.absolute().parent for path in digests])
    return parts, {p.absolute().relative_to(common).as_posix(): of for p, of in digests.items()}


def from_objects(scores: Any, columns: Mapping[str, str] | None = None) -> list[Part]:
    """Parts of a frame, a series, an array of xarray, or a dictionary of such by method.

    Args:
        scores: as :func:`uqbench.compare` takes them.
        columns: names of columns by their role.

    Raises:
        UqbenchError: an entry has another form; says what was expected.
    """
    if isinstance(scores, Mapping) and not hasattr(scores, "dims"):
        return [_matrices("the dictionary", scores, columns or {})]
    return [Part("the frame", _frame(scores))]


def _matrices(where: str, scores: Mapping[str, Any], columns: Mapping[str, str]) -> Part:
    """Runs by method, each an array, a frame with a row a run, or runs by task."""
    parts = [_of_method(str(method), own, columns) for method, own in scores.items()]
    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*RUN, "score"])
    return Part(where, rows, columns={"keys and places": "method, task, seed"})


def _of_method(method: str, own: Any, columns: Mapping[str, str]) -> pd.DataFrame:
    if hasattr(own, "to_numpy") or hasattr(own, "dims"):  # of pandas, polars, xarray
        frame = _frame(own)
        found = find_columns([*map(str, frame)], {}, f"the frame of {method}")
        if "seed" not in found:
            frame, found["seed"] = frame.rename_axis("seed").reset_index(), "seed"
        if "score" not in found:
            kept = [found[role] for role in ("seed", "step") if role in found]
            frame = frame.melt(kept, var_name="task", value_name="score")
            found |= {"task": "task", "score": "score"}
        roles = {found[role]: role for role in ("task", "seed", "step", "score") if role in found}
        return (
            frame.rename(columns=str).rename(columns=roles)[[*roles.values()]].assign(method=method)
        )
    if isinstance(own, Mapping):
        runs = [
            (str(task), k, x)
            for task, of in own.items()
            for k, x in enumerate(np.ravel(of).tolist())
        ]
        return pd.DataFrame(runs, columns=["task", "seed", "score"]).assign(method=method)
    lengths = {np.shape(row) for row in own} if isinstance(own, list) else set()
    array, task = np.asarray(own if len(lengths) < 2 else 0), columns.get("task", "")
    array = array[:, None] if array.ndim == 1 and task[:1] == "=" else array
    if array.ndim not in (2, 3):
        raise UqbenchError(
            f"the scores of {method!r} have shape {array.shape}; expected numbers [runs, tasks] or "
            f"[runs, tasks, frames], {{task: [runs]}} where tasks have unequal numbers of runs, or "
            f"[runs] of one task that columns={{'task': '=NAME'}} says."
        )
    seed, which, *frames = np.indices(array.shape).reshape(array.ndim, -1)
    names = np.array([task[1:] or f"task-{k:03}" for k in range(array.shape[1])])
    table = {"method": method, "task": names[which], "seed": seed, "score": array.ravel()}
    return pd.DataFrame(table | ({"step": frames[0] + 1} if frames else {}))


def _frame(scores: Any) -> pd.DataFrame:
    """A frame of columns, of what pandas and its kin have: levels of an index become columns."""
    for convert in ("to_series", "to_dataframe", "to_pandas"):  # an array, a set of such, polars
        if hasattr(scores, convert) and not isinstance(scores, pd.DataFrame | pd.Series):
            scores = getattr(scores, convert)()
    if isinstance(scores, pd.DataFrame) and scores.columns.nlevels > 1:
        scores = scores.stack([*range(scores.columns.nlevels)], future_stack=True)
    frame = scores.rename("score").to_frame() if isinstance(scores, pd.Series) else scores
    if not isinstance(frame, pd.DataFrame):
        raise UqbenchError(
            f"expected scores as files, a frame, or a dictionary of arrays by method; got "
            f"{type(scores).__name__}."
        )
    return frame.reset_index([n for n in frame.index.names if n is not None and n not in frame])


def _stem(path: Path) -> str:
    return path.name.partition(".")[0] if path.suffix == ".gz" else path.stem


def _json(path: Path, data: bytes, columns: Mapping[str, str]) -> Part:
    """Records, columns, or rliable's dictionaries; numbers stay as texts."""
    lines = path.suffix in (".jsonl", ".ndjson")
    texts = data.decode("utf-8-sig").splitlines() if lines else [data.decode("utf-8-sig")]
    kept: dict[str, Any] = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), str)
    tables = [json.loads(text, **kept) for text in texts if text.strip()]
    if not lines and not isinstance(tables[0], list):
        return _dictionary(path, tables[0], columns)
    records = tables if lines else tables[0]
    if not all(isinstance(row, dict) for row in records):
        raise ValueError("it has a row that is no record: expected {column: value}")
    return Part(str(path), pd.DataFrame.from_records(records), _stem(path))


def _dictionary(path: Path, table: Mapping[str, Any], columns: Mapping[str, str]) -> Part:
    """The scores of one method by task, or of several, or columns; all entries have one form."""
    forms = {"by task" if isinstance(own, dict) else np.ndim(own) for own in table.values()}
    if len(forms) > 1:
        raise UqbenchError(
            f"{path}: expected entries of one form, as {{game: [runs]}}; those of "
            f"{', '.join(map(str, table)):.200} differ."
        )
    if not forms <= {0, 1}:
        return _matrices(str(path), table, columns)
    if not {"score", "method"} <= find_columns([*table], {}, str(path)).keys():
        rows = _matrices("", {"": table} if table else {}, {}).rows.drop(columns="method")
        return Part(str(path), rows, _stem(path))
    return Part(str(path), pd.DataFrame(dict(table)), _stem(path))


def _arrow(path: Path, data: bytes, _: Mapping[str, str]) -> Part:
    if find_spec("pyarrow") is None:
        raise lacking(ModuleNotFoundError(name="pyarrow"), str(path))
    load = pd.read_parquet if path.suffix == ".parquet" else pd.read_feather
    return Part(str(path), _frame(load(io.BytesIO(data))), _stem(path))


def _numpy(path: Path, data: bytes, columns: Mapping[str, str]) -> Part:
    stored = np.load(io.BytesIO(data), allow_pickle=False)
    if not isinstance(stored, np.ndarray):
        if {"timesteps", "results"} <= {*stored}:
            raise UqbenchError(f"{path} does not say whose it is: give the folder that it is in.")
        return _dictionary(path, dict(stored), columns)
    if stored.dtype.names:
        return Part(str(path), pd.DataFrame(stored), _stem(path))
    return _dictionary(path, {_stem(path): stored}, columns)


def _csv(path: Path, data: bytes, columns: Mapping[str, str]) -> Part:
    """A table of texts, or W&B's export of a chart."""
    data = unpacked(data) if path.suffix == ".gz" else data
    text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    between = max(",;\t", key=text.partition("\n")[0].count)
    as_text: dict[str, Any] = {"dtype": str, "keep_default_na": False, "header": None}
    table = pd.read_csv(io.StringIO(text), sep=between, **as_text)
    rows = table[1:].set_axis([*table.iloc[0]], axis=1)
    if not rows.columns.is_unique:
        again = sorted({*rows.columns[rows.columns.duplicated()]})
        raise UqbenchError(f"{path} has the column {again[0]!r} twice: expected one of a name.")
    known = [name for name in rows if CLEANRL.fullmatch(name)]
    if known or any(name.endswith(("__MIN", "__MAX")) for name in rows):
        other = [name for name in rows if " - " in name and name not in known]
        if other or not known:
            raise UqbenchError(
                f"{path} is W&B's export of a chart, and {(other or [*rows])[-1]!r:.99} names no "
                f"run: expected ENV__METHOD__SEED__TIME - METRIC; the mean of a group, its MIN and "
                f"MAX are no runs: export without groups, or export the table of runs."
            )
        return _chart(path, rows, columns)
    return Part(str(path), rows, _stem(path), commas=between == ";")


def _chart(path: Path, rows: pd.DataFrame, columns: Mapping[str, str]) -> Part:
    """One metric of W&B's runs by steps; spreads, counters and what was not asked for are left."""
    others = [name for name in rows if not CLEANRL.fullmatch(name)]
    asked, where = {role: c for role, c in columns.items() if role == "step"}, str(path)
    step = find_columns(others, asked, where).get("step")
    if step is None:
        raise UqbenchError(f"{where} has no column of steps: export the chart over global_step.")
    table = rows.melt(others, var_name="column", value_name="score")
    table = table.join(table["column"].str.extract(CLEANRL)).rename(columns={step: "step"})
    logged = table["score"] != ""  # a run that logged none is a run, too
    table = table[
        logged | (~logged.groupby(table["column"]).transform("any") & ~table["column"].duplicated())
    ]
    counters, spread = table["metric"].str.startswith("_"), table["spread"].notna()
    metric = columns.get("score") or " or ".join(table["metric"][~counters & ~spread].unique())
    if metric not in {*table["metric"]}:
        raise UqbenchError(
            f"{where} has no one metric, but {metric}: say which, by --column score=NAME "
            f"(columns={{'score': NAME}} in Python)."
        )
    other = table["metric"] != metric
    left = [f"another metric: {name}" for name in table["metric"]]
    table["why"] = np.where(spread, "a spread", np.where(other, left, None))  # type: ignore[call-overload]
    said = dict.fromkeys(others, "not asked for") | {step: "step", metric: "score"}
    return Part(where, table, columns=said | {"names of runs": "task, method, seed"})


def _folders(
    roots: Sequence[Path], read: Callable[[Path], bytes], columns: Mapping[str, str]
) -> Part:
    """The runs of Stable-Baselines3 below folders: evaluations if all have them, else episodes."""
    runs: dict[Path, dict[str, Any]] = {}
    for root in roots:
        before = len(runs)
        for name, folders, files in os.walk(root):
            folders.sort()
            folder = Path(name)
            with reading(folder, Exception):
                own = _episodes(folder, files, read) | _evaluations(folder, files, read)
            above = next((p for p in folder.parents if "results" not in runs.get(p, own)), None)
            if above is not None and [*own] == ["results"]:
                runs[above] |= own  # of RUN/eval, as in Stable-Baselines3's own examples
            elif own:
                runs[folder] = {"root": root, **own}
        if len(runs) == before:
            raise UqbenchError(f"{root} has no scores that can be read: expected {KINDS}.")
    wanted = [columns["score"]] if "score" in columns else ["results", "r"]
    counts = next((kind for kind in wanted if all(kind in own for own in runs.values())), None)
    if counts is None:
        lacks = next(str(folder) for folder, own in runs.items() if wanted[0] not in own)
        raise UqbenchError(
            f"{lacks} has no {wanted[0]} as others have: expected evaluations.npz of all runs, or "
            f"monitor.csv of all (--column score=results or score=r)."
        )
    shared = Counter((folder.absolute().parent, _seed_of(folder)[0]) for folder in runs)
    parts = [
        own[kind].assign(
            **_named(own["root"], folder, own.get("task", ""), shared),
            file=f"{folder / EVALUATIONS if kind == 'results' else folder / 'monitor.csv'}",
            why=None if kind == counts else f"not asked for: {counts} counts, not {kind}",
        )
        for folder, own in runs.items()
        for kind in ("results", "r")
        if kind in own
    ]
    said = {"names of folders": "method, task, seed", counts: "score"}
    said |= {"l": "step, their sum"} if counts == "r" else {"timesteps": "step"}
    return Part(", ".join(map(str, roots)), pd.concat(parts, ignore_index=True), columns=said)


def _evaluations(
    folder: Path, files: Sequence[str], read: Callable[[Path], bytes]
) -> dict[str, Any]:
    if EVALUATIONS not in files:
        return {}
    with np.load(io.BytesIO(read(folder / EVALUATIONS)), allow_pickle=False) as stored:
        values = {"step": stored["timesteps"], "score": stored["results"].mean(axis=-1)}
        return {"results": pd.DataFrame(values)}


def _episodes(folder: Path, files: Sequence[str], read: Callable[[Path], bytes]) -> dict[str, Any]:
    """Episodes of a run's monitors in the order of time, which begins anew with a process."""
    found: dict[str, Any] = {}
    parts: dict[str, pd.DataFrame] = {}
    for path in (folder / file for file in sorted(files) if MONITORS.fullmatch(file)):
        text = read(path).decode("utf-8-sig")
        if text in parts:
            raise UqbenchError(f"{path} is there twice, under another name.")
        head, _, rest = text.partition("\n")
        about = json.loads(head.removeprefix("#"))
        found |= {"task": str(about["env_id"])} if about.get("env_id") else {}
        rows = pd.read_csv(io.StringIO(rest), dtype=str, keep_default_na=False)
        r, length, t = (numbers(rows[name], f"{path}: {name}") for name in "rlt")
        again = np.diff(t, prepend=t[:1]) < 0  # the process was started again, in the same file
        if again.sum() > len(t) / 10:
            raise UqbenchError(f"{path}: its episodes are not in the order of their times, t.")
        time = about["t_start"] + t + np.cumsum(np.where(again, np.roll(t, 1), 0))
        parts[text] = pd.DataFrame({"score": r, "step": length, "time": time})
    if parts:
        rows = pd.concat([*parts.values()]).sort_values("time", kind="stable")
        found["r"] = rows.assign(step=rows["step"].cumsum())[["step", "score"]]
    return found


def _seed_of(folder: Path) -> tuple[str, str]:
    """The name of a folder without the seed at its end, and the seed; digits need a separator."""
    own = folder.absolute().name
    parts = re.fullmatch(r"(.*?)[-_]?seed[-_=]?(\d+)|(?:(.+)[-_])?(\d+)", own)
    name, seed, other, digits = parts.groups() if parts else (own, "", None, None)
    return (name or other or "", seed if digits is None else digits)


def _named(root: Path, folder: Path, task: str, shared: Mapping[Any, int]) -> dict[str, str]:
    """Method, task and seed of a run's folder: ALGO/ENV_1, METHOD/TASK/SEED, or METHOD_SEED."""
    path, slug = folder.absolute(), task.replace("/", "-")
    *above, own = path.relative_to(root.absolute().parent.parent).parts
    zoo = ZOO.fullmatch(own)
    if zoo and above and (zoo["task"] == slug or (not task and re.search(r"-v\d+$", zoo["task"]))):
        return {"method": above[-1], "task": task or zoo["task"], "seed": zoo["seed"]}
    name, seed = _seed_of(path)
    if name and "seed" not in own and shared[path.parent, name] < 2:
        name, seed = own, ""  # one folder alone: its digits are part of the name
    if not task and len(above) > 1 and not name:
        task = above.pop()
    if not task:
        raise UqbenchError(
            f"{folder} does not say of which environment it is: expected a monitor.csv whose first "
            f"line names it, or folders ALGO/ENV_1, as rl-zoo has them, or METHOD/TASK/SEED."
        )
    above = [part for part in above if part not in (task, slug)] or ["method"]
    return {"method": name or above[-1], "task": task, "seed": seed or "0"}


_READERS: Mapping[str, Callable[[Path, bytes, Mapping[str, str]], Part]] = {
    ".json": _json, ".jsonl": _json, ".ndjson": _json, ".csv": _csv, ".tsv": _csv,
    ".parquet": _arrow, ".feather": _arrow, ".npz": _numpy, ".npy": _numpy,
}  # fmt: skip
