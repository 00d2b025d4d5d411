"""What a class says of itself in its file: its docstring and the values in its body.

The file is read without importing the module, so that listing agents does not wait for torch.
"""

import ast
import importlib.util
import inspect
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from uqbench.contract.specs import AgentSpec, Spec, derives

LOOP_AGENT = "uqbench.contract.agent:LoopAgent"
SOURCE = "Source: "
"""Prefix of the docstring line that cites the paper, with equation or figure."""


def summary(spec: Spec) -> str:
    """One line: the spec's own, or the first of its factory's docstring."""
    return spec.summary or _paragraph(_docstring(spec))


def source(spec: Spec) -> str:
    """The paper, figure or page: the spec's own, or the docstring's line ``Source: …``."""
    _, _, cited = f"\n{_docstring(spec)}".partition(f"\n{SOURCE}")
    return spec.source or _paragraph(cited)


def _paragraph(text: str) -> str:
    """The first paragraph as one line, without its full stop."""
    return " ".join(text.strip().split("\n\n")[0].split()).rstrip(".")


def _docstring(spec: Spec) -> str:
    if not isinstance(spec.factory, str):
        return inspect.getdoc(spec.factory) or ""
    defined = definition(spec.factory)
    return "" if defined is None else ast.get_docstring(defined) or ""


def stated(factory: type[Any] | str, names: Collection[str]) -> dict[str, Any]:
    """The values that a class's own body gives to attributes of these names.

    Raises:
        ValueError: one is no literal, of a class in a file.
    """
    if not isinstance(factory, str):
        values = {key: value for key, value in vars(factory).items() if key in names}
        return {k: v for k, v in values.items() if isinstance(v, str | int | float | tuple)}
    defined, values = definition(factory), {}
    for node in defined.body if isinstance(defined, ast.ClassDef) else ():
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and target.id in names:
                try:
                    values[target.id] = ast.literal_eval(node.value)
                except ValueError:
                    raise ValueError(
                        f"{factory}.{target.id}: expected a literal, which can be read without "
                        f"importing the file, got {ast.unparse(node.value)}"
                    ) from None
    return values


def owns_loop(spec: AgentSpec) -> bool:
    """Whether an agent's class derives from ``LoopAgent``; one in a file is not imported.

    Each of its runs is a process of its own, without checkpoints.
    """
    factory = spec.factory
    return _is_loop(factory) if isinstance(factory, str) else derives(factory, LOOP_AGENT)


def takes_actors(spec: AgentSpec) -> bool:
    """Whether an agent learns from several actors."""
    return spec.vector if owns_loop(spec) else spec.actors


@cache
def _is_loop(factory: str) -> bool:
    """The same of ``"package.module:Name"``, by the names of its bases, and of theirs."""
    if factory == LOOP_AGENT:
        return True
    defined = definition(factory)
    module = factory.partition(":")[0]
    bases = defined.bases if isinstance(defined, ast.ClassDef) else []
    named = [ast.unparse(base) for base in bases]
    return any(
        name.rpartition(".")[2] == LOOP_AGENT.partition(":")[2] or _is_loop(f"{module}:{name}")
        for name in named
    )


@cache
def definition(factory: str) -> ast.ClassDef | ast.FunctionDef | None:
    """Where ``"package.module:Name"`` is defined, or what the module imports it from; else None."""
    module, _, name = factory.partition(":")
    path = path_of(module)
    for node in () if path is None else _tree(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom):
            package = module if path and path.name == "__init__.py" else module.rpartition(".")[0]
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    origin = "." * node.level + (node.module or "")
                    origin = importlib.util.resolve_name(origin, package)
                    return definition(f"{origin}:{alias.name}")
    return None


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def path_of(module: str) -> Path | None:
    """A module's file, found without importing its parent packages."""
    package, *below = module.split(".")
    spec = importlib.util.find_spec(package)
    if spec is not None and not spec.submodule_search_locations and spec.origin and not below:
        return Path(spec.origin)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        place = Path(folder).joinpath(*below)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None
