"""``uqbench doctor``: is everything here that a run needs?"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from uqbench.api.options import Options
from uqbench.cli.options import takes
from uqbench.cli.terminal import say


@takes("out")
def command(options: Options) -> int:
    """Check this installation.

    Python, torch, devices, plugins, suites, disk. Exit 1 where something is wrong. Whether a GPU
    computes what the CPU does, and how fast: python benchmarks/gpu_compare.py, in a checkout.

    \b
    Example:
      uqbench doctor
    """
    right = True
    for good, line in _installation(Path(options.out or "results")):
        right &= good
        say(f"{'ok   ' if good else 'WRONG'}  {line}")
    return 0 if right else 1


def _installation(out: Path) -> Iterator[tuple[bool, str]]:
    """Lines on the installation, each with whether it is as it should be."""
    import shutil

    from uqbench.contract.errors import UqbenchError
    from uqbench.contract.wording import count
    from uqbench.registry.packages import is_extra, lacking, naming_extra
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.suites.reading import read_suites

    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    yield True, f"Python {platform.python_version()}, {system}"
    try:
        import torch

        device = "no CUDA device, runs use the CPU"
        if torch.cuda.is_available():
            about = torch.cuda.get_device_properties(0)
            device = f"{about.name}, {about.total_memory / 2**30:.0f} GiB"
        yield True, f"torch {torch.__version__}: {device}"
    except ModuleNotFoundError as error:
        yield True, f"no torch, and so nothing to train with: {lacking(error)}"
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "clang++"))), "")
    without = "no C++ compiler: budgets with numerics = 'compiled' need one; install g++"
    yield bool(compiler), f"C++ compiler: {compiler}" if compiler else without
    with suppress(ImportError):
        import numba

        try:
            numba.njit(lambda x: x + 1)(1)  # as every compiled environment begins
            yield True, f"Numba {numba.__version__} compiles"
        except Exception as error:  # it may know nothing of a newer NumPy
            yield False, f"Numba {numba.__version__} cannot compile: {error}; change its version"
    if ending := _ending():
        yield False, ending
        return
    host = Host.load()
    for plugin in host.plugins:
        what = plugin.failure or ", ".join(host.added_by(plugin)) or "adds nothing"
        name = f"plugin {plugin.name} ({plugin.distribution} {plugin.version})"
        yield not plugin.failure, f"{name}: {what}"
        for complaint in host.complaints(plugin):
            yield False, f"{name}: {complaint}"
    for registry in host.registries:
        for known in registry:
            try:
                registry[known].load_factory()
            except Exception as error:  # a module may raise anything
                yield is_extra(error), f"{registry.kind} {known}: {naming_extra(error)}"
    catalog = read_suites(host)
    yield from ((False, str(problem)) for problem in catalog.problems)
    for suite in catalog.suites.values():
        tasks = f"{count(len(suite.tasks), 'task')}, budgets {', '.join(suite.budgets)}"
        methods = count(len(suite.methods), "method")
        yield bool(suite.methods), f"suite {suite.name}: {methods}, {tasks}"
    existed = out.exists()
    try:
        note = Store(out).prepare()
    except UqbenchError as error:
        yield False, str(error)
    else:
        free = shutil.disk_usage(out).free / 2**30
        if not existed:
            shutil.rmtree(out)  # with what this command has just written
        yield True, f"results can be written to {out}/ ({free:.0f} GiB free)"
        locks = f"{note}; runs are locked by leases" if note else "flock excludes two processes"
        yield True, f"locks in {out}/: {locks}"


LOAD = """
import logging
from uqbench.registry.plugins import Host
logging.basicConfig(format="%(message)s")
logging.getLogger("uqbench").setLevel(logging.DEBUG)
Host.load()
"""
LOAD_SECONDS = 60.0


def _ending() -> str:
    """The sentence on a process that dies while it imports all plugins, or nothing."""
    command = [sys.executable, "-P", "-c", LOAD]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        said, how = error.stderr, f"does not end within {LOAD_SECONDS:.0f} s"
    else:
        said, how = done.stderr, f"ends with status {done.returncode}"
        if not done.returncode or b"Traceback" in said:  # it is told below
            return ""
    lines = (said or b"").decode(errors="replace").splitlines()
    last = [line for line in lines if line.startswith("importing ")][-1:] or ["loading plugins"]
    return (
        f"a process {how} while {last[0]}; uninstall it, or name the plugins to load without it in "
        f"UQBENCH_PLUGINS"
    )
