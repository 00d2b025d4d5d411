"""A submission's curves, read as hostile data, beside those of a stored board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uqbench.boards.curves import KEPT
from uqbench.errors import UqbenchError
from uqbench.results.files import reading
from uqbench.results.tables import parse_table, table_bytes
from uqbench.suites.metrics import RECORDS

if TYPE_CHECKING:
    from uqbench.suites.plan import Plan

_POINTS = 1_000
"""The most of one method's uncertainty on one task; a board has some hundred and sixty."""


@dataclass(frozen=True)
class CurveFile:
    """A table of curves, its owner first.

    Attributes:
        columns: names, with the names of their Arrow types.
        owner: the columns that say whose curve a row is of.
        points: the most rows of one owner.
    """

    columns: Mapping[str, str]
    owner: tuple[str, ...]
    points: int


CURVE_FILES = {
    "curves.parquet": CurveFile(
        {
            "task": "string", "method": "string", "seed": "int32", "step": "int64",
            "return": "float32", "reward_per_step": "float32",
        },
        ("task", "method", "seed"),
        RECORDS,
    ),
    "uncertainty.parquet": CurveFile(
        {
            "task": "string", "method": "string", "curve": "string", "x": "float64",
            "y": "float64", "low": "float64", "high": "float64", "runs": "int64",
        },
        ("task", "method"),
        _POINTS,
    ),
}  # fmt: skip


def merged(name: str, submitted: bytes, judged: Plan, stored: bytes | None, whole: Plan) -> bytes:
    """A stored board's curves with those of a submission.

    Args:
        name: of the file, one of :data:`CURVE_FILES`.
        submitted: the submission's.
        judged: the plan of the submission's runs.
        stored: the board's; None where it has none.
        whole: the plan of the board's runs.

    Raises:
        UqbenchError: a file is damaged, or of other runs.
    """
    import pyarrow as pa

    of = CURVE_FILES[name]
    new = _table(of, submitted, f"the submission's {name}", judged)
    owners = _owners(of, judged)
    if not set(zip(*(new.column(c).to_pylist() for c in of.owner), strict=True)) <= owners:
        raise UqbenchError(f"the submission's {name} has curves of other runs.")
    if "curve" in of.columns and not set(new.column("curve").to_pylist()) <= set(KEPT):
        raise UqbenchError(f"the submission's {name} has curves other than {', '.join(KEPT)}.")
    parts = [new]
    if stored is not None:
        old = _table(of, stored, f"the board's {name}", whole)
        methods = pa.array(sorted(judged.roles))
        kept = pa.compute.invert(pa.compute.is_in(old.column("method"), value_set=methods))
        parts.insert(0, old.filter(kept))
    table = pa.concat_tables(parts)
    for column in (c for c, type_ in of.columns.items() if type_ == "string"):
        at = table.column_names.index(column)
        values = table.column(column).combine_chunks().dictionary_encode()
        table = table.set_column(at, column, values)
    return table_bytes(table)


def _owners(of: CurveFile, plan: Plan) -> set[tuple[Any, ...]]:
    return {tuple(getattr(run, column) for column in of.owner) for run in plan.runs}


def _table(of: CurveFile, data: bytes, where: str, plan: Plan) -> Any:
    """Its plain columns of the right types, and no more rows than the plan's runs have."""
    import pyarrow as pa

    table = parse_table(data, where, len(_owners(of, plan)) * of.points)
    schema = pa.schema([(name, pa.type_for_alias(type_)) for name, type_ in of.columns.items()])
    with reading(where, pa.ArrowException, ValueError):
        if table.column_names != schema.names:
            raise ValueError(f"expected the columns {', '.join(schema.names)}")
        return table.cast(schema)
