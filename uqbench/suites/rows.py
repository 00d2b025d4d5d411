"""Rows that an ``[extend.NAME]`` table adds to another plugin's suite, one by one.

A row with an error is left out with a message; the rest still load. Nothing that the suite has
changes, so that its boards stay what they were: an added task is in added budgets alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import create_model

from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.registry.plugins import Host
from uqbench.suites.checks import KINDS, names, problems_of
from uqbench.suites.suite import Suite, rows_of
from uqbench.suites.tables import Method, Table
from uqbench.suites.typed import typed

_FIELDS: Any = {kind: (Suite.model_fields[kind].annotation, None) for kind in KINDS}
_Rows = create_model("_Rows", __base__=Table, **_FIELDS)
"""Rows of a suite."""
Methods = Mapping[str, Any]
"""Methods that may be bases by name, or their tables."""


def extended(
    suite: Suite, table: Any, host: Host | None, where: str, bases: Methods
) -> tuple[Suite, list[str]]:
    """The suite with an extension's rows, and what is wrong with those left out.

    Args:
        suite: to extend.
        table: the ``[extend.NAME]`` table.
        host: the plugins; None reads the rows without checking them.
        where: the table, for messages.
        bases: methods of extensions of the suite, which may be bases of these.
    """
    if not isinstance(table, Mapping):
        return suite, [f"{where}: expected a table; got {table!r}"]
    known = {**bases, **methods_in(table), **rows_of(suite, "methods")}
    before, problems = suite, []
    for kind, rows in _single(table):
        try:
            name, row = _row(kind, rows, suite, before, host, where)
            if isinstance(row, Method):
                row = with_base(row, known, where)
            added = suite.with_row(kind, name, row, added=True)
        except UqbenchError as error:
            problems.append(str(error))
            continue
        wrong = [] if host is None else problems_of(added, host, where, (kind, name))
        suite = suite if wrong else added
        problems += wrong
    return suite, problems


def _single(table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row in a table of its own, after what is no row."""
    for kind in sorted(table, key=lambda kind: KINDS.index(kind) if kind in KINDS else -1):
        rows = table[kind]
        if isinstance(rows, list):
            yield from ((kind, {kind: [row]}) for row in rows)
        elif isinstance(rows, Mapping):
            yield from ((kind, {kind: {name: row}}) for name, row in rows.items())
        else:
            yield kind, {kind: rows}


def _row(
    kind: str, rows: dict[str, Any], suite: Suite, before: Suite, host: Host | None, where: str
) -> tuple[str, Any]:
    """A row's name, and the row, typed.

    Raises:
        UqbenchError: it is wrong by itself, or its name is taken.
    """
    names_here = None if host is None else names(suite, host)
    given = rows[kind]
    ((name, row),) = given.items() if isinstance(given, dict) else [("", None)]
    own = suite.normalization.get(name) if kind == "normalization" else None
    added = row.get("constants") if isinstance(row, Mapping) and len(row) == 1 else None
    if own is not None and isinstance(added, Mapping):
        for task in before.tasks:
            if task.name in added:
                raise UqbenchError(
                    f"{where}: {kind}.{name}.constants: those of {task.name!r} are the suite's."
                )
        whole = own.model_dump(mode="json")
        rows = {kind: {name: whole | {"constants": whole["constants"] | added}}}
        return name, typed(_Rows, rows, where, names_here).normalization[name]
    ((name, row),) = rows_of(typed(_Rows, rows, where, names_here), kind).items()
    if name in rows_of(suite, kind):
        raise UqbenchError(f"{where}: {kind}: the name {name!r} is taken; choose another.")
    if kind == "budgets" and row.tasks is None:
        row = row.model_copy(update={"tasks": tuple(task.name for task in suite.tasks)})
    return name, row


def methods_in(table: Any) -> dict[str, Any]:
    """The tables of an extension's methods by name."""
    rows = table.get("methods") if isinstance(table, Mapping) else None
    given = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return {str(row.get("name")): row for row in given}


def with_base(method: Method, known: Methods, where: str, *variants: str) -> Method:
    """The method with everything that it inherits from its base, and its base in turn.

    Raises:
        UqbenchError: there is no such base, or it is one of the method's ``variants``.
    """
    name = method.base
    if name is None:
        return method
    key, variants = f"{where}: methods.{method.name}.base", (*variants, method.name)
    if name in variants:
        raise UqbenchError(f"{key}: {' → '.join((*variants, name))} is a cycle.")
    if name not in known:
        raise UqbenchError(f"{key}: there is no method {name!r}. {did_you_mean(name, known)}")
    made = known[name]
    base: Method = made if isinstance(made, Method) else typed(Method, made, where)
    return method.on(with_base(base, known, where, *variants))
