"""Local plugins: a Python file, a suite file, or a method from a notebook; nothing is installed.

The processes that compute find them by the environment variable :data:`VARIABLE`, which names each
file with its sha256: a file that changed in between is refused. What they register gets the digest
as part of its version, so that edited code makes new runs, and boards can mark it *local*.

A method from a notebook has no file of its own. It travels as a cloudpickle in a temporary folder
of the process that registered it, readable by its user alone; nothing pickled is ever stored with
results, or read from them. A class of a file (``uqbench try``) needs no pickle: each process
executes the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from uqbench.errors import UqbenchError, see, unknown
from uqbench.hookspecs import hookimpl
from uqbench.registry import methods
from uqbench.specs import Spec

VARIABLE = "UQBENCH_LOCAL"
"""Environment variable with the local plugins, as JSON."""
PREFIX = "local-"
"""Before the name of one, where an installed plugin has its distribution, and its package."""
MARK = "+local."
"""In the version of what they register, before the first digits of the digest."""


@dataclass(frozen=True)
class LocalPlugin:
    """A file, and its digest.

    Attributes:
        kind: ``module``, a Python file with hooks; ``class``, one class of a Python file;
            ``suite``, a TOML file; or ``pickle``.
        digest: sha256 of what identifies it: of the file, or of a notebook method's source.
        sha256: of the file.
        attribute: name of the class.
        joins: TOML by which the class joins suites.
    """

    kind: str
    name: str
    path: str
    digest: str
    sha256: str
    attribute: str = ""
    joins: str = ""


class MethodPlugin:
    """The hooks of a method that was registered from Python."""

    def __init__(self, kind: str, spec: Spec, suite_text: str) -> None:
        self._kind, self._spec, self._suite_text = kind, spec, suite_text

    @hookimpl
    def uqbench_agents(self) -> Iterable[Spec]:
        """The agent, if it is one."""
        return [self._spec] if self._kind == "agent" else []

    @hookimpl
    def uqbench_estimators(self) -> Iterable[Spec]:
        """The estimator, if it is one."""
        return [self._spec] if self._kind == "estimator" else []

    @hookimpl
    def uqbench_suites(self) -> Iterable[Any]:
        """The suites that it joins."""
        return [SuiteText(f"{self._spec.name}.toml", self._suite_text)]


@dataclass(frozen=True)
class SuiteText:
    """A suite file that is on no disk."""

    name: str
    text: str

    def read_text(self, encoding: str = "utf-8") -> str:
        """The text."""
        return self.text


class _SuiteFile:
    """The hook of a suite file."""

    def __init__(self, name: str, text: str) -> None:
        self._found = SuiteText(name, text)

    @hookimpl
    def uqbench_suites(self) -> Iterable[Any]:
        """The file."""
        return [self._found]


_loaded: dict[str, object] = {}
"""Those that this process has, by path: what it defined itself is not loaded again."""


def current() -> list[LocalPlugin]:
    """The local plugins of this process and those that it starts."""
    return [LocalPlugin(**one) for one in json.loads(os.environ.get(VARIABLE, "[]"))]


def add(plugin: LocalPlugin, loaded: object | None = None) -> None:
    """Add a local plugin to this process and those that it starts, or replace one of its name.

    Args:
        plugin: to add.
        loaded: its hooks, if this process has them.
    """
    others = [p for p in current() if (p.kind, p.name) != (plugin.kind, plugin.name)]
    if loaded is not None:
        _loaded[plugin.path] = loaded
    os.environ[VARIABLE] = json.dumps([asdict(p) for p in (*others, plugin)])


def add_file(path: Path, kind: str) -> None:
    """Add a Python file with hooks (``module``), or a suite's TOML file (``suite``).

    Raises:
        UqbenchError: it cannot be read.
    """
    digest = hashlib.sha256(_read(path)).hexdigest()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem if kind == "module" else path.name)
    add(LocalPlugin(kind, name, str(path.resolve()), digest, digest))


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
    digest = hashlib.sha256(data).hexdigest()
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem)
    try:
        module = _module(LocalPlugin("class", stem, str(path.resolve()), digest, digest), data)
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
    text = methods.joining([suite], name, f"{PREFIX}{name}:{name}", kind, settings)
    add(LocalPlugin("class", name, str(path.resolve()), digest, digest, chosen, text))
    return name, kind


def load(plugin: LocalPlugin) -> object:
    """The hooks of a local plugin.

    Raises:
        UqbenchError: its file is not the one that was added.
    """
    if plugin.path in _loaded:
        return _loaded[plugin.path]
    data = Path(plugin.path).read_bytes()
    if hashlib.sha256(data).hexdigest() != plugin.sha256:
        raise UqbenchError(f"{plugin.path} was edited since the command began; run it again.")
    makers: dict[str, Callable[[], object]] = {
        "module": partial(_module, plugin, data),
        "class": partial(_class, plugin, data),
        "suite": lambda: _SuiteFile(Path(plugin.path).name, data.decode("utf-8")),
        "pickle": partial(_unpickled, data),
    }
    return makers[plugin.kind]()


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


def _class(plugin: LocalPlugin, data: bytes) -> MethodPlugin:
    factory = vars(_module(plugin, data))[plugin.attribute]
    kind, spec = methods.spec_of(plugin.name, factory, methods.config_of(factory))
    return MethodPlugin(kind, spec, plugin.joins)


def _unpickled(data: bytes) -> object:
    """A notebook's method; its config gets the module by which this process names it too."""
    plugin, config = pickle.loads(data)
    if config is not None:
        home = sys.modules.setdefault(config.__module__, ModuleType(config.__module__))
        setattr(home, config.__qualname__, config)
    return plugin


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
