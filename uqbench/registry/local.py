"""Local plugins: a Python file, a class of it, or a suite file.

Nothing is installed. The processes that compute find them by the environment variable
:data:`VARIABLE`, which names each file with its digest: a file that changed in between is refused.
What they register gets the digest as part of its version, so that edited code makes new runs, and
boards can mark it *local*.
"""

import hashlib
import json
import os
import re
import sys
import tomllib
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pluggy import PluginValidationError

from uqbench.contract.errors import UqbenchError, contained, see, unknown
from uqbench.registry import classes
from uqbench.registry.packages import naming_extra

VARIABLE = "UQBENCH_LOCAL"
"""Environment variable with the local plugins, as JSON."""
PREFIX = "local-"
"""Before the name of one, where an installed plugin has its distribution, and its package."""
_MODULE = "uqbench_local_"
"""Before the name of the module that a file becomes."""
MARK = "+local."
"""In the version of what they register, before the first digits of the digest."""


@dataclass(frozen=True)
class LocalPlugin:
    """A file that is a plugin: Python (``.py``) or a suite (``.toml``).

    Attributes:
        digest: sha256 of the file.
        attribute: name of the class of a Python file; the whole file has hooks where it is empty.
        joins: ``[extend.NAME]`` tables by which a method joins suites.
    """

    name: str
    path: str = ""
    digest: str = ""
    attribute: str = ""
    joins: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteTable:
    """A suite file that is read already.

    Attributes:
        parent: folder of the file, or of that of the method that joins suites; None without one.
    """

    name: str
    table: Mapping[str, Any]
    parent: Path | None = None


def current() -> list[LocalPlugin]:
    """The local plugins of this process and those that it starts."""
    try:
        return [LocalPlugin(**one) for one in json.loads(os.environ.get(VARIABLE, "[]"))]
    except (TypeError, ValueError, RecursionError) as error:
        raise UqbenchError(
            f"the environment variable {VARIABLE} is {os.environ[VARIABLE]!r:.100} ({error}); "
            f"expected what --plugin writes there: unset it, and name the file by --plugin."
        ) from None


def add(plugin: LocalPlugin) -> None:
    """Add a local plugin to this process and those that it starts, or replace one of its name."""
    others = [p for p in current() if p.name != plugin.name]
    try:
        os.environ[VARIABLE] = json.dumps([asdict(p) for p in (*others, plugin)])
    except TypeError as error:
        raise UqbenchError(
            f"settings: {error}; expected numbers, text, and lists and dictionaries of them."
        ) from None


def add_file(path: Path) -> None:
    """Add a Python file with hooks (``.py``), or a suite file (``.toml``).

    Raises:
        UqbenchError: it is neither, or cannot be read.
    """
    if path.suffix not in (".py", ".toml"):
        raise UqbenchError(f"{path}: expected a Python file (.py) or a suite file (.toml).")
    digest = hashlib.sha256(_read(path)).hexdigest()
    add(LocalPlugin(_name(path), str(path.resolve()), digest))


def distribution(path: Path) -> str:
    """The name that stands for the distribution of a file that was added."""
    return f"{PREFIX}{_name(path)}"


def _name(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem if path.suffix == ".py" else path.name)


def add_class(
    path: Path, attribute: str | None = None, suites: Iterable[str] = (), **settings: Any
) -> tuple[str, str]:
    """Add one class of a Python file; a method may join suites.

    Args:
        path: the file.
        attribute: name of the class; None for the only one that can be registered.
        suites: that it joins.
        settings: values of its config's fields.

    Returns:
        Its name, and its kind.

    Raises:
        UqbenchError: the file cannot be read or raises, or has not one such class.
    """
    data = _read(path)
    plugin = LocalPlugin("", str(path.resolve()), hashlib.sha256(data).hexdigest())
    why: list[str] = []
    with contained(why.append, words=fault):
        module = _module(plugin, data)
    if why:
        how = f" Install its package, and say DISTRIBUTION:NAME.{see('file-of-a-package')}"
        of_package = how * ("relative import" in why[0])
        raise UqbenchError(f"{path} cannot be executed: {why[0]}.{of_package}")
    there = classes.classes_in(module)
    if attribute is None and len(there) != 1:
        raise UqbenchError(
            f"{path} has {len(there) or 'no'} classes that can be methods"
            f"{': ' + ', '.join(there) if there else ''}; expected one that derives from "
            f"uqbench.agent.Agent, uqbench.agent.LoopAgent or uqbench.estimator.Estimator, or "
            f"{path}:Class."
        )
    chosen = attribute or there[0]
    if chosen not in vars(module):
        raise unknown("class", chosen, there, f"{path} has")
    kind, name = classes.kind_of(vars(module)[chosen]), classes.name_of(chosen)
    join(replace(plugin, name=name, attribute=chosen), kind, suites, settings)
    return name, kind


def join(
    plugin: LocalPlugin,
    kind: str,
    suites: Iterable[str],
    settings: Mapping[str, Any],
    entry: str | None = None,
) -> None:
    """Add a local plugin, and let what it is join suites.

    Args:
        plugin: that it is.
        kind: of the method.
        suites: that it joins.
        settings: values of its config's fields.
        entry: name of an installed agent or estimator, of a plugin that is nothing else.
    """
    runs = {kind: entry or f"{PREFIX}{plugin.name}:{plugin.name}", "config": dict(settings)}
    methods = [{"name": plugin.name, **runs}]
    add(replace(plugin, joins={suite: {"methods": methods} for suite in suites}))


@contextmanager
def joined() -> Iterator[None]:
    """Take methods that joined a suite within it out in the end; their files stay plugins."""
    before = {plugin.name: plugin.joins for plugin in current()}
    try:
        yield
    finally:
        for plugin in current():
            add(replace(plugin, joins=before.get(plugin.name, {})))


def load(plugin: LocalPlugin) -> object:
    """The addition of a local plugin, or its hooks.

    Raises:
        UqbenchError: its file is not the one that was added.
    """
    folder = Path(plugin.path).parent if plugin.path else None
    joined = SuiteTable(f"{plugin.name}.toml", {"extend": plugin.joins}, folder)
    joins = [joined] if plugin.joins else []
    if not plugin.path:
        return classes.Added(suites=joins)
    path = Path(plugin.path)
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != plugin.digest:
        raise UqbenchError(f"{plugin.path} was edited since the command began; run it again.")
    if path.suffix == ".toml":
        table = tomllib.loads(data.decode("utf-8"))
        if not table:
            raise ValueError("nothing is in it; expected a suite, or [extend.SUITE]")
        return classes.Added(suites=[SuiteTable(path.name, table, folder)])
    module = _module(plugin, data)
    if not plugin.attribute:
        return module
    factory = vars(module)[plugin.attribute]
    kind = classes.kind_of(factory)
    return classes.Added({kind: [classes.spec_of(kind, plugin.name, factory, "1")]}, joins)


def loaders() -> list[tuple[LocalPlugin, Callable[[], object]]]:
    """Each local plugin with what loads it."""
    return [(plugin, partial(load, plugin)) for plugin in current()]


def remove(names: Container[str]) -> None:
    """Forget local plugins, such as those that cannot be used."""
    left = [asdict(plugin) for plugin in current() if plugin.name not in names]
    os.environ[VARIABLE] = json.dumps(left)


def fault(error: BaseException) -> str:
    """An error in words, with the line of a local plugin's file that led to it."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [n for frame, n in frames if frame.f_globals.get("__name__", "").startswith(_MODULE)]
    if isinstance(error, PluginValidationError):  # of a hook that there is not, or not so
        hooks = [value for name, value in vars(error.plugin).items() if repr(name) in str(error)]
        lines = [hook.__code__.co_firstlineno for hook in hooks if hasattr(hook, "__code__")]
    said = naming_extra(error)
    if isinstance(error, SystemExit):
        said = f"SystemExit: {error.code!r}; expected a file that can be imported"
    return f"line {lines[-1]}: {said}" if lines else said


def is_local(version: str) -> bool:
    """Whether a spec of this version is from a local plugin."""
    return MARK in version


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UqbenchError(f"{path} cannot be read: {error.strerror}") from None


def _module(plugin: LocalPlugin, data: bytes) -> ModuleType:
    """Execute the file as a module that configs can be pickled by."""
    stem = re.sub(r"\W", "_", Path(plugin.path).stem)
    name = f"{_MODULE}{stem}_{plugin.digest[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = plugin.path
    sys.modules[name] = module
    try:
        exec(compile(data, plugin.path, "exec"), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    return module
