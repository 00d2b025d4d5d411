"""Tables of a suite file as typed models; errors name the key and the nearest known one."""

import json
from typing import Any

from pydantic import BaseModel, ValidationError

from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.suites.claims import Claim, Reading
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.tables import Budget, Evaluation, Method, Queries, Task

Models = dict[str, type[BaseModel]]
LISTS: Models = {"tasks": Task, "metrics": Metric, "methods": Method, "claims": Claim}
"""Lists of tables."""
NAMED: Models = {"normalization": Normalization, "budgets": Budget, "readings": Reading}
"""Tables by name."""
_NESTED: Models = {"evaluation": Evaluation, "queries": Queries}
_TABLES = LISTS | NAMED | _NESTED | {"constants": NormalizationConstants}


def typed(model: type[Any], table: Any, where: str) -> Any:
    """The table as that model.

    Raises:
        UqbenchError: an unknown key, or a value of the wrong type; begins with ``where``.
    """
    try:
        return model.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        raise UqbenchError(f"{where}: {_located(error, model)}") from None


def _located(error: ValidationError, model: type[BaseModel]) -> str:
    """Explain the error; for an unknown key, with the nearest key of its table."""
    sentences = []
    for one in error.errors():
        if one["type"] == "extra_forbidden":
            *path, key = one["loc"]
            table = next((_TABLES[str(p)] for p in reversed(path) if p in _TABLES), model)
            place = ".".join(map(str, path)) or "top level"
            near = did_you_mean(str(key), table.model_fields)
            sentences.append(f"{place}: unknown key {key!r}. {near}")
    return "; ".join(sentences) or explain(error)
