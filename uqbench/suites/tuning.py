"""Tuning: which settings a suite tries of its methods, and the table of what they scored.

``<suite>.tuning.csv`` beside a suite file has a row for each method, setting and task. One setting
is chosen for all tasks, by the mean over them of the normalized score (Patterson et al. 2024, "The
cross-environment hyperparameter setting benchmark"). A search of two rungs tries all settings on
short runs, and the best of them beside the default on longer ones.
"""

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from uqbench.contract.errors import UqbenchError
from uqbench.suites.tables import Budget, BudgetName, Count, MetricName, Table, TaskName
from uqbench.suites.variants import values_of

NAME = "tuning"  # the budget whose runs try the settings
LAST = "tuning-last"  # that of the second rung
FEWEST = 6  # settings of a method
RATES = ("learning_rate", "weight_decay")  # one of these is in every search space
BOARD_SEEDS = range(10_000)  # the budgets' own, and those that a keeper draws
EDGE = "at the edge of the grid"
YES = "yes"
UNDECIDED = "search undecided, default kept"
SPREADS = 2.0  # standard errors of a difference that a choice needs, where they are known
Grid = dict[str, tuple[Any, ...]]  # values by field; the settings are all combinations
Space = Grid | tuple[Grid, ...]  # of several grids the settings are those of each


def grids_of(space: Space) -> tuple[Grid, ...]:
    """The grids of a search space; none of an empty one."""
    return ((space,) if space else ()) if isinstance(space, dict) else space


class LastRung(Table):
    """The second rung of a search: longer runs of few settings.

    Attributes:
        budget: whose runs are made, with its own tasks and seeds, from ``first_seed`` on.
        keep: settings of the first rung, beside the default.
    """

    budget: BudgetName
    keep: Count = 2


class Tuning(Table):
    """The settings that ``uqbench tune`` tries.

    Attributes:
        budget: whose runs are made, but for what is said here.
        first_seed: of the runs, above all that boards use.
        seeds: number of them.
        configurations: the most settings of a method, whoever's it is.
        space: of methods that have these fields; ``[search_spaces.NAME]`` is that of one agent or
            estimator.
        tasks: only these.
        steps: of a run.
        metric: that selects, normalized as the suite's scores are; of several their mean.
        last: the second rung. The choice is then that of its runs, and needs two standard errors
            of its difference from the default, which is kept otherwise.
    """

    budget: BudgetName
    first_seed: Annotated[int, Field(ge=BOARD_SEEDS.stop)]
    seeds: Count
    configurations: Annotated[int, Field(ge=FEWEST)]
    space: Space = Field(default_factory=dict)
    tasks: tuple[TaskName, ...] | None = None
    steps: Count | None = None
    metric: MetricName | tuple[MetricName, ...] | None = None
    last: LastRung | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that select; none for the budget's own."""
        return (self.metric,) if isinstance(self.metric, str) else self.metric or ()

    def derived(self, of: Budget, name: str = NAME) -> Budget:
        """The budget of the runs of a rung."""
        own: dict[str, Any] = {"primary": self.metrics[0] if self.metrics else None}
        if name == NAME:
            own |= {"tasks": self.tasks, "steps": self.steps, "seeds": self.seeds}
            own |= {"task_steps": {} if self.steps else None}
        given = {key: value for key, value in own.items() if value is not None}
        summary = f"the settings of [tuning], with seeds that no board uses: {of.summary}"
        fixed = {"first_seed": self.first_seed, "ranks": False, "tuned": None, "summary": summary}
        return of.model_copy(update=given | fixed)


@dataclass(frozen=True, config={"extra": "forbid"})
class Tried:
    """A row of the table.

    Attributes:
        version: of the method's agent or estimator.
        setting: as the name of a variant has it, ``learning_rate=1e-3``.
        score: mean over seeds of the normalized score; None where a run has none.
        runs: how many.
        hours: of a core or device, in all.
        mean: of the scores over tasks; None where one is missing.
        chosen: of the setting that was chosen: ``yes``, or that it is at the edge of the grid, or
            that the search decided nothing.
        rung: 1, or 2 for the last one of a search that has two.
        error: standard error of the score; None where the search has one rung.
        default: of the method's own setting, where the search has two rungs, its values of what
            other settings set, ``epsilon_final=0.03``; ``yes`` where they set nothing else.
    """

    method: str
    version: str
    setting: str
    task: str
    score: Annotated[float, Field(allow_inf_nan=False)] | None
    runs: int
    hours: float
    mean: float | None = None
    chosen: str | None = None
    rung: int | None = None
    error: Annotated[float, Field(allow_inf_nan=False)] | None = None
    default: str | None = None


_LATER = ("rung", "error", "default")  # columns of searches that have two rungs
_ROWS = TypeAdapter(list[Tried])


@dataclass(frozen=True)
class Tuned:
    """The outcome for a method.

    Attributes:
        version: of its agent or estimator.
        setting: that has the best mean over tasks.
        means: by setting, of those that have all of their runs.
        at_edge: whether a number of the setting is the least or the largest that was tried.
        sensitivity: mean over tasks of the best score on the task, less the best mean.
        words: how it was tuned.
        rung: whose runs chose; None where the search has one.
    """

    version: str
    setting: str
    means: dict[str, float]
    at_edge: bool
    sensitivity: float
    words: str
    rung: int | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The setting, by field."""
        return values_of(f"[{self.setting}]")


def _outcome(rows: Sequence[Tried]) -> Tuned | None:
    """The outcome for the method of some rows; None where no setting has all of its runs.

    Among equal means the smaller rate is chosen, then the earlier one. Where standard
    errors are known, the default is kept unless the best is :data:`SPREADS` of them above it.
    """
    rung = max((row.rung or 1 for row in rows), default=1)
    grids = _numbers(rows)
    tried, first = len({row.setting for row in rows}), {r.task for r in rows if (r.rung or 1) == 1}
    rows = [row for row in rows if (row.rung or 1) == rung]
    scores: dict[str, dict[str, float | None]] = {}
    errors: dict[str, float] = {}
    for row in rows:
        scores.setdefault(row.setting, {})[row.task] = row.score
        errors[row.setting] = math.hypot(errors.get(row.setting, 0.0), row.error or 0.0)
    whole = {s: [x for x in of.values() if x is not None] for s, of in scores.items()}
    whole = {s: of for s, of in whole.items() if len(of) == len(scores[s])}
    if not whole:
        return None
    means = {setting: sum(of) / len(of) for setting, of in whole.items()}
    values = {setting: values_of(f"[{setting}]") for setting in scores}
    rates = {s: [float(of[name]) for name in RATES if name in of] for s, of in values.items()}
    best = min(whole, key=lambda setting: (-means[setting], rates[setting]))
    default = next((row.setting for row in rows if row.default and row.setting in whole), best)
    least = SPREADS * math.hypot(errors[best], errors[default]) / len(whole[best])
    undecided = best != default and means[best] - means[default] < least
    best = default if undecided else best
    ends = {name: (min(of), max(of)) for name, of in grids.items() if len(of) > 1}
    at_edge = not undecided and any(v in ends.get(k, ()) for k, v in values[best].items())
    top = [max(of) for of in zip(*whole.values(), strict=True)]
    many = f"tuned over {tried} settings on {len(first)} task{'s'[: len(first) > 1]}"
    many += f", the best of them on {len(top)}" * (rung > 1)
    own = not undecided and any(row.default and row.setting == best for row in rows)
    note = f", {UNDECIDED}" * undecided + ", default best" * own + f", {EDGE}" * at_edge
    gain = sum(top) / len(top) - means[best]
    return Tuned(rows[0].version, best, means, at_edge, gain, many + note, rows[0].rung)


def _numbers(rows: Sequence[Tried]) -> dict[str, set[float]]:
    """The numbers that were tried of each field, on any rung, with the method's own."""
    grids: dict[str, set[float]] = {}
    for text in {*(row.setting for row in rows), *(row.default or "" for row in rows)} - {"", YES}:
        for key, value in values_of(f"[{text}]").items():
            if isinstance(value, int | float):
                grids.setdefault(key, set()).add(value)
    return grids


def outcomes(rows: Iterable[Tried]) -> dict[str, Tuned]:
    """Outcomes by method, without those of which no setting has all of its runs."""
    own: dict[str, list[Tried]] = {}
    for row in rows:
        own.setdefault(row.method, []).append(row)
    return {name: of for name, some in own.items() if (of := _outcome(some)) is not None}


def table(rows: Sequence[Tried]) -> str:
    """``tuning.csv``, with means and what is chosen by the scores."""
    came, text = outcomes(rows), io.StringIO()
    columns = [field.name for field in dataclasses.fields(Tried)]
    if not any(row.rung for row in rows):
        columns = [name for name in columns if name not in _LATER]
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        of, marked = came.get(row.method), dataclasses.replace(row, mean=None, chosen=None)
        if of is not None and row.rung == of.rung:
            how = UNDECIDED if UNDECIDED in of.words else EDGE if of.at_edge else YES
            chosen = how if row.setting == of.setting else None
            marked = dataclasses.replace(row, mean=of.means.get(row.setting), chosen=chosen)
        cells = vars(marked).items()
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in cells})
    return text.getvalue()


def read_table(path: Path) -> list[Tried]:
    """The rows of ``tuning.csv``; none where there is no such file.

    Raises:
        UqbenchError: it is damaged, or says that something was chosen which is not the best.
    """
    if not path.is_file():
        return []
    try:
        text = path.read_text(encoding="utf-8")
        given = csv.DictReader(io.StringIO(text))
        rows = _ROWS.validate_python([{k: v or None for k, v in row.items()} for row in given])
        if table(rows) != text:
            raise ValueError("means and choice do not follow from its scores")
    except (OSError, ValueError, TypeError, csv.Error) as error:
        why = f"{error!s:.300}"
        raise UqbenchError(f"{path} is damaged ({why}): restore it, or tune without it.") from None
    return rows


def joined(rows: Iterable[Tried], new: Sequence[Tried]) -> tuple[Tried, ...]:
    """The rows with new ones; a method's replace those that it had of the rung, and of later."""
    names = {row.method: row.rung or 1 for row in new}
    kept = (r for r in rows if r.method not in names or (r.rung or 1) < names[r.method])
    return (*kept, *new)


@dataclasses.dataclass(frozen=True)
class Tables:
    """The tables beside a suite's files, in one.

    Attributes:
        rows: of all.
        folder: of the suite's own file; None where it is of none.
        rung: the last one of the suite's search; None where it has one.
    """

    rows: tuple[Tried, ...] = ()
    folder: Path | None = None
    rung: int | None = None

    @cached_property
    def tuned(self) -> Mapping[str, Tuned]:
        """Outcomes by method, of the searches that are whole."""
        return {name: of for name, of in outcomes(self.rows).items() if of.rung == self.rung}

    def kept(self, method: str, most: int) -> list[str]:
        """The settings of a method's first rung that the last one tries, the best first."""
        of = _outcome([row for row in self.rows if row.method == method and row.rung == 1])
        means = {} if of is None else of.means
        return sorted(means, key=lambda setting: -means[setting])[:most]

    def digest(self, methods: Iterable[str]) -> str:
        """The sha256 of the rows of some methods, but for what the runs cost."""
        names = {*methods}
        own = [dataclasses.replace(row, hours=0.0) for row in self.rows if row.method in names]
        return sha256(table(sorted(own, key=lambda row: row.method)).encode()).hexdigest()
