"""Tables of a suite file as typed models; errors name the key and the nearest known one."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.suites.claims import Claim, Reading
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.tables import UNKNOWN, Budget, Evaluation, Method, Queries, Task
from uqbench.suites.tuning import Tuning

_TABLES: dict[str, type[BaseModel]] = {
    "tasks": Task, "metrics": Metric, "methods": Method, "claims": Claim, "budgets": Budget,
    "normalization": Normalization, "readings": Reading, "evaluation": Evaluation,
    "queries": Queries, "constants": NormalizationConstants, "tuning": Tuning,
}  # fmt: skip


def typed(
    model: type[Any], table: Any, where: str, names: Mapping[str, Collection[str]] | None = None
) -> Any:
    """The table as that model.

    Args:
        model: of the table.
        table: as TOML has it.
        where: begins each line of an error.
        names: that the table may refer to, by kind; any where it is None.

    Raises:
        UqbenchError: unknown keys or names, or values of the wrong type.
    """
    try:
        text = json.dumps(table, default=str)
        return model.model_validate_json(text, strict=True, context=names)
    except ValidationError as error:
        lines = [f"{where}: {_line(one, model, table)}" for one in error.errors()]
        raise UqbenchError("\n".join(lines)) from None


def _line(error: ErrorDetails, model: type[BaseModel], table: Any) -> str:
    """The place of an error, rows by their names, and its message."""
    loc, path, at = error["loc"], [], table
    for step in loc:
        try:
            at = at[step]
        except (LookupError, TypeError):  # a key that is missing, or no table
            at = None
        row = isinstance(step, int) and isinstance(at, Mapping)
        path.append(str(at.get("name", at.get("id", step)) if row else step))
    if error["type"] == "extra_forbidden":
        near = next((_TABLES[p] for p in reversed(path[:-1]) if p in _TABLES), model)
        place = ".".join(path[:-1]) or "top level"
        return f"{place}: unknown key {path[-1]!r}. {did_you_mean(path[-1], near.model_fields)}"
    if error["type"] == UNKNOWN:
        listed = 2 if loc[-1] == "[key]" else isinstance(loc[-1], int)
        return f"{'.'.join(path[: len(path) - listed])}: {error['msg']}"
    given = "" if error["type"] in ("missing", "value_error") else f" (given: {error['input']!r})"
    return f"{'.'.join(path)}: {error['msg'].removeprefix('Value error, ')}{given}"
