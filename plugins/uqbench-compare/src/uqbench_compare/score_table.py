"""Tables of scores: which column is what, one key of a run, and a ledger of every value read.

Readers and frames give a :class:`Part` each, whose columns may have any names. All parts become one
table, a row a value, and its column ``why`` says of each that it is used, or why not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.wording import count
from uqbench_compare.numbers import numbers

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
    return any(
        {word, word.removesuffix("s"), word.removesuffix("es")} & {*COSTS.split()} for word in words
    )


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
            rows, and a task or method ``*`` makes each other column one.
        window: of curves, the last part of a task's steps, whose mean is the score.
        horizon: the steps of all tasks; None for the largest that a run of a task has.
        digests: of what was read, for the ledger.

    Returns:
        The table, and the ledger of its values.

    Raises:
        UqbenchError: a column is missing or there twice, a value is no number, or a run or a step
            of one is there twice; names the file.
    """
    read, about = zip(*(_tidy(part, columns or {}) for part in parts), strict=True)
    stated = pd.concat(read, ignore_index=True)
    if stated.empty:
        raise UqbenchError("expected scores, each with its method and task; there are none.")
    values = _judged(_numbered(stated), window, horizon)
    if values["why"].isna().any() or len(values) != len(stated):
        where = ", ".join(values["file"][values["why"].isna()].unique()) or "a file"
        raise UqbenchError(f"{where} has a value that is neither used nor left out for a reason.")
    used = values.assign(score=values["score"].where(values["why"] == USED))
    kept = {name: (name, "first") for name in ("zero", "one", "state") if name in values}
    table = used.groupby(RUN, as_index=False).agg(score=("score", "mean"), **kept)
    methods = [*stated["method"].unique()]  # the first one is the one that others are held against
    table = table.sort_values("method", key=lambda names: names.map(methods.index), kind="stable")
    said = pd.DataFrame([*chain(*about)], columns=["file", "column", "read_as"])
    return table, Ledger(values[["file", *RUN, "step", "score", "why"]], said, digests or {})


def find_columns(names: Sequence[str], given: Mapping[str, str], where: str) -> dict[str, str]:
    """Columns by role, of those that ``given`` does not say.

    Raises:
        UqbenchError: a column or role that the user names is unknown, or two columns have a role.
    """
    found = {role: [column] for role, column in given.items()}
    for role, column in given.items():
        if role not in COLUMNS:
            raise unknown("role", role, COLUMNS)
        if column not in names and column[:1] != "=" and not (column == "*" and role in CELL):
            raise unknown("column", column, names, f"{where} has")
        found[role] *= names.count(column) or 1
    if {given.get(role) for role in CELL} == {"*"}:
        raise UqbenchError(f"{where}: expected other columns as methods or as tasks, not as both.")
    for role in COLUMNS.keys() - given.keys():
        known = {_plain(alias) for alias in COLUMNS[role].split()}
        own = [n for n in names if _plain(n) in known and n not in given.values()]
        exact = [n for n in own if _bare(n) == role and role in RUN]
        first = [n for n in own if n[0] != "_"]  # W&B's counter is a step where there is no other
        found[role] = exact or first or own
    for role, own in found.items():
        if len(own) > 1:
            raise UqbenchError(
                f"{where} has {len(own)} columns of {role}s, {', '.join(own)}: say which, by "
                f"--column {role}=NAME (columns={{'{role}': NAME}} in Python)."
            )
    if not (found["zero"] and found["one"]):  # a column of humans alone is no scale
        found |= {r: [n for n in found[r] if n.lower() == r or r in given] for r in ("zero", "one")}
    return {role: found[role][0] for role in COLUMNS if found[role]}


def _bare(name: str) -> str:
    return re.sub(r"^(params|metrics|config|summary)\.", "", name.lower())


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _bare(name))


def _tidy(part: Part, given: Mapping[str, str]) -> tuple[pd.DataFrame, list[tuple[str, str, str]]]:
    """A part's values, each with file, method, task, seed, step and score, and how it was read."""
    where, rows = part.where, part.rows.rename(columns=str)
    names = _BOARD if [*rows][: len(_BOARD)] == _BOARD else [*rows]
    if part.columns is not None:
        found, said = (
            {name: name for name in names if name in (*COLUMNS, "file", "why")},
            part.columns,
        )
    else:
        found = find_columns(names, given, where)
        key = [found[role] for role in RUN if found.get(role) in names]
        if found.get("step", "")[:1] == "_" and not rows.duplicated(key).any():
            del found["step"]  # a row a run: how often W&B logged does not say how far one came
        said = dict.fromkeys(names, "not asked for") | {c: role for role, c in found.items()}
        if melted := said.pop("*", None):
            kept = [column for column in found.values() if column in names]
            rows = rows.melt(kept, var_name=melted, value_name="score")
            said |= {name: melted for name in names if name not in kept}
            found |= {melted: melted, "score": "score"}
        if part.method is not None and "method" not in found:
            found = {"method": f"={part.method}"} | found
            said = {found["method"]: "method"} | said
    for role in (*CELL, "score"):
        if role not in found:
            raise UqbenchError(
                f"{where} has no column of {role}s: it has {', '.join(names):.300}; expected one "
                f"of {COLUMNS[role].replace(' ', ', ')}: rename one, or say --column {role}=NAME "
                f"(columns={{'{role}': NAME}} in Python), {role}==NAME for one that all rows have, "
                f"or method=* (task=*) where each other column is a method (a task)."
            )
    table = pd.DataFrame({"file": where}, rows.index)
    for role, column in found.items():
        table[role] = rows[column] if column in rows else column[1:]
        if role in RUN:
            table[role] = _identity(table[role], role, where)
        elif role in ("score", "step", "zero", "one"):
            table[role] = numbers(table[role], f"{where}: the {role}", commas=part.commas)
    if "step" in table and not np.isfinite(table["step"]).all():
        raise UqbenchError(f"{where}: a row has no step: expected one in each, or in none.")
    if _plain(found["score"]) in NORMALIZED:
        table = table.assign(zero=0.0, one=1.0)
    if "state" in table:
        table["state"] = table["state"].fillna("").astype(str).str.strip().str.lower()
        for word in sorted({*table["state"]} - {"", *f"{FINISHED} {STOPPED}".split()}):
            raise UqbenchError(
                f"{where}: {found['state']} {word!r:.60} is no known state of a run: expected a "
                f"word such as finished or crashed; rename the column if it says something else."
            )
    return table, [(where, *column) for column in said.items()]


def _identity(values: pd.Series, role: str, where: str) -> pd.Series:
    """Names as text, composed alike, without space around them; a whole number has no point."""
    text = values.astype(object).map(lambda x: unicodedata.normalize("NFC", str(x)).strip())
    if (values.isna() | (text == "")).any():
        raise UqbenchError(f"{where}: expected scores, each with its {role}; one has none.")
    return text.str.replace(r"^(\d+)\.0+$", r"\1", regex=True) if role == "seed" else text


def _numbered(values: pd.DataFrame) -> pd.DataFrame:
    """Values of runs that all have a seed, each once; those without are numbered, in any order.

    Curves without seeds are one run of each method and task: a step that is there twice is refused.

    Raises:
        UqbenchError: a run, or a step of one, is there twice, or is in files that overlap.
    """
    values = values.reindex(columns=values.columns.union(["seed", "step", "why"], sort=False))
    values["step"] = values["step"].astype(float)
    bare = values["seed"].isna() & values["step"].isna()
    for cell, own in values[bare].groupby(CELL):
        seeded = values.loc[~bare & (values[CELL] == cell).all(axis=1), "file"]
        alike = [tuple(sorted(map(repr, one))) for _, one in own.groupby("file")["score"]]
        if len(seeded) or len({*alike}) < len(alike):
            where = ", ".join(dict.fromkeys([*own["file"], *seeded]))
            raise UqbenchError(
                f"{where}: runs of {' on '.join(cell)} without a seed, and the same ones again, or "
                f"some with a seed: give each once."
            )
    drawn = values[[*CELL, "score"]].astype(str)[bare]
    order = pd.util.hash_pandas_object(drawn, index=False).sort_values(kind="stable").index
    number = values.loc[order].groupby(CELL).cumcount().astype(str)
    alone = pd.Series("0", values.index)  # curves without seeds
    values["seed"] = _first(number.reindex(values.index), values["seed"], alone)
    ordered = values[values["why"].isna()].sort_values([*RUN, "step"], kind="stable")
    twice = ordered[ordered.duplicated([*RUN, "step"], keep=False)]
    blocks = ordered[ordered["file"] != ordered.groupby(RUN)["file"].shift()]
    said = {
        "twice: expected one value; give a file once, or name the column of methods, seeds or "
        "steps (--column seed=NAME)": twice,
        "in files that overlap: expected that one goes on where the other stops": blocks[
            blocks.duplicated([*RUN, "file"], keep=False)
        ],
    }
    for why, rows in said.items():
        for (method, task, seed), own in rows.groupby(RUN, sort=False):
            step, files = own["step"].iloc[0], ", ".join(own["file"].unique())
            at = f" at step {step:g}" * bool(step == step)
            raise UqbenchError(f"{files} has {method} on {task} with seed {seed}{at} {why}.")
    return values


def _judged(values: pd.DataFrame, window: float, horizon: float | None) -> pd.DataFrame:
    """Values, each with the reason why it is not used; the horizon belongs to the task."""
    values = values.sort_values([*RUN, "step"], kind="stable").reset_index(drop=True)
    run, step, score = values.groupby(RUN, sort=False).ngroup(), values["step"], values["score"]
    ends = step.where(values["why"].isna() & score.notna()).groupby(values["task"]).transform("max")
    ends = ends.where(step.notna()) if horizon is None else step * 0 + horizon
    late = step.isna() | (step > (1 - window) * ends) | (step == ends)
    state = values["state"].fillna("") if "state" in values else pd.Series("", values.index)
    stopped = ~state.isin(["", *FINISHED.split()])
    why = _first(
        values["why"].astype(object), ("of a run that did not finish: " + state).where(stopped),
        _left(score.isna(), "empty"), _left(step > ends, "after the horizon"),
    )  # fmt: skip
    scored = why.isna()
    curves = values[scored & step.notna()]
    infinite = run.isin(run[scored & late & ~np.isfinite(score)])
    before = f"before the last {window:.0%} of the steps: of " + ends.map("{:g}".format).astype(str)
    why = _first(
        why, run.map(_early(curves, run, ends, late)),
        run.map(_lacking(curves[late[curves.index]], run)),
        _left(infinite, "of a run with an infinite score"), before.where(~late),
    )  # fmt: skip
    return values.assign(why=why.where(why.notna(), USED))


def _first(*reasons: pd.Series) -> pd.Series:
    """The first reason that there is."""
    return reduce(lambda why, other: why.where(why.notna(), other), reasons)


def _left(which: pd.Series, why: str) -> pd.Series:
    return which.map({True: why})


def _early(
    values: pd.DataFrame, run: pd.Series, ends: pd.Series, late: pd.Series
) -> dict[int, str]:
    """Runs that stopped before the end of their task: another step at their pace was due."""
    early = {}
    for name, own in values.groupby(run)["step"]:
        last, end, pace = own.iloc[-1], ends[own.index[0]], np.diff(own, prepend=0.0).max()
        if last != end and not (late[own.index[-1]] and last + pace > end):
            early[name] = f"of a run that ended early: at {last:g} of {end:g}"
    return early


def _lacking(values: pd.DataFrame, run: pd.Series) -> dict[int, str]:
    """Runs that lack a step which most runs of their method and task have."""
    lacks: dict[int, float] = {}
    for _, own in values.groupby(CELL):
        runs, shared = own.groupby(run)["step"].agg(set), own["step"].value_counts()
        common = {*shared[shared > len(runs) / 2].index}
        lacks |= {name: min(common - has) for name, has in runs.items() if common - has}
    return {name: f"of a run that lacks steps: {step:g}" for name, step in lacks.items()}
