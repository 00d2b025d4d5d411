"""The site's page of a suite file's keys, and ``docs/suite.schema.json``, which editors read.

Both are from the models that read suite files. ``python tools/suite_keys.py`` prints the page and
writes the schema.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from uqbench.suites.claims import Claim, Reading
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.reading import TaskDefaults
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Evaluation, Method, Queries, Task

SCHEMA = Path(__file__).parents[1] / "docs" / "suite.schema.json"
TABLES: dict[str, type[BaseModel]] = {
    "": Suite,
    "[task_defaults]": TaskDefaults,
    "[[tasks]]": Task,
    "[[methods]]": Method,
    "[budgets.NAME]": Budget,
    "[budgets.NAME.evaluation]": Evaluation,
    "[budgets.NAME.queries]": Queries,
    "[[metrics]]": Metric,
    "[normalization.METRIC]": Normalization,
    "[normalization.METRIC.constants]": NormalizationConstants,
    "[readings.NAME]": Reading,
    "[[claims]]": Claim,
}
"""The tables of a suite file and their models."""


HEAD = """# Keys of a suite file

Made from the models that read suite files. `uqbench plugin check FILE` checks one;
[`suite.schema.json`](suite.schema.json) lets an editor complete keys and mark slips:
`#:schema https://…/suite.schema.json` as the first line, where the editor reads that.
"""


def schema() -> dict[str, Any]:
    """The JSON schema of a suite file, by which editors complete and check keys.

    A file of ``[extend.NAME]`` tables has the rows of a suite there.
    """
    made = Suite.model_json_schema()
    rows = {key: made["properties"][key] for key in ROWS}
    extension = {"type": "object", "additionalProperties": False, "properties": rows}
    made["$defs"]["TaskDefaults"] = TaskDefaults.model_json_schema()
    made["$defs"]["Extension"] = extension
    extend = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Extension"}}
    made["properties"] |= {"task_defaults": {"$ref": "#/$defs/TaskDefaults"}, "extend": extend}
    made["anyOf"] = [{"required": made.pop("required")}, {"required": ["extend"]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


ROWS = ("tasks", "budgets", "metrics", "normalization", "methods", "readings", "claims")


def page() -> str:
    """Each table, its keys, their types and defaults, as Markdown."""
    return "\n".join(_lines()) + "\n"


def schema_file() -> str:
    """The text of ``docs/suite.schema.json``."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    for table, model in TABLES.items():
        text = inspect.getdoc(model) or ""
        head, _, listed = text.partition("Attributes:\n")
        about = dict(re.findall(r"(?ms)^    (\w+): (.*?)(?=^    \w|\Z)", listed))
        yield f"\n## {f'`{table}`' if table else 'Top level'}\n\n{_prose(head)}\n"
        yield "| key | type | default | |\n| --- | --- | --- | --- |"
        for name, field in model.model_fields.items():
            default = "required"
            if not field.is_required():
                default = f"`{_shown(field.get_default(call_default_factory=True))}`"
            kind = model.model_json_schema()["properties"].get(name, {})
            yield f"| `{name}` | {_type(kind)} | {default} | {_prose(about.get(name, ''))} |"


def _type(kind: dict[str, Any]) -> str:
    """A type in a word or two."""
    if "$ref" in kind:
        return str(kind["$ref"].rpartition("/")[2]).lower()
    if "enum" in kind or "const" in kind:
        values = kind.get("enum", [kind.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if "anyOf" in kind:
        return " or ".join(_type(one) for one in kind["anyOf"] if one.get("type") != "null")
    if kind.get("type") == "array":
        return f"list of {_type(kind.get('items', {}))}"
    words = {"object": "table", "integer": "whole number"}
    return words.get(kind.get("type", ""), str(kind.get("type", "any")))


def _shown(value: Any) -> str:
    return json.dumps(value, default=str) if value is not None else "none"


def _prose(text: str) -> str:
    """A docstring's text as Markdown on one line."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.replace("``", "`"))
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
    SCHEMA.write_text(schema_file(), encoding="utf-8")
