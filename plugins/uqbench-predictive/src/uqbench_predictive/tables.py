"""Any table: ``uqbench run --table prices.csv --target price``, and :class:`TableDataset`."""

import json
import re
from dataclasses import replace
from functools import partial
from math import erf, exp, pi, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uqbench.api.options import Options
from uqbench.cli.terminal import say
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench_predictive.problems.columns import Kind
from uqbench_predictive.problems.table_dataset import TableDataset
from uqbench_predictive.problems.table_file import columns_of, digest, frame_of

__all__ = ["TableDataset", "table_options", "table_suite"]

SUITE = "tables"
SEEDS = 6
"""Splits of a table."""
WRITTEN = "# Written by uqbench run --table"
"""Begins a suite file of this command, which alone it writes over."""


def table_options(
    options: Options,
    table: Path,
    target: str | None,
    groups: str | None = None,
    kind: Kind | None = None,
) -> Options:
    """The options of a command whose suite is made of a file: see :func:`table_suite`.

    Args:
        options: of the command, without a suite and a budget.
        table: a ``.csv``, ``.tsv`` or ``.parquet`` file.
        target: the column to predict.
        groups: a column whose rows with the same value belong together; None for none.
        kind: ``classification`` or ``regression``; None for what the target looks like.

    Returns:
        Options of a run of that file, whose suite file is in the results folder.

    Raises:
        UqbenchError: no target is named, or a suite is; or the file cannot be used.

    Example:
        >>> import pathlib, uqbench
        >>> table = pathlib.Path("prices.csv")
        >>> uqbench.table_options(uqbench.Options(), table, "price")  # doctest: +SKIP
    """
    if options.suite not in (None, SUITE) or options.budget is not None:
        raise UqbenchError(
            "--table makes a budget of the suite 'tables': expected no --suite and no --budget."
        )
    if not target:
        known = ", ".join(map(str, frame_of(table).columns))
        raise UqbenchError(
            f"--table needs --target: expected one of the columns of {table}: {known}."
        )
    at = (options.folder or Path()) / f"{_name(table)}.uqbench.toml"
    suite = table_suite(
        table, target, groups=groups or "", kind=kind, to=at, tell=partial(say, err=True)
    )
    plugins = (*options.plugins, str(suite))
    return replace(options, suite=SUITE, budget=_name(table), plugins=plugins)


def table_suite(
    table: str | Path,
    target: str,
    *,
    groups: str = "",
    kind: Kind | None = None,
    to: str | Path | None = None,
    tell: Say = warn,
) -> Path:
    """Write a suite file that adds a table to the suite ``tables``, as a budget of its own.

    The methods, their settings and the score are that suite's: the settings were tuned on other
    tables. Splits are as :class:`TableDataset` makes them, six of them.

    Args:
        table: a ``.csv``, ``.tsv`` or ``.parquet`` file; all columns but two are inputs.
        target: the column to predict.
        groups: a column whose rows with the same value belong together; empty for none.
        kind: ``classification`` or ``regression``; None for what the target looks like.
        to: the suite file; None for one beside the table.
        tell: called with what was done to each column.

    Returns:
        The suite file: ``uqbench.run("tables", "prices", plugins=[file])`` runs it.

    Raises:
        UqbenchError: the file, a column or the target cannot be used; says what was expected.

    Example:
        >>> import uqbench
        >>> made = uqbench.table_suite("prices.csv", "price")  # doctest: +SKIP
        >>> uqbench.run("tables", "prices", plugins=[str(made)])  # doctest: +SKIP
    """
    path, name = Path(table), _name(Path(table))
    x, y, own = columns_of(frame_of(path), target, groups, str(path))
    data = TableDataset(x, y, own, name=name, kind=kind)
    train, held, test = data.sizes
    units = f"{int(data.groups.max()) + 1} groups of rows that share "
    units += f"{groups!r} or all inputs" if groups else "all inputs"
    about, *more = data.notes
    tell(f"{path}: {about}; {data.inputs[0]} inputs, {len(data.groups)} rows")
    for note in more:
        tell(f"  {note}")
    tell(
        f"  {units}; a split has {train} rows for training, {held} for validation, {test} for tests"
    )
    config = {
        "file": str(path), "sha256": digest(path), "target": target, "kind": data.kind,
        "groups": groups,
    }  # fmt: skip
    given = ", ".join(f"{key} = {_quoted(value)}" for key, value in config.items())
    text = f"""{WRITTEN}: a budget of the suite {SUITE}, for --plugin
[[extend.{SUITE}.tasks]]
name = "{name}"
dataset = "table-file"
config = {{ {given} }}
worlds = "drawn"

[extend.{SUITE}.normalization.brier_or_crps.constants]
{name} = {{ zero = {climatology(data.target.values, data.n_classes):.6g}, one = 0.0 }}

[extend.{SUITE}.budgets.{name}]
summary = {_quoted(f"{about}, {SEEDS} splits")}
steps = 500
seeds = {SEEDS}
config = {{ batch_size = {min(100, train)}, learning_rate = 3e-3, noise = "validation" }}
tasks = ["{name}"]
ranks = true
step_ms = 2.0
tuned = "only"
"""
    at = path.with_suffix(".uqbench.toml") if to is None else Path(to)
    if at.exists() and not at.read_text("utf-8").startswith(WRITTEN):
        raise UqbenchError(
            f"{at} is there, and not of this command: expected another name in 'to'."
        )
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(text, "utf-8")
    return at


def _quoted(text: str) -> str:
    """The text as a string of TOML, which has no surrogates, and U+007F in escapes alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def climatology(values: NDArray[np.generic], n_classes: int) -> float:
    """The score of who knows the law of all targets and no input.

    For classes it is the Brier score of their shares, ``1 − Σ_c p_c²``; for values the CRPS of the
    normal with their mean and variance, in standard deviations.
    """
    if n_classes:
        shares = np.bincount(values.astype(np.int64), minlength=n_classes) / len(values)
        return float(1 - np.square(shares).sum())
    known = values.astype(np.float64)
    each = [
        z * erf(z / sqrt(2)) + sqrt(2 / pi) * exp(-z * z / 2) - 1 / sqrt(pi)
        for z in ((known - known.mean()) / known.std()).tolist()
    ]
    return float(np.mean(each))


def _name(table: Path) -> str:
    """The name of a task and of a budget, from a file's."""
    return re.sub(r"[^a-z0-9_-]+", "-", table.stem.lower()).strip("-_")[:60] or "table"
