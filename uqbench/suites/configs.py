"""Typed configs of tasks and methods, from the tables of a suite."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from uqbench.contract.config import resolve
from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.contract.specs import Spec
from uqbench.registry.plugins import Host
from uqbench.suites.tables import Budget, Method, Task

_FOLLOWING = {"task", "plus", "times"}
"""Keys of a value that follows the task's config."""


def task_spec(task: Task, host: Host) -> Spec:
    """The spec of a task's environment or dataset."""
    if task.environment is not None:
        return host.environments[task.environment]
    return host.datasets[str(task.dataset)]


def task_config(task: Task, host: Host, *, where: str) -> Any:
    """The typed config of a task's environment or dataset."""
    config = task_spec(task, host).load_config()
    return resolve(config, task.config, where=f"{where}.config", risk_names=host.risk_names)


def method_config(
    method: Method,
    task: Task,
    host: Host,
    *,
    where: str,
    budget: tuple[str, Budget] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Any:
    """The typed config of a method on a task.

    In increasing precedence: the method's config and its values on the task, both scaled by the
    budget's schedule, and under one that ranks nothing with a warm-up of at most half of the steps,
    so that it learns; the budget's config; the method's values under the budget; ``--set``.

    Args:
        method: the method.
        task: the task.
        host: the plugins.
        where: the method, for error messages.
        budget: name and table of the budget; None for the method by itself.
        overrides: the user's ``--set`` values.
    """
    spec = method.spec(host).load_config()
    table = method.config | method.tasks.get(task.name, {})
    fixed, half = dict[str, Any](), None
    if budget is not None:
        name, table_of = budget
        half = None if table_of.ranks else max(1, table_of.on(task).steps // 2)
        fields = field_names(method, host)
        fixed = {key: value for key, value in table_of.config.items() if key in fields}
        fixed |= method.budget_config.get(name, {})
    own = {key: _followed(value, task, f"{where}.config.{key}") for key, value in table.items()}
    schedule, over = 1.0 if budget is None else budget[1].schedule, fixed | dict(overrides or {})
    how: dict[str, Any] = {"schedule": schedule, "overrides": over, "warm_up": half}
    return resolve(spec, own, where=f"{where}.config", risk_names=host.risk_names, **how)


def field_names(method: Method, host: Host) -> set[str]:
    """Names of the fields in a method's config."""
    return {field.name for field in dataclasses.fields(method.spec(host).load_config())}


def _followed(value: Any, task: Task, where: str) -> Any:
    """A config value; ``{ task = "KEY", … }`` is computed from the task's own config."""
    if not isinstance(value, dict) or "task" not in value:
        return value
    for key in value:
        if key not in _FOLLOWING:
            raise UqbenchError(f"{where}: unknown key {key!r}. {did_you_mean(key, _FOLLOWING)}")
    name = value["task"]
    if name not in task.config:
        raise UqbenchError(
            f"{where}: task {task.name!r} has no {name!r} in its config. "
            f"{did_you_mean(str(name), task.config)}"
        )
    followed = task.config[name]
    if len(value) == 1:  # the value itself, which may be a name
        return followed
    return value.get("times", 1) * followed + value.get("plus", 0)
