"""Tables of scores: which column is what, one key of a run, and a ledger of every value read.

Readers and frames give a :class:`Part` each, whose columns may have any names. All parts become one
table, a row a value, and its column ``why`` says of each that it is used, or why not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.wording import count
from uqbench.results.numbers import numbers

COLUMNS = {
    "method": "method algorithm algo agent alg exp_name model",
    "task": "task env env_id environment env_name game dataset",
    "seed": "seed run run_id trial",
    "score": "score return final_return episode_return episodic_return mean_return "
    "charts/episodic_return eval/mean_reward rollout/ep_rew_mean mean_reward reward hns "
    "normalized_score human_normalized_score",
    "step": "step global_step timestep timesteps",
    "zero": "zero random random_score",
    "one": "one human human_score",
    "state": "state status",
}
"""Names by which columns are known; letters and digits alone count."""
NORMALIZED = ("hns", "normalizedscore", "humannormalizedscore")
"""Scores that need no constants any more."""
COSTS = (
    "ace aurc brier cer cost crps deviance ece err error fid fpr fpr80 fpr95 kl loss mae mape mce "
    "miscalibration mse nll penalty perplexity ppl regret risk rmse violation wer"
)
"""Words of a score's name by which less of it is better."""
FINISHED = "finished complete completed done ok passed success succeeded successful terminated"
"""States of W&B, MLflow, Optuna, Ray, Slurm and others of a run that came to its end."""
STOPPED = (
    "abandoned aborted blocked canceled cancelled crashed damaged error errored fail failed killed "
    "missing newer node_fail oom out_of_memory paused pending preempted preempting pruned queued "
    "running scheduled stopped timed_out timeout waiting"
)
USED = ""
CELL, RUN = ["method", "task"], ["method", "task", "seed"]
_PREFIX = re.compile(r"^(params|metrics|config|summary)\.")
_BOARD = ["task", "method", "seed", "status", "device", "score"]
"""The first columns of a stored board's ``scores.csv``; what follows is read by its board."""


class Part(NamedTuple):
    """Values of a file, a folder or an object.

    Attributes:
        where: they are from, for errors and the ledger.
        rows: of any columns; or ``file``, ``method``, ``task``, ``seed``, ``step``, ``score`` and
            ``why`` where ``columns`` says how they were read.
        method: the name of it where no column has it, by the file's name.
        commas: whether a decimal comma is one.
        columns: roles by the names in the file; None where they are to be found.
    """

    where: str
    rows: pd.DataFrame
    method: str | None = None
    commas: bool = False
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Ledger:
    """Every value that was read: used, or why not.

    Attributes:
        values: a row a value: ``file``, ``method``, ``task``, ``seed``, ``step``, ``score``, and
            ``why`` it is not used, which is empty where it is.
        columns: a row a column: ``file``, ``column``, and what it was ``read_as``.
        digests: sha256 of the files, by name.
    """

    values: pd.DataFrame
    columns: pd.DataFrame
    digests: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """A sentence: how many values were read, how many are used, and why others are not."""
        why, files = self.values["why"], self.values["file"].nunique()
        left = why[why != USED].str.split(":").str[0].value_counts(sort=False)
        said = f"read {(why == USED).sum():,} of {len(why):,} values of {count(files, 'file')}"
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in sorted(left.items()))
        return said + f"; left out: {reasons}" * bool(reasons)

    @property
    def runs(self) -> pd.DataFrame:
        """A row a run and file: ``values``, how many are ``used``, the ``last_step``, and why."""
        return self.values.groupby(["file", *RUN], sort=False, as_index=False).agg(
            values=("why", "size"),
            used=("why", lambda why: int((why == USED).sum())),
            last_step=("step", "max"),
            why=("why", lambda why: "; ".join(dict.fromkeys(why[why != USED]))),
        )


def looks_like_a_cost(name: str) -> bool:
    """Whether less of a score is better, by the words of its name."""
    words = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    costs = {*COSTS.split()}
    return any({word, word.removesuffix("s"), word.removesuffix("es")} & costs for word in words)


def score_table(
    parts: Iterable[Part],
    columns: Mapping[str, str] | None = None,
    window: float = 0.1,
    horizon: float | None = None,
    digests: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, Ledger]:
    """A row a run, ``method``, ``task``, ``seed``, ``score`` and constants, of parts in any order.

    Args:
        parts: of different runs, or of different steps of one.
        columns: names of columns by role, a key of :data:`COLUMNS`; ``=NAME`` is the same for all
            rows, and a task ``*`` makes each other column a task.
        window: of curves, the last part of a task's steps, whose mean is the score.
        horizon: the steps of all tasks; None for the largest that a run of a task has.
        digests: of what was read, for the ledger.

    Returns:
        The table, and the ledger of its values.

    Raises:
        UqbenchError: a column is missing or there twice, a value is no number, or a run or a step
            of one is there twice; names the file.
    """
    said: list[tuple[str, str, str]] = []
    read = [_tidy(part, columns or {}, said) for part in parts]
    if not sum(map(len, read)):
        raise UqbenchError("expected scores, each with its method and task; there are none.")
    values = _numbered(pd.concat(read, ignore_index=True))
    _check_keys(values)
    values = _judged(values, window, horizon)
    lost = values[values["why"].isna()]
    if len(lost) or len(values) != sum(map(len, read)):
        where = next(iter(lost["file"]), "a file")
        raise UqbenchError(f"{where} has a value that is neither used nor left out for a reason.")
    used = values.assign(score=values["score"].where(values["why"] == USED))
    kept = {name: (name, "first") for name in ("zero", "one") if name in values}
    table = used.groupby(RUN, as_index=False).agg(score=("score", "mean"), **kept)
    methods = list(dict.fromkeys(chain(*(part["method"] for part in read))))
    table = table.sort_values("method", key=lambda names: names.map(methods.index), kind="stable")
    about = pd.DataFrame(said, columns=["file", "column", "read_as"])
    shown = ["file", *RUN, "step", "score", "why"]
    return table, Ledger(values[shown], about, digests or {})


def find_columns(names: Sequence[str], given: Mapping[str, str], where: str) -> dict[str, str]:
    """Columns by role, of those that ``given`` does not say.

    Raises:
        UqbenchError: a column or role that the user names is unknown, or two columns have a role.
    """
    for role, column in given.items():
        if role not in COLUMNS:
            raise unknown("role", role, COLUMNS)
        if column not in names and not (column.startswith("=") or (role, column) == ("task", "*")):
            raise unknown(f"column of {where}", column, names)
    found, taken = dict(given), {*given.values()}
    for role, aliases in COLUMNS.items():
        known = {_plain(alias) for alias in aliases.split()}
        own = [n for n in names if _plain(n) in known and n not in taken] * (role not in given)
        exact = [n for n in own if _PREFIX.sub("", n.lower()) == role]
        if role in ("method", "task", "seed") and len(exact) == 1:
            own = exact
        if role == "step":  # W&B's counter of logged rows is a step where there is no other
            own = [n for n in own if not n.startswith("_")] or own
        if len(own) > 1:
            raise UqbenchError(
                f"{where} has {len(own)} columns of {role}s, {', '.join(own)}: say which, by "
                f"--column {role}=NAME (columns={{'{role}': NAME}} in Python)."
            )
        found |= {role: own[0]} if own else {}
    for role, other in (("zero", "one"), ("one", "zero")):  # a column of humans alone is no scale
        if other not in found and role not in given and found.get(role, role).lower() != role:
            del found[role]
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _PREFIX.sub("", name.lower()))


def _tidy(part: Part, given: Mapping[str, str], said: list[tuple[str, str, str]]) -> pd.DataFrame:
    """A part's values, each with its file, method, task, seed, step and score, as stated."""
    where, rows = part.where, part.rows.rename(columns=str)
    if part.columns is not None:
        found = {name: name for name in rows if name in (*COLUMNS, "file", "why")}
        said += [(where, *column) for column in part.columns.items()]
    else:
        rows, found = _in_roles(part, rows, given, said)
    table = pd.DataFrame(index=rows.index)
    for role, column in found.items():
        constant = column.startswith("=") and column not in rows
        table[role] = column[1:] if constant else rows[column]
    table["file"] = table.get("file", where)
    for role in {*RUN} & {*table}:
        table[role] = _identity(table[role], role, where)
    for role in ("score", "step", "zero", "one"):
        if role in table:
            table[role] = numbers(table[role], f"{where}: the {role}", commas=part.commas)
    if not np.isfinite(table.get("step", pd.Series(dtype=float)).to_numpy()).all():
        raise UqbenchError(f"{where}: a row has no step: expected one in each, or in none.")
    if any(role == "score" and _plain(column) in NORMALIZED for role, column in found.items()):
        table = table.assign(zero=0.0, one=1.0)
    if "state" in table:
        table["state"] = table["state"].fillna("").astype(str).str.strip().str.lower()
        for word in sorted({*table["state"]} - {"", *FINISHED.split(), *STOPPED.split()}):
            raise UqbenchError(
                f"{where}: {found['state']} {word!r:.60} is no known state of a run: expected a "
                f"word such as finished or crashed; rename the column if it says something else."
            )
    return table


def _in_roles(
    part: Part, rows: pd.DataFrame, given: Mapping[str, str], said: list[tuple[str, str, str]]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The rows, and columns by role; what each column was read as is said."""
    where, names = part.where, [*rows]
    if names[: len(_BOARD)] == _BOARD:
        rows, names = rows[_BOARD], _BOARD
    found = find_columns(names, given, where)
    key = [found[role] for role in RUN if found.get(role) in names]
    if found.get("step", "")[:1] == "_" and not rows.duplicated(key).any():
        del found["step"]  # a row a run: how often W&B logged says nothing of how far one came
    twice = {name for name in found.values() if names.count(name) > 1}
    for name in sorted(twice):
        raise UqbenchError(f"{where} has two columns {name}: expected one; rename the other.")
    if found.get("task") == "*":
        kept = [column for role, column in found.items() if role != "task" and column in names]
        said += [(where, name, "task") for name in names if name not in kept]
        rows = rows.melt(kept, var_name="task", value_name="score")
        found |= {"task": "task", "score": "score"}
    if "method" not in found and part.method is not None:
        found["method"] = f"={part.method}"
    for role in (*CELL, "score"):
        if role not in found:
            raise UqbenchError(
                f"{where} has no column of {role}s: it has {', '.join(names):.300}; expected one "
                f"of {COLUMNS[role].replace(' ', ', ')}: rename one, or say --column {role}=NAME "
                f"(columns={{'{role}': NAME}} in Python), {role}==NAME for one that all rows have, "
                f"or task=* where each column is a task."
            )
    if rows.empty:
        raise UqbenchError(f"{where} has no scores: expected a row a run.")
    by_column = {column: role for role, column in found.items()}
    said += [(where, name, by_column.get(name, "not asked for")) for name in names
             if (where, name, "task") not in said]  # fmt: skip
    said += [(where, c, role) for role, c in found.items() if c.startswith("=") and c not in names]
    return rows.loc[:, ~rows.columns.duplicated()], found


def _identity(values: pd.Series, role: str, where: str) -> pd.Series:
    """Names as text, composed alike, without space around them; a whole number has no point."""
    text = values.astype(object).map(lambda x: unicodedata.normalize("NFC", str(x)).strip())
    if (values.isna() | (text == "")).any():
        raise UqbenchError(f"{where}: expected scores, each with its {role}; one has none.")
    return text.str.replace(r"^(\d+)\.0+$", r"\1", regex=True) if role == "seed" else text


def _numbered(values: pd.DataFrame) -> pd.DataFrame:
    """Values of runs that all have a seed; those without are numbered, in whatever order they are.

    Curves without seeds are one run of each method and task: a step that is there twice is refused.
    """
    for name in ("seed", "step", "why"):
        values[name] = values.get(name, pd.Series(pd.NA, values.index))
    values["step"] = (
        pd.to_numeric(values["step"]).astype("Float64").to_numpy(float, na_value=np.nan)
    )
    bare = values["seed"].isna()
    values.loc[bare & values["step"].notna(), "seed"] = "0"
    bare &= values["step"].isna()
    for cell, own in values[bare].groupby(CELL):
        files = [sorted(map(repr, one)) for _, one in own.groupby("file")["score"]]
        seeded = values[~bare & (values[CELL] == cell).all(axis=1)]
        names = ", ".join(dict.fromkeys([*own["file"], *seeded["file"]]))
        if any(files.count(one) > 1 for one in files):
            raise UqbenchError(f"{names}: the same scores of {' on '.join(cell)}: give them once.")
        if len(seeded):
            raise UqbenchError(f"{names}: some runs of {' on '.join(cell)} have a seed, some none.")
    drawn = pd.util.hash_pandas_object(
        values.loc[bare, [*CELL, "score"]].astype({"score": float}).astype(str), index=False
    )  # an order that neither the file's nor the score's size decides
    order = drawn.sort_values(kind="stable").index
    values.loc[order, "seed"] = values.loc[order].groupby(CELL).cumcount().astype(str)
    return values


def _check_keys(values: pd.DataFrame) -> None:
    """See that a run, or each step of one, is there once over all parts, in one file after another.

    Raises:
        UqbenchError: it is not; names the files.
    """
    candidates = values[~values["why"].fillna(USED).astype(bool)]
    twice = candidates[candidates.duplicated([*RUN, "step"], keep=False)]
    for run, own in twice.groupby(RUN, sort=False):
        method, task, seed = run
        files, step = ", ".join(dict.fromkeys(own["file"])), own["step"].iloc[0]
        what = "" if np.isnan(step) else f" at step {step:g}"
        raise UqbenchError(
            f"{files} has {method} on {task} with seed {seed}{what} twice: expected one value; "
            f"give a file once, or name the column of methods, seeds or steps (--column seed=NAME)."
        )
    ends = candidates.groupby([*RUN, "file"], sort=False)["step"].agg(["min", "max"]).reset_index()
    ends = ends[ends.duplicated(RUN, keep=False)].sort_values([*RUN, "min"])
    for (method, task, seed), own in ends.groupby(RUN):
        if not (own["min"].to_numpy()[1:] > own["max"].to_numpy()[:-1]).all():
            raise UqbenchError(
                f"{', '.join(own['file'])} have steps of {method} on {task} with seed {seed} that "
                f"overlap: expected that one file goes on where the other stops."
            )


def _judged(values: pd.DataFrame, window: float, horizon: float | None) -> pd.DataFrame:
    """Values, each with the reason why it is not used; the horizon belongs to the task."""
    values = values.sort_values([*RUN, "step"], kind="stable").reset_index(drop=True)
    order = values.groupby(RUN, sort=False).ngroup()
    step, score = values["step"], values["score"]
    scored = step.where(values["why"].isna() & score.notna())
    ends = scored.groupby(values["task"]).transform("max") if horizon is None else horizon
    ends = pd.Series(ends, values.index, dtype=float).where(step.notna())
    late = step.isna() | (step > (1 - window) * ends) | (step == ends)
    reasons = values["why"].copy()

    def leave(which: pd.Series, why: Any) -> None:
        reasons[which & reasons.isna()] = why if isinstance(why, str) else why[which]

    if "state" in values:
        stopped = ~values["state"].fillna("").isin(["", *FINISHED.split()])
        leave(stopped, "of a run that did not finish: " + values["state"].fillna(""))
    leave(score.isna(), "empty")
    leave(step > ends, "after the horizon")
    said = ends.map("{:g}".format)
    inside = reasons.isna()
    for why, broken in _breaks(values[inside & step.notna()], order, ends, late):
        leave(order.isin(broken), order.map({run: why + text for run, text in broken.items()}))
    leave(order.isin(order[~np.isfinite(score) & late & inside]), "of a run with an infinite score")
    leave(~late, f"before the last {window:.0%} of the steps: of " + said)
    return values.assign(why=reasons.fillna(USED))


def _breaks(
    values: pd.DataFrame, order: pd.Series, ends: pd.Series, late: pd.Series
) -> Iterator[tuple[str, dict[int, str]]]:
    """Runs that have no score since they stopped early, or lack steps of the window, by number."""
    early: dict[int, str] = {}
    for run, own in values.groupby(order[values.index])["step"]:
        last, end = own.iloc[-1], ends[own.index[0]]
        pace = np.diff(own, prepend=0.0).max()
        if not (late[own.index].any() and last + pace > end) and last != end:
            early[run] = f"at {last:g} of {end:g}"
    yield "of a run that ended early: ", early
    inside = values[late[values.index]]
    lacks: dict[int, str] = {}
    for _, own in inside.groupby(CELL):
        runs = own.groupby(order[own.index])["step"].agg(set)
        shared = own["step"].value_counts()
        common = {*shared[shared > len(runs) / 2].index}
        lacks |= {run: f"{min(common - has):g}" for run, has in runs.items() if common - has}
    yield "of a run that lacks steps: ", lacks
