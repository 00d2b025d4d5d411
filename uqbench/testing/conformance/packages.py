"""What every package must be: quick to import, and explained; what of it cannot be tried."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from uqbench.testing.conformance.check import Failed, Skipped, Subject, check

IMPORT_SECONDS = 0.5
"""Beyond what importing uqbench itself takes."""


@dataclass(kw_only=True)
class PackageSubject(Subject):
    """An installed plugin.

    Attributes:
        module: that its entry point names; empty where that names a class, imported when used.
        names: what it registers, as (kind, name, summary).
        problems: what could not be used of its suite files, and why.
        failure: why it was left out; None where it loaded.
    """

    kind: ClassVar[str] = "package"
    module: str
    names: Sequence[tuple[str, str, str]] = ()
    problems: Sequence[str] = ()
    failure: str | None = None


@check(PackageSubject, "package-loads")
def loads(subject: PackageSubject) -> None:
    """The entry point loads, and every hook returns its specs.

    In this process.

    Fix:
        Follow the message; `uqbench list plugins` says the same.
    """
    if subject.failure:
        raise Failed(subject.failure)


@check(PackageSubject, "package-import", after=("package-loads",))
def imports(subject: PackageSubject) -> None:
    """Importing the entry point takes less than 0.5 s and does not import torch.

    In a process of its own, after uqbench; the best of three.

    Fix:
        Pass factories and configs as strings, 'package.module:Name'.
    """
    if not subject.module:
        raise Skipped("its entry point names a class, which is imported when it is used")
    code = (
        "import importlib, json, sys, time, uqbench; began = time.perf_counter(); "
        f"importlib.import_module({subject.module!r}); "
        "print(json.dumps([time.perf_counter() - began, 'torch' in sys.modules]))"
    )
    seconds, torch = [], False
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Failed(f"it cannot be imported by itself: {done.stderr.strip()[-300:]}")
        taken, torch = json.loads(done.stdout.splitlines()[-1])
        seconds.append(taken)
        if taken < IMPORT_SECONDS:
            break
    if torch:
        raise Failed("importing it imports torch, which every command would wait for")
    if min(seconds) >= IMPORT_SECONDS:
        raise Failed(f"importing it took {min(seconds):.2f} s")


@check(PackageSubject, "package-summaries", after=("package-loads",))
def summaries(subject: PackageSubject) -> None:
    """Everything that is registered has a one-line summary.

    That names are valid is seen when the package loads.

    Fix:
        Write the summary as the first line of the class's docstring.
    """
    for kind, name, summary in subject.names:
        if not summary or "\n" in summary:
            raise Failed(f"the {kind} {name!r} has no summary")


@check(PackageSubject, "package-suites", after=("package-loads",))
def suites(subject: PackageSubject) -> None:
    """Its suites and extensions are there and valid, and the suites that it extends exist.

    All of its TOML files, as installed.

    Fix:
        Follow the message; `uqbench list suites` says the same. The wheel must hold the files:
        hatchling packages them; with setuptools add them to [tool.setuptools.package-data].
    """
    if subject.problems:
        raise Failed("; ".join(subject.problems))


@dataclass(kw_only=True)
class ComponentSubject(Subject):
    """Something registered that no other subject could be made of.

    Attributes:
        problem: what making it raised, or why it was not made.
    """

    kind: ClassVar[str] = "component"
    problem: Exception | str


@check(ComponentSubject, "component-made")
def made(subject: ComponentSubject) -> None:
    """What is registered can be made with the config of a suite that uses it.

    Missing data and missing suites are no failures, and are said.

    Fix:
        Follow the message; raise uqbench.contract.errors.MissingDataError where files are missing
        that a user has to put there.
    """
    if isinstance(subject.problem, str):
        raise Skipped(subject.problem)
    raise subject.problem
