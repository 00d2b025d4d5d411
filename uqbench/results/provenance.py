"""What a run was made with: versions, content hashes, machine, revision."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata, util
from pathlib import Path

from uqbench.registry.registry import Plugin
from uqbench.results.records import Provenance


def provenance(plugins: Iterable[Plugin], device: str) -> Provenance:
    """Describe this process.

    Args:
        plugins: those involved, with those they depend on.
        device: description of the device that computes.
    """
    plugins = list(plugins)
    versions = {"python": platform.python_version()}
    for plugin in plugins:
        versions[plugin.distribution] = plugin.version
        for name in plugin.requires:
            with suppress(metadata.PackageNotFoundError):  # an optional dependency
                versions.setdefault(name, metadata.version(name))
    return Provenance(
        platform=f"{platform.system()} {platform.machine()}",
        device=device,
        versions=versions,
        content={plugin.package: content_hash(plugin.package) for plugin in plugins},
        git_revision=_git_revision(),
    )


@cache
def content_hash(package: str) -> str:
    """The sha256 of a package's installed files: a version string does not reveal an edited copy.

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
