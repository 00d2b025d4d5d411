"""Rules of every package: quick to import, and explained; and of a thing that cannot be made."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from uqbench.contract.specs import Spec
from uqbench.registry.definitions import summary
from uqbench.registry.registry import Plugin
from uqbench_testing.conformance.check import Subject, applies, check, expect

IMPORT_SECONDS = 0.5
"""Seconds of a processor, beyond what importing uqbench itself takes."""
IMPORT = """import importlib, json, sys, time, uqbench
began = time.process_time()
importlib.import_module(sys.argv[1])
print(json.dumps([time.process_time() - began, "torch" in sys.modules]))
"""


@dataclass(kw_only=True)
class PackageSubject(Subject, kind="package"):
    """An installed plugin.

    Attributes:
        plugin: its module is empty where its entry point names a class, imported when used.
        specs: what it registers, as (kind, spec).
        problems: what could not be used of its suite files, and why.
    """

    plugin: Plugin
    specs: Sequence[tuple[str, Spec]] = ()
    problems: Sequence[str] = ()


@check(PackageSubject, "package-loads")
def loads(subject: PackageSubject) -> None:
    """The entry point loads, and every hook returns its specs.

    In this process.

    Fix:
        Follow the message; `uqbench list plugins` says the same.
    """
    expect(subject.plugin.failure is None, str(subject.plugin.failure))


@check(PackageSubject, "package-import", after=("package-loads",))
def imports(subject: PackageSubject) -> None:
    """Importing the entry point takes less than 0.5 s of a processor and does not import torch.

    In a process of its own, after uqbench.

    Fix:
        Pass factories and configs as strings, 'package.module:Name'.
    """
    module = subject.plugin.module
    applies(module, "its entry point names a class, imported when it is used, or a file")
    command = [sys.executable, "-P", "-c", IMPORT, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"it cannot be imported by itself: {done.stderr.strip()[-300:]}")
    seconds, torch = json.loads(done.stdout.splitlines()[-1])
    expect(not torch, "importing it imports torch, which every command would wait for")
    expect(seconds < IMPORT_SECONDS, f"importing it took {seconds:.2f} s of a processor")


@check(PackageSubject, "package-summaries", after=("package-loads",))
def summaries(subject: PackageSubject) -> None:
    """Everything that is registered has a one-line summary.

    That names are valid is seen when the package loads.

    Fix:
        Write the summary as the first line of the class's docstring.
    """
    for kind, spec in subject.specs:
        line = summary(spec)
        expect(line and "\n" not in line, f"the {kind} {spec.name!r} has no summary")


@check(PackageSubject, "package-suites", after=("package-loads",))
def suites(subject: PackageSubject) -> None:
    """Its suites and extensions are there and valid, and the suites that it extends exist.

    All of its TOML files, as installed.

    Fix:
        Follow the message; `uqbench list suites` says the same. The wheel must hold the files:
        hatchling packages them; with setuptools add them to [tool.setuptools.package-data].
    """
    expect(not subject.problems, "; ".join(subject.problems))


@dataclass(kw_only=True)
class ComponentSubject(Subject, kind="component"):
    """Something registered that no other subject could be made of.

    Attributes:
        problem: what making it raised.
    """

    problem: Exception


@check(ComponentSubject, "component-made")
def made(subject: ComponentSubject) -> None:
    """A thing that is registered can be made with the config of a suite that uses it.

    Missing data and missing suites are no failures, and are said.

    Fix:
        Follow the message; raise uqbench.contract.errors.MissingDataError where files are missing
        that a user has to put there.
    """
    raise subject.problem
