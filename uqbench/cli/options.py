"""Options of the commands, made from what Python declares: names, types, defaults and docstrings.

:class:`uqbench.api.options.Options` declares what several commands take; what one takes alone is a
parameter of its function, whose docstring says what it is for.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

from uqbench.api.options import Options
from uqbench.api.values import Amount, Count, Name, Place, Seed, read, shown
from uqbench.cli.terminal import warn
from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.registry import load_host as plugins
from uqbench.suites.variants import setting, split_outside, toml_value

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """Reads a value as its type in Python says, and refuses what that refuses."""

    def __init__(self, hint: Any) -> None:
        self.hint, self.name = hint, "value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # a default
        try:
            return read(value, self.hint)
        except ValueError as error:
            self.fail(f"{shown(value)}: expected {error}.", param, ctx)


class _Path(click.Path):
    """A path that a file system can have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(_Value(Place).convert(str(value), param, ctx), param, ctx)


Folder = Annotated[Path, _Path(file_okay=False, path_type=Path)]
FolderThere = Annotated[Path, _Path(file_okay=False, exists=True, path_type=Path)]
File = Annotated[Path, _Path(dir_okay=False, path_type=Path)]
FileThere = Annotated[Path, _Path(dir_okay=False, exists=True, path_type=Path)]

RUNS = ("suite", "budget", "methods", "tasks", "seeds", "steps", "settings", "plugins")
"""Options that select runs."""
PLACE = (
    "executor", "executor_config", "wait",
    "checkpoint_seconds", "run_minutes", "run_memory", "stall_minutes",
)  # fmt: skip
"""Options that say where runs are executed, and what they may take."""


class _Choice(click.Choice[str]):
    """One of some words; another is refused with the nearest of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(
                f"there is no {shown(value)}. {did_you_mean(str(value), self.choices)}", param, ctx
            )
        return str(value)


def _kind(hint: Any) -> dict[str, Any]:
    """Arguments of click's option for a type."""
    inner = [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint) and get_origin(hint) is not Annotated:
        return {"is_flag": True} if inner == [bool] else _kind(inner[0])
    if get_origin(hint) is Annotated:
        kind, about, *_ = inner
        if isinstance(about, click.Path):
            return {"type": about, "metavar": "FILE" if about.file_okay else "FOLDER"}
        if isinstance(about, str):
            return _kind(kind) | {"metavar": about}
        if isinstance(about, click.Choice):
            return {"type": _Choice(about.choices)}
        return {"type": _Value(hint), "metavar": _METAVARS.get(kind, "NAME")}
    if get_origin(hint) is Literal:
        return {"type": _Choice(inner)}
    if get_origin(hint) is tuple:
        return _kind(inner[0]) | {"multiple": True}
    if hint is bool:
        return {"is_flag": True}
    plain = {int: Count, float: Amount, str: Name}
    return _kind(plain[hint]) if hint in plain else {}


_METAVARS = {int: "N", float: "X"}


_OWN: dict[str, dict[str, Any]] = {
    "methods": {"names": "--methods --agents", **_kind(Annotated[str, "A,B"])},
    "tasks": _kind(Annotated[str, "T,U"]),
    "settings": {"names": "--set", "multiple": True, "metavar": "METHOD.KEY=VALUE"},
    "plugins": {"names": "--plugin --suite-file", "multiple": True, **_kind(File)},
    "out": {"default": Path("results"), **_kind(Folder)},
    "executor_config": {
        "names": "--executor-config --slurm --ray", "multiple": True, "metavar": "KEY=VALUE,…"
    },
    "run_memory": {"metavar": "GB"},
}  # fmt: skip
"""What the declaration in Python does not say of an option."""


class _Command(click.Command):
    """Shows the options that several commands share in groups of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Runs": [], "Execution": [], "Options": []}
        for param in self.get_params(ctx):
            group = dict.fromkeys((*RUNS, "seed"), "Runs") | dict.fromkeys(PLACE, "Execution")
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                groups[group.get(param.name or "", "Options")].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def takes(
    *fields: str, suite: bool = True, names: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """A decorator that makes a command of a function.

    A parameter that is called ``options`` receives the :class:`Options`; of the others, those that
    are keyword-only become options, the rest arguments.

    Args:
        fields: of :class:`Options` that the command takes.
        suite: whether the suite has to be named.
        names: of options, such as ``--from``, or metavars of arguments, by parameter, where they
            are not the parameter's.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        text, helps = _described(function)
        hints = get_type_hints(function, include_extras=True)
        params: list[click.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            own: dict[str, Any] = {"required": parameter.default is parameter.empty}
            default = None if own["required"] else parameter.default
            shown = (names or {}).get(name)
            if parameter.kind is parameter.KEYWORD_ONLY:
                shown = "--json" if name == "as_json" else shown
                own |= {"names": shown} if shown else {}
                params.append(_option(name, hints[name], default, helps.get(name, ""), own))
            elif name != "options":
                own |= _kind(hints[name]) | ({"metavar": shown} if shown else {})
                if not own["required"] and "metavar" in own:  # click brackets its own alone
                    own["metavar"] = f"[{own['metavar']}]"
                if own.pop("multiple", False):
                    own["nargs"] = -1
                elif not own["required"]:  # click takes a default of None for a value
                    own["default"] = default
                params.append(click.Argument([name], **own))
        params += _of_options(fields, suite)

        @wraps(function)
        def call(**values: Any) -> Any:
            if "options" in hints:
                values["options"] = _gathered(fields, values)
            return function(**values)

        return _Command(function.__name__.rstrip("_"), callback=call, params=params, help=text)

    return decorate


def _of_options(fields: Sequence[str], suite: bool) -> Iterator[click.Parameter]:
    """The options of fields of :class:`Options`."""
    helps, hints = _described(Options)[1], get_type_hints(Options, include_extras=True)
    for one in dataclasses.fields(Options):
        if one.name in fields:
            default = None if one.default is dataclasses.MISSING else one.default
            own = _OWN.get(one.name, {}) | {"required": one.name == "suite" and suite}
            yield _option(one.name, hints[one.name], default or None, helps[one.name], own)
        if one.name == "seeds" and {"seeds", "settings"} <= {*fields}:
            exactly = "Exactly this seed; may be repeated."
            yield _option("seed", tuple[Seed, ...], (), exactly, {})


def _option(name: str, hint: Any, default: Any, text: str, own: dict[str, Any]) -> click.Option:
    """An option for a parameter or field."""
    values = {"default": default, "help": text.partition(" In Python")[0]} | _kind(hint) | own
    long = "--" + name.replace("_", "-")
    given = values.pop("names", f"{long}/--no-{name}" if hint == bool | None else long)
    values["show_default"] = bool(values["default"]) and not values.get("is_flag")
    return click.Option([*given.split(), name], **values)


def _described(thing: Any) -> tuple[str, dict[str, str]]:
    """A docstring's text, and what it says of each parameter or attribute, on one line."""
    text, *about = re.split(r"\n(?:Args|Attributes):\n", inspect.getdoc(thing) or "", maxsplit=1)
    entries = re.split(r"(?m)^    (\w+): ", "".join(about))[1:]
    pairs = zip(entries[::2], entries[1::2], strict=True)
    return text.rstrip(), {name: " ".join(words.split()) for name, words in pairs}


def _gathered(fields: Iterable[str], values: dict[str, Any]) -> Options:
    """The options of a command, taken out of its values."""
    given = {name: values.pop(name) for name in fields}
    own = {name: value for name, value in given.items() if value not in (None, ())}
    for name in ("methods", "tasks"):
        if name in own:
            own[name] = names(own[name])
    exact = values.pop("seed", ())
    if exact and "seeds" in own:
        raise UqbenchError("--seeds N means seeds 0 to N-1, --seed S exactly S: use one of them.")
    for seed in exact:
        if exact.count(seed) > 1:
            raise UqbenchError(f"--seed {seed} appears more than once.")
    if "settings" in own:
        own["settings"] = settings(own["settings"])
    if "executor_config" in own:
        own["executor_config"] = executor_config(own["executor_config"])
    return Options(**own | ({"seeds": exact} if exact else {}))


def load_host() -> Host:
    """Load the plugins; those that fail are named on stderr and left out."""
    return plugins.load_host(warn)


def names(text: str) -> tuple[str, ...]:
    """The names in an option such as ``--methods A,B``."""
    given = tuple(name.strip() for name in split_outside(text) if name.strip())
    if not given:
        raise UqbenchError("expected names separated by commas, got none.")
    return given


def assigned(option: str, texts: Iterable[str], example: str) -> Iterator[tuple[str, str]]:
    """The keys and values of an option such as ``--set KEY=VALUE``.

    Raises:
        UqbenchError: one is no assignment; ``example`` says what was expected.
    """
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise UqbenchError(f"{option} {text}: expected {example}")
        yield key, value


def executor_config(texts: Iterable[str]) -> dict[str, Any]:
    """The values of ``--executor-config KEY=VALUE,…``."""
    config = {}
    for text in texts:
        parts: list[str] = []
        for part in split_outside(text):
            if "=" in part or not parts:
                parts.append(part)
            else:  # of a value, such as a list of nodes
                parts[-1] += f",{part}"
        for key, value in assigned("--executor-config", parts, "KEY=VALUE, e.g. partition=gpu."):
            config[key.strip()] = toml_value(value)
    return config


def settings(assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The values of ``--set METHOD.KEY=VALUE``, by method."""
    by_method: dict[str, dict[str, Any]] = {}
    example = "METHOD.KEY=VALUE, e.g. dqn.learning_rate=0.001."
    for path, value in assigned("--set", assignments, example):
        method, dot, key = path.partition(".")
        if not (dot and method and key):
            raise UqbenchError(f"--set {path}={value}: expected {example}")
        by_method.setdefault(method, {})[key] = setting(value)
    return by_method
