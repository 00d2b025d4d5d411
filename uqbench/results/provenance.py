"""Provenance of a run: versions, content hashes, machine, revision."""

import platform
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from uqbench.registry.contents import content_hash
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
                versions.setdefault(name, _version(name))
    if "torch" in sys.modules:  # an extra of uqbench's, so that no plugin need require it
        versions.setdefault("torch", _version("torch"))
    return Provenance(
        platform=f"{platform.system()} {platform.machine()}, {_processor()}",
        device=device,
        versions=versions,
        content={
            plugin.package: plugin.local or content_hash(plugin.package) for plugin in plugins
        },
        git_revision=_git_revision(),
    )


_version = cache(metadata.version)  # a worker asks again for each batch


@cache
def _processor() -> str:
    """The model of this machine's processor: others may give other last places."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(errors="replace").splitlines() if facts.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "processor unknown")


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
