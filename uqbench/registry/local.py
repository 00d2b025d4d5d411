"""Local plugins: a Python file, one class of it, a suite file, or a method from a notebook.

Nothing is installed. The processes that compute find them by the environment variable
:data:`VARIABLE`, which names each file with its digest: a file that changed in between is refused.
What they register gets the digest as part of its version, so that edited code makes new runs, and
boards can mark it *local*.

A method from a notebook has no file of its own. It travels as a cloudpickle in a temporary folder
of the process that registered it, readable by its user alone; nothing pickled is ever stored with
results, or read from them.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from uqbench.errors import UqbenchError, see, unknown
from uqbench.hookspecs import hookimpl
from uqbench.registry import methods
from uqbench.specs import AgentSpec, Spec

VARIABLE = "UQBENCH_LOCAL"
"""Environment variable with the local plugins, as JSON."""
PREFIX = "local-"
"""Before the name of one, where an installed plugin has its distribution, and its package."""
MARK = "+local."
"""In the version of what they register, before the first digits of the digest."""
PICKLE = ".cloudpickle"


@dataclass(frozen=True)
class LocalPlugin:
    """A file that is a plugin: Python (``.py``), a suite (``.toml``), or a notebook's method.

    Attributes:
        digest: sha256 of the file; of a notebook's method, of its source.
        attribute: name of the class of a Python file that is a method; the whole file has hooks
            where it is empty.
        joins: TOML by which a method joins suites.
    """

    name: str
    path: str
    digest: str
    attribute: str = ""
    joins: str = ""


@dataclass(frozen=True)
class SuiteText:
    """A suite file that is on no disk."""

    name: str
    text: str

    def read_text(self, encoding: str = "utf-8") -> str:
        """The text."""
        return self.text


@dataclass(frozen=True)
class _Hooks:
    """The hooks of a suite file, or of a method and the suites that it joins."""

    suite: SuiteText
    spec: Spec | None = None

    @hookimpl
    def uqbench_agents(self) -> Iterable[Spec]:
        """The agent, if it is one."""
        return [self.spec] if isinstance(self.spec, AgentSpec) else []

    @hookimpl
    def uqbench_estimators(self) -> Iterable[Spec]:
        """The estimator, if it is one."""
        return [self.spec] if type(self.spec) is Spec else []

    @hookimpl
    def uqbench_suites(self) -> Iterable[Any]:
        """The suite, or what the method adds to others."""
        return [self.suite]


_specs: dict[str, Spec] = {}
"""By path, those of methods that this process defined itself, and does not load again."""


def current() -> list[LocalPlugin]:
    """The local plugins of this process and those that it starts."""
    return [LocalPlugin(**one) for one in json.loads(os.environ.get(VARIABLE, "[]"))]


def add(plugin: LocalPlugin) -> None:
    """Add a local plugin to this process and those that it starts, or replace one of its name."""
    others = [p for p in current() if p.name != plugin.name]
    os.environ[VARIABLE] = json.dumps([asdict(p) for p in (*others, plugin)])


def add_file(path: Path) -> None:
    """Add a Python file with hooks (``.py``), or a suite file (``.toml``).

    Raises:
        UqbenchError: it is neither, or cannot be read.
    """
    if path.suffix not in (".py", ".toml"):
        raise UqbenchError(f"{path}: expected a Python file (.py) or a suite file (.toml).")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem if path.suffix == ".py" else path.name)
    digest = hashlib.sha256(_read(path)).hexdigest()
    add(LocalPlugin(name, str(path.resolve()), digest))


def add_class(
    path: Path, attribute: str | None, suite: str, settings: Mapping[str, Any]
) -> tuple[str, methods.Kind]:
    """Let one class of a Python file join a suite.

    Args:
        path: the file.
        attribute: name of the class; None for the only one that can be a method.
        suite: that it joins.
        settings: values of its config's fields.

    Returns:
        The method's name, and its kind.

    Raises:
        UqbenchError: the file cannot be read or raises, or has not one such class.
    """
    data = _read(path)
    plugin = LocalPlugin("", str(path.resolve()), hashlib.sha256(data).hexdigest())
    try:
        module = _module(plugin, data)
    except Exception as error:  # it may raise anything
        raise UqbenchError(
            f"{path} cannot be executed: {type(error).__name__}: {error}. A file that is part of a "
            f"package is tried once that is installed: uqbench run --methods."
            f"{see('file-of-a-package')}"
        ) from error
    there = methods.methods_in(module)
    if attribute is None and len(there) != 1:
        raise UqbenchError(
            f"{path} has {len(there) or 'no'} classes that can be methods"
            f"{': ' + ', '.join(there) if there else ''}; expected one that derives from "
            f"uqbench.agent.Agent, uqbench.agent.LoopAgent or uqbench.estimator.Estimator, or "
            f"{path}:Class."
        )
    chosen = attribute or there[0]
    if chosen not in vars(module):
        raise unknown(f"class in {path}", chosen, there)
    kind, _ = methods.kind_of(vars(module)[chosen])
    name = methods.method_name(chosen)
    join(replace(plugin, name=name, attribute=chosen), kind, [suite], settings)
    return name, kind


def join(
    plugin: LocalPlugin,
    kind: methods.Kind,
    suites: Iterable[str],
    settings: Mapping[str, Any],
    spec: Spec | None = None,
) -> None:
    """Let a method join suites.

    Args:
        plugin: that it is.
        kind: of the method.
        suites: that it joins.
        settings: values of its config's fields.
        spec: of a method that this process defined itself.
    """
    if spec is not None:
        _specs[plugin.path] = spec
    entry = f"{PREFIX}{plugin.name}:{plugin.name}"
    add(replace(plugin, joins=methods.joining(suites, plugin.name, entry, kind, settings)))


def load(plugin: LocalPlugin) -> object:
    """The hooks of a local plugin.

    Raises:
        UqbenchError: its file is not the one that was added.
    """
    path, suite = Path(plugin.path), SuiteText(f"{plugin.name}.toml", plugin.joins)
    if plugin.path in _specs:
        return _Hooks(suite, _specs[plugin.path])
    data = path.read_bytes()
    if path.suffix == PICKLE:
        return _Hooks(suite, _unpickled(data))
    if hashlib.sha256(data).hexdigest() != plugin.digest:
        raise UqbenchError(f"{plugin.path} was edited since the command began; run it again.")
    if path.suffix == ".toml":
        return _Hooks(SuiteText(path.name, data.decode("utf-8")))
    module = _module(plugin, data)
    if not plugin.attribute:
        return module
    factory = vars(module)[plugin.attribute]
    _, spec = methods.spec_of(plugin.name, factory, methods.config_of(factory))
    return _Hooks(suite, spec)


def loaders() -> list[tuple[LocalPlugin, Callable[[], object]]]:
    """Each local plugin with what loads it."""
    return [(plugin, partial(load, plugin)) for plugin in current()]


def is_local(version: str) -> bool:
    """Whether a spec of this version is from a local plugin."""
    return MARK in version


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UqbenchError(f"{path} cannot be read: {error.strerror}") from None


def _unpickled(data: bytes) -> Spec:
    """A notebook's method; its config gets the module by which this process names it too."""
    spec: Spec
    spec, config = pickle.loads(data)
    if config is not None:
        home = sys.modules.setdefault(config.__module__, ModuleType(config.__module__))
        setattr(home, config.__qualname__, config)
    return spec


def _module(plugin: LocalPlugin, data: bytes) -> ModuleType:
    """Execute the file as a module that configs can be pickled by."""
    stem = re.sub(r"\W", "_", Path(plugin.path).stem)
    name = f"uqbench_local_{stem}_{plugin.digest[:8]}"
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
