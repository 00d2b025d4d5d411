"""Mutants that the tests one opens first do not find: ``tox -e mutants -- [FILE …]``.

A mutant is a module with one change that a test should see: a comparison flipped, a copy not made,
a factor left out, a bound ignored, a constant ten times as large, nothing returned. For each, the
test files that import the module, or a name of it by the face of its room, are run on a copy of its
package, which comes first on Python's path; the working tree is left alone. Whoever reads the
survivors decides which need a test.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUIET = {"PYTHONSAFEPATH": "1", "PYTEST_ADDOPTS": "-p no:randomly -p no:cacheprovider"}
FLIPPED = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the text of a span of bytes, and what stands there instead."""

    path: Path
    line: int
    span: slice
    before: str
    after: str


def changed(node: ast.AST, text: str) -> str | None:
    """The text of a node's mutant; None where it has none."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return f"({ast.unparse(left)} {FLIPPED[type(operator)]} {ast.unparse(right)})"
        case (
            ast.Call(func=ast.Attribute(value=left, attr="clone" | "copy"), args=[])
            | ast.Call(func=ast.Name(id="min" | "max"), args=[left, _], keywords=[])
            | ast.BinOp(left=left, op=ast.Mult() | ast.Div())
        ):
            return f"({ast.unparse(left)})"
        case ast.Constant(value=int() | float() as value) if value and not isinstance(value, bool):
            return f"({text} * 10)"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            return "return None"
    return None


def below(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it, but for annotations and messages."""
    yield node
    for name, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST) and name not in ("annotation", "returns"):
                yield from () if isinstance(one, ast.JoinedStr) else below(one)


def mutants(path: Path, source: bytes) -> Iterator[Mutant]:
    """All mutants of a module."""
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    for node in below(ast.parse(source)):
        if isinstance(node, ast.expr | ast.Return):
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            span = slice(starts[node.lineno - 1] + node.col_offset, end)
            text = source[span].decode()
            if (after := changed(node, text)) is not None:
                yield Mutant(path, node.lineno, span, text, after)


def package_of(path: Path) -> tuple[Path, str]:
    """The folder of a module's package, and the module's name."""
    parts = path.with_suffix("").parts
    top = parts.index("src") + 1 if "src" in parts else 0
    return Path(*parts[: top + 1]), ".".join(parts[top:]).removesuffix(".__init__")


def faces(root: Path, path: Path) -> set[str]:
    """The names that a module gives through packages above it, such as ``uqbench.boards.Told``.

    Packages give them by imports, by ``face(__name__, module="Name,Other")``, or as ``uqbench``
    itself does, by a table of names by module.
    """
    (folder, module), given = package_of(path), set()
    inside_of = path.parents[: len(path.parts) - len(folder.parts)]
    for package in {*inside_of, Path("uqbench")}:
        if not (init := root / package / "__init__.py").is_file():
            continue
        name = package_of(package / "__init__.py")[1]
        inside = module.removeprefix(f"{name}.")
        for node in ast.walk(ast.parse(init.read_bytes())):
            found: list[str] = []
            match node:
                case ast.ImportFrom(module=str(of), names=names) if of == module:
                    found = [one.asname or one.name for one in names]
                case ast.keyword(arg=str(of), value=ast.Constant(value=str(names))) if of == inside:
                    found = names.split(",")
                case ast.Dict(keys=keys, values=values):
                    found = [
                        one.value
                        for key, of in zip(keys, values, strict=True)
                        if isinstance(key, ast.Constant) and key.value == module
                        for one in ast.walk(of)
                        if isinstance(one, ast.Constant) and isinstance(one.value, str)
                    ]
            given |= {f"{name}.{one}" for one in found}
    return given


def imports(path: Path, names: set[str]) -> bool:
    """Whether a file imports one of some modules and names, or takes it from what it imports."""
    named, tree = set(), ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            of = getattr(node, "module", "")
            named |= {of, *(f"{of}.{one.name}".removeprefix(".") for one in node.names)}
        elif isinstance(node, ast.Attribute):
            named.add(ast.unparse(node))
    return bool(named & names)


def passes(root: Path, ahead: str, tests: Sequence[str], seconds: float | None) -> bool:
    """Whether tests pass, in that time, with the packages of a folder before those installed."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-m", "not long", *tests]
    own = os.environ | QUIET | {"PYTHONPATH": ahead}
    try:
        done = subprocess.run(command, cwd=root, env=own, capture_output=True, timeout=seconds)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def survivors(
    root: Path, path: Path, chosen: Sequence[Mutant], given: Sequence[str] | None = None
) -> int:
    """Try a file's mutants, print what becomes of each, and return how many survive.

    By the tests that are given, or else by those that import it.
    """
    package, module = package_of(path)
    files = [*root.glob("tests/**/test_*.py"), *root.glob("plugins/*/tests/**/test_*.py")]
    names = {module, module.replace(".contract.", "."), *faces(root, path)}  # one is an import name
    found = [str(file.relative_to(root)) for file in sorted(files) if imports(file, names)]
    tests = found if given is None else given
    print(f"{path}: {' '.join(tests) or 'no test imports it'}", flush=True)
    survived = 0
    with tempfile.TemporaryDirectory() as ahead:
        shutil.copytree(root / package, Path(ahead, package.name))
        copy, began = Path(ahead, package.name, path.relative_to(package)), time.monotonic()
        if tests and not passes(root, ahead, tests, None):
            sys.exit("These tests fail without any change: nothing can be told.")
        source, limit = copy.read_bytes(), 60 + 3 * (time.monotonic() - began)
        for one in sorted(chosen, key=lambda mutant: mutant.span.start):
            after = one.after.encode()
            copy.write_bytes(source[: one.span.start] + after + source[one.span.stop :])
            survived += (survives := not tests or passes(root, ahead, tests, limit))
            shown = "  →  ".join(" ".join(t.split())[:60] for t in (one.before, one.after))
            print(f"  {'SURVIVES' if survives else 'found   '} {one.line}: {shown}", flush=True)
    return survived


def main(root: Path = ROOT) -> None:
    """Draw mutants of the files, and try them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="modules; those that differ by default")
    parser.add_argument("--tests", nargs="*", help="to run; those that import a module")
    parser.add_argument("--base", default="main", help="commit that they differ from (main)")
    parser.add_argument("--number", type=int, default=12, help="mutants, of all files (12)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (0)")
    of = parser.parse_args()
    command = ["git", "diff", "--name-only", "--diff-filter=d", of.base, "--", "*.py"]
    names = of.files or subprocess.check_output(command, cwd=root, text=True).split()
    files = [p for p in map(Path, names) if p.parts[0] == "uqbench" or "src" in p.parts]
    every = [mutant for path in files for mutant in mutants(path, (root / path).read_bytes())]
    drawn = random.Random(of.seed).sample(every, min(of.number, len(every)))
    by_file = {path: [one for one in drawn if one.path == path] for path in files}
    survived = sum(survivors(root, path, own, of.tests) for path, own in by_file.items() if own)
    print(f"{survived} of {len(drawn)} mutants survive the tests that import their module.")


if __name__ == "__main__":
    main()
