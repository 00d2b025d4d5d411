"""The wheels of a night on a bare machine: what it lacks, uqbench and its plugins, in one folder.

``python tools/gpu_night/wheels.py FOLDER --check PYTHON3.12`` downloads the versions that
``requirements.txt`` pins, builds uqbench's own, and packs all of them anew by LZMA, which halves
NumPy and pandas. It ends with 1 where a requirement of a wheel is neither in the folder nor in
``machine.txt``, or where wheels and tree, less its boards, are more than ``--most-mib``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
THERE = Path(__file__).with_name("machine.txt")
CARRIED = (
    "annotated-types", "arch", "click", "cloudpickle", "farama-notifications", "filelock",
    "gymnasium", "minatar", "numpy", "packaging", "pandas", "pluggy", "pydantic", "pydantic-core",
    "python-dateutil", "pytz", "rich", "six", "typing-extensions", "typing-inspection", "tzdata",
)  # fmt: skip
"""Packages that the machine lacks, or has in a version that does not do."""
FROM_SOURCE = ("rliable",)
"""More of them, in plain Python, that their authors publish no wheel of."""
OWN = (".", *(f"plugins/uqbench-{name}" for name in (
    "claims", "compare", "dqn", "minatar", "posteriors", "predictive", "profile", "quam",
    "sentinel", "tabular", "testing", "uadqn", "ube",
)))  # fmt: skip
PYTHON, TAGS = "3.12", ("2_28", "2_27", "2_24", "2_17")
MARKERS = {"python_version": PYTHON, "sys_platform": "linux", "extra": ""}
ALONE = (
    "import annotated_types, click, filelock, gymnasium, minatar, numpy, packaging, pandas, pluggy",
    "import pydantic, pytz, rich, typing_inspection, tzdata, uqbench",
    "import sys; assert 'torch' not in sys.modules",
)
"""Imports where there is nothing else, not even torch; rliable and arch would need SciPy."""
MIB = 2**20


def pinned() -> dict[str, str]:
    """The versions of requirements.txt, by canonical name."""
    lines = re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
    return {canonicalize_name(name): version for name, version in lines}


def gather(folder: Path) -> None:
    """Download and build the wheels into a folder, packed as small as they go.

    Raises:
        CalledProcessError: one is not to be had, or cannot be built.
    """
    versions = pinned()
    pip = [sys.executable, "-m", "pip"]
    tags = [part for tag in TAGS for part in ("--platform", f"manylinux_{tag}_x86_64")]
    tags += ["--platform", "manylinux2014_x86_64"]
    with tempfile.TemporaryDirectory() as temporary:
        of = ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON, *tags]
        of += ["--implementation", "cp"]
        names = [f"{name}=={versions[name]}" for name in CARRIED]
        subprocess.run([*pip, "download", "-q", *of, "-d", temporary, *names], check=True)
        build = [*pip, "wheel", "-q", "--no-deps", "-w", temporary]
        subprocess.run([*build, *(f"{name}=={versions[name]}" for name in FROM_SOURCE)], check=True)
        ours = ["--no-build-isolation", *(f"./{own}" for own in OWN)]  # hatchling is here
        subprocess.run([*build, *ours], check=True, cwd=ROOT)
        wanted = {canonicalize_name(name).replace("-", "_") for name in versions} | {"uqbench"}
        wanted |= {Path(own).name.replace("-", "_") for own in OWN}
        for wheel in sorted(Path(temporary).glob("*.whl")):
            if canonicalize_name(wheel.name.split("-")[0]).replace("-", "_") in wanted:
                pack(wheel, folder / wheel.name)


def pack(wheel: Path, into: Path) -> None:
    """Write a wheel's files, as they are, into one that is compressed by LZMA."""
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(into, "w", zipfile.ZIP_LZMA) as packed:
        for name in given.namelist():
            packed.writestr(zipfile.ZipInfo(name), given.read(name), zipfile.ZIP_LZMA)


def lacking(folder: Path) -> Iterator[str]:
    """Requirements of the wheels that neither a wheel nor the machine satisfies."""
    there = {canonicalize_name(name) for name in THERE.read_text("utf-8").split()}
    about = [_metadata(wheel) for wheel in sorted(folder.glob("*.whl"))]
    carried = {canonicalize_name(one["Name"]): one["Version"] for one in about}
    for one in about:
        for text in one.get_all("Requires-Dist") or ():
            needed = Requirement(text)
            name = canonicalize_name(needed.name)
            if needed.marker is not None and not needed.marker.evaluate(MARKERS):
                continue
            version = carried.get(name)
            if version is None and name not in there:
                yield f"{one['Name']} needs {text}, which is neither carried nor there"
            if version is not None and not needed.specifier.contains(version):
                yield f"{one['Name']} needs {text}; {version} is carried"


def _metadata(wheel: Path):
    with zipfile.ZipFile(wheel) as opened:
        [name] = [n for n in opened.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
        return Parser().parsestr(opened.read(name).decode())


def install(python: str, wheels: Path, site: Path) -> None:
    """Install the wheels, and nothing else, into a folder.

    Raises:
        CalledProcessError: one cannot be installed.
    """
    command = [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
    command += ["--no-cache-dir", "--upgrade", "--target", str(site)]
    subprocess.run([*command, *map(str, sorted(wheels.glob("*.whl")))], check=True)


def tree_bytes() -> int:
    """The size of the checkout's files, without those of stored boards."""
    listed = ["git", "ls-files", "-z", "--", ".", ":!leaderboards"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
    return sum((ROOT / name.decode()).stat().st_size for name in names if name)


def main() -> int:
    """Make the folder, say what it weighs and lacks; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="empty, or not there")
    parser.add_argument("--most-mib", type=float, default=40.0, help="of wheels and tree")
    parser.add_argument("--check", metavar="PYTHON", help="install and import them by this Python")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    gather(options.folder)
    wrong = list(lacking(options.folder))
    own, tree = sum(path.stat().st_size for path in options.folder.iterdir()), tree_bytes()
    print(f"{len([*options.folder.iterdir()])} wheels, {own / MIB:.1f} MiB; tree {tree / MIB:.1f}")
    if own + tree > options.most_mib * MIB:
        wrong.append(f"together more than {options.most_mib:g} MiB")
    if options.check:
        with tempfile.TemporaryDirectory() as site:
            install(options.check, options.folder, Path(site))
            code = f"import sys; sys.path.insert(0, {site!r}); " + "; ".join(ALONE)
            wrong += _failure([options.check, "-I", "-c", code])
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


def _failure(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [done.stderr.strip().splitlines()[-1]] if done.returncode else []


if __name__ == "__main__":
    raise SystemExit(main())
