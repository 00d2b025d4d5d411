"""Below results and boards, files are read and written through a ``Folder`` alone."""

import ast
from pathlib import Path

import uqbench_report

import uqbench

ROOT, REPORT = Path(uqbench.__file__).parent, Path(uqbench_report.__file__).parent
ROOMS = ("results", "boards", "pages")
MODULES = ("runner/checkpoints.py", "runner/resume.py")
DOORS = {
    "results/folders.py": "it is the one way",
    "results/locks.py": "locks, which are files that nobody reads",
    "results/provenance.py": "/proc/cpuinfo",
    "explorer/page.py": "a file of uqbench's own",
}
PATH_METHODS = {
    "read_bytes", "read_text", "write_bytes", "write_text", "open", "unlink", "mkdir",
    "rmdir", "iterdir", "glob", "rglob", "exists", "is_file", "is_dir", "is_symlink", "stat",
    "lstat", "touch", "symlink_to", "chmod"}  # fmt: skip
FOLDERS_OWN = {"open"}
"""Of a ``Folder``, too: allowed where it is called with a name."""


def calls(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        of = node.func
        if isinstance(of, ast.Name) and of.id == "open":
            found.append(f"{path.name}:{node.lineno}: open")
        if isinstance(of, ast.Attribute) and (
            (of.attr in PATH_METHODS and not (of.attr in FOLDERS_OWN and node.args))
            or (isinstance(of.value, ast.Name) and of.value.id == "os" and of.attr != "getpid")
        ):
            found.append(f"{path.name}:{node.lineno}: {of.attr}")
    return found


def test_no_module_opens_what_is_below_a_root_but_through_a_folder():
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    paths += [ROOT / name for name in MODULES]
    found = {str(path.relative_to(ROOT)): calls(path) for path in paths}
    for path in [path for name in ("plots", "explorer") for path in (REPORT / name).glob("*.py")]:
        found[str(path.relative_to(REPORT))] = calls(path)
    assert {name: made for name, made in found.items() if made and name not in DOORS} == {}
    assert all(found[name] for name in DOORS), "a door that is none any more"
