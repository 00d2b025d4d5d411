"""``uqbench.register``: a method from a notebook's cell, or any object, joins suites."""

from __future__ import annotations

import atexit
import copyreg
import dataclasses
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from uqbench.api.source import source_digest
from uqbench.errors import UqbenchError
from uqbench.registry import local
from uqbench.registry.classes import kind_of, name_of, spec_of
from uqbench.specs import Spec, config_of


def register(
    factory: Any,
    *,
    suite: str | Sequence[str],
    name: str | None = None,
    config: type[Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    kind: Literal["agent", "estimator"] | None = None,
    version: str = "1",
) -> str:
    """Let a method join suites, in this process and in the workers that it starts.

    What is registered needs no package. Its version is ``version`` and the digest of its source,
    with that of whatever else of the notebook it uses: after an edit, its runs are other runs, and
    boards mark it *local*. Registering the name again replaces it.

    Args:
        factory: a class or function that makes the :class:`~uqbench.agent.Agent` (called with
            ``info, seeds, config, device``), :class:`~uqbench.agent.LoopAgent`
            (``info, config``) or :class:`~uqbench.estimator.Estimator`.
        suite: the suite or suites that it joins.
        name: on boards; by default the factory's, as ``my-method``.
        config: frozen dataclass of its config; by default that of its constructor's parameter
            ``config``.
        settings: values of the config's fields.
        kind: ``agent`` or ``estimator``, where the factory is a function.
        version: of the method.

    Returns:
        Its name.

    Raises:
        UqbenchError: the name cannot be one, or the factory is of no kind.

    Example:
        >>> import uqbench
        >>> uqbench.register(MyAgent, suite="windy-cliff")  # doctest: +SKIP
        'my-agent'
        >>> uqbench.run("windy-cliff", "smoke", methods=["my-agent", "qr-dqn"])  # doctest: +SKIP
    """
    own = name or name_of(factory.__name__)
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", own):
        raise UqbenchError(
            f"name={own!r}: expected small letters, digits, hyphens and underscores, such as "
            f"'my-method'."
        )
    config = config_of(factory) if config is None else config
    if not dataclasses.is_dataclass(config):
        raise UqbenchError(f"config={config!r}: expected a dataclass, frozen and of plain values.")
    made = kind_of(factory, kind)
    spec = spec_of(made, own, factory, version, config)
    digest = source_digest(factory, config)
    _make_importable(config, f"uqbench_notebook_{own.replace('-', '_')}_{digest[:8]}")
    path = _folder() / f"{own}-{digest[:16]}{local.PICKLE}"
    path.write_bytes(_pickled(spec, config))
    suites = [suite] if isinstance(suite, str) else list(suite)
    local.join(local.LocalPlugin(own, str(path), digest), made, suites, settings or {}, spec)
    return own


def _make_importable(config: type[Any], module: str) -> None:
    """Give a notebook's config a module: batches hold one, and workers get it by pickle."""
    if config.__module__ == "__main__":
        home = sys.modules.setdefault(module, ModuleType(module))
        setattr(home, config.__qualname__, config)
        config.__module__ = module


def _pickled(spec: Spec, config: type[Any]) -> bytes:
    """The method with its classes by value, as the workers load it."""
    import cloudpickle

    # a copy of the sentinel would be a default value of every field
    copyreg.pickle(type(dataclasses.MISSING), lambda _: "MISSING")
    home = sys.modules[config.__module__]
    by_value = home.__name__.startswith("uqbench_notebook_")
    if by_value:
        cloudpickle.register_pickle_by_value(home)
    try:
        data: bytes = cloudpickle.dumps((spec, config if by_value else None))
        return data
    except Exception as error:  # whatever a notebook holds
        raise UqbenchError(
            f"{spec.name} cannot be sent to the workers: {type(error).__name__}: {error}; keep "
            f"what cannot be pickled (open files, locks, connections) out of it."
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(home)


@cache
def _folder() -> Path:
    """Of this process's notebook methods; only its user can read it, and it is removed at exit."""
    folder = Path(tempfile.mkdtemp(prefix="uqbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
