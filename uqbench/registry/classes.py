"""A class as what it is registered as: its kind, its spec, and the entry points that name one.

::

    [project.entry-points."uqbench.agents"]
    rpf = "rpf_lab:RPF"

Nothing is imported for that: the class is when it is first looked up, and what its own body says
of it (``version``, ``calibrated``, ``events``, …) is its spec's. Its version is the digest of its
package where it states none.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from uqbench.contract import specs
from uqbench.contract.errors import UqbenchError
from uqbench.contract.hookspecs import ENTRY_POINT_GROUP
from uqbench.registry.contents import content_hash, package_of
from uqbench.registry.registry import Later

KINDS: dict[str, tuple[type[specs.Spec], tuple[str, ...]]] = {
    "agent": (specs.AgentSpec, ("uqbench.contract.agent:Agent", specs.LOOP_AGENT)),
    "estimator": (specs.EstimatorSpec, ("uqbench.contract.estimator:Estimator",)),
    "environment": (
        specs.EnvironmentSpec,
        ("gymnasium:Env", "uqbench.contract.environment:LaneEnv", "gymnasium.vector:VectorEnv"),
    ),
    "dataset": (specs.DatasetSpec, ("uqbench.contract.estimator:Dataset",)),
    "risk measure": (specs.Spec, ("uqbench.contract.risk.measure:RiskMeasure",)),
    "claim kind": (specs.Spec, ("uqbench.contract.claim:ClaimKind",)),
}
"""The kinds, their specs, and what their classes derive from."""
SUITES = f"{ENTRY_POINT_GROUP}.suites"
GROUPS = {f"{ENTRY_POINT_GROUP}.{kind.replace(' ', '_')}s": kind for kind in KINDS}
"""Groups of entry points that name a class, and its kind; those of :data:`SUITES` name a file."""


@dataclass(frozen=True)
class Added:
    """Specs by kind and suite files of a plugin."""

    specs: Mapping[str, Sequence[specs.Spec | Later]] = field(default_factory=dict)
    suites: Sequence[Any] = ()


def added(entry_point: metadata.EntryPoint) -> Added:
    """The addition of an entry point in one of :data:`GROUPS` or in :data:`SUITES`.

    Raises:
        ImportError: there is no such package or file.
    """
    module, group = entry_point.module, entry_point.group
    if group == SUITES:
        top, *below = module.split(".")
        found = importlib.util.find_spec(top)  # of a package alone, which is not imported for that
        parent = Path(found.origin or "" if found else "").parent
        path = parent.joinpath(*below, entry_point.attr)
        if found is None or not path.is_file():
            raise ImportError(f"there is no file {entry_point.attr!r} in {module}")
        return Added(suites=[path])
    version, kind = content_hash(package_of(module))[:12], GROUPS[group]
    return Added({kind: [Later(entry_point.name, partial(_loaded, kind, entry_point, version))]})


def _loaded(kind: str, entry_point: metadata.EntryPoint, version: str) -> specs.Spec:
    spec = spec_of(kind, entry_point.name, entry_point.load(), version)
    return dataclasses.replace(spec, factory=entry_point.value)


def spec_of(kind: str, name: str, factory: type[Any], version: str) -> specs.Spec:
    """The spec of a class.

    Args:
        kind: one of :data:`KINDS`.
        name: of what is registered.
        factory: the class.
        version: where its own body states none.
    """
    spec, _ = KINDS[kind]
    own = {field.name for field in dataclasses.fields(spec)} - {"name", "factory", "config"}
    stated = {key: getattr(factory, key) for key in own - {"version"} if hasattr(factory, key)}
    stated |= {key: value for key, value in vars(factory).items() if key == "version"}
    says: dict[str, Any] = {
        key: value for key, value in stated.items() if isinstance(value, str | int | float | tuple)
    }
    if kind == "agent":
        says["loop"] = specs.derives(factory, specs.LOOP_AGENT)
    return spec(name=name, factory=factory, **{"version": version, **says})


def kind_of(made: Any) -> str:
    """The kind of a class, by its base.

    Raises:
        UqbenchError: it is of no kind.
    """
    for kind, (_, bases) in KINDS.items():
        if specs.derives(made, *bases):
            return kind
    raise UqbenchError(
        f"{made!r} is no uqbench.agent.Agent, uqbench.agent.LoopAgent, "
        f"uqbench.estimator.Estimator, uqbench.environment.LaneEnv or gymnasium.Env: derive it "
        f"from one."
    )


def classes_in(module: Any) -> list[str]:
    """Names of the classes that a module itself defines and that are of a kind."""
    bases = [base for _, kind in KINDS.values() for base in kind]
    own = {name: of for name, of in vars(module).items() if specs.derives(of, *bases)}
    usable = (n for n, of in own.items() if not (n.startswith("_") or inspect.isabstract(of)))
    return [name for name in usable if own[name].__module__ == module.__name__]


def name_of(name: str) -> str:
    """``my-method`` for ``MyMethod``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
