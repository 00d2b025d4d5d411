"""What a run was made with: versions, content hashes, machine, revision."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import metadata, util
from pathlib import Path

from uqbench.results.record import Provenance

LIBRARIES = ("torch", "numpy", "gymnasium")


def provenance(packages: Iterable[str], device: str) -> Provenance:
    """Describe this process.

    Args:
        packages: top-level import names of the plugins that take part.
        device: what the computation runs on, in words.
    """
    packages = sorted({"uqbench", *packages})
    distributions = metadata.packages_distributions()
    names = {name for package in packages for name in distributions.get(package, ())}
    versions = {name: metadata.version(name) for name in sorted(names | set(LIBRARIES))}
    return Provenance(
        platform=f"{platform.system()} {platform.machine()}",
        device=device,
        versions={"python": platform.python_version(), **versions},
        content={package: content_hash(package) for package in packages},
        git_revision=_git_revision(),
    )


@cache
def content_hash(package: str) -> str:
    """The sha256 of a package's installed files: a version string does not tell an edited copy.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    spec = util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no installed package {package!r} to hash")
    origin = Path(spec.origin)
    root = origin.parent if spec.submodule_search_locations else origin
    files = sorted(root.rglob("*")) if root.is_dir() else [root]
    digest = sha256()
    for path in files:
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(origin.parent).as_posix().encode() + b"\0")
            digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _git_revision() -> str | None:
    here = Path(__file__).parent

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=here, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:  # no git on this machine
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # a copy of uqbench inside somebody else's repository is not a checkout of uqbench
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    revision = git("rev-parse", "HEAD")
    return f"{revision}+changes" if revision and git("status", "--porcelain", ".") else revision
