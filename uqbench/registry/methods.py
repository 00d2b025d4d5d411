"""A class, or a function that makes an object, as a method: its kind, its config, how it joins."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_type_hints

from uqbench.errors import UqbenchError
from uqbench.specs import AgentSpec, NoConfig, Spec

Kind = Literal["agent", "estimator"]


def kind_of(factory: Any, kind: Kind | None = None) -> tuple[Kind, bool]:
    """What a factory makes, and whether that owns its loop.

    Args:
        factory: a class, or a function.
        kind: of what a function makes.

    Raises:
        UqbenchError: it is of no kind.
    """
    from uqbench.agent import Agent, LoopAgent
    from uqbench.estimator import Estimator

    if inspect.isclass(factory):
        if issubclass(factory, LoopAgent):
            return "agent", True
        if issubclass(factory, Agent):
            return "agent", False
        if issubclass(factory, Estimator):
            return "estimator", False
    if kind is None or not callable(factory):
        raise UqbenchError(
            f"{factory!r} is no uqbench.agent.Agent, uqbench.agent.LoopAgent or "
            f"uqbench.estimator.Estimator: derive it from one, or say kind='agent' of a function."
        )
    return kind, False


def methods_in(module: Any) -> list[str]:
    """Names of the classes that a module itself defines and that can be methods."""
    from uqbench.agent import Agent, LoopAgent
    from uqbench.estimator import Estimator

    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and issubclass(value, Agent | LoopAgent | Estimator)
        and not inspect.isabstract(value)
        and not name.startswith("_")
    ]


def config_of(factory: Any) -> type[Any]:
    """The dataclass of a class's config.

    It is what the parameter ``config`` of its constructor is annotated with, else the dataclass
    called ``<Class>Config`` or ``Config`` of its module, else one without fields.
    """
    try:
        annotated = get_type_hints(factory.__init__).get("config")
    except NameError:  # an annotation that exists for type checkers alone
        annotated = None
    module = vars(sys.modules[factory.__module__])
    for one in (annotated, module.get(f"{factory.__name__}Config"), module.get("Config")):
        if inspect.isclass(one) and dataclasses.is_dataclass(one):
            return one
    return NoConfig


def spec_of(
    name: str, factory: Any, config: type[Any], version: str = "1", kind: Kind | None = None
) -> tuple[Kind, Spec]:
    """What a factory is registered as.

    Raises:
        UqbenchError: it is of no kind.
    """
    made, owns_loop = kind_of(factory, kind)
    if made == "estimator":
        return made, Spec(name=name, version=version, factory=factory, config=config)
    return made, AgentSpec(
        name=name, version=version, factory=factory, config=config, owns_loop=owns_loop
    )


def joining(
    suites: Iterable[str], name: str, entry: str, kind: Kind, settings: Mapping[str, Any]
) -> str:
    """The TOML by which a method joins suites.

    Args:
        suites: that it joins.
        name: of the method.
        entry: of the agent or estimator, as suites refer to it.
        kind: of the entry.
        settings: values of its config's fields.

    Raises:
        UqbenchError: a value is none that TOML has.
    """
    lines = []
    for suite in suites:
        lines += [f"[[extend.{json.dumps(suite)}.methods]]", f"name = {json.dumps(name)}"]
        lines.append(f"{kind} = {json.dumps(entry)}")
        lines += [f"config.{json.dumps(key)} = {_toml(value)}" for key, value in settings.items()]
    return "\n".join(lines)


def method_name(name: str) -> str:
    """``my-method`` for ``MyMethod``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False)
    raise UqbenchError(
        f"settings: {value!r} is a {type(value).__name__}; expected numbers, text, and lists and "
        f"dictionaries of them."
    )
