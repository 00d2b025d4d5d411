"""``uqbench doctor``: is everything here that a run needs?"""

from __future__ import annotations

import os
import platform
from importlib import import_module
from pathlib import Path

import click

from uqbench.cli import terminal
from uqbench.cli.options import load_host, out_option


@click.command()
@out_option
@click.option(
    "--gpu",
    is_flag=True,
    help="Instead: compare this GPU with the CPU and measure its speed, as a page in Markdown.",
)
def command(out: Path, gpu: bool) -> int:
    """Check this installation: Python, torch, devices, plugins, suites, aggregation, disk.

    Exit 1 where something is wrong. With --gpu, a page to paste into an issue: nobody who writes
    uqbench may have a GPU like yours.

    \b
    Examples:
      uqbench doctor
      uqbench doctor --gpu > gpu.md
    """
    import shutil

    import torch

    from uqbench.errors import UqbenchError
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.suites.reading import read_suites

    if gpu:
        return _print_gpu_page()
    wrong = 0

    def say(good: bool, text: str) -> None:
        nonlocal wrong
        wrong += not good
        terminal.say(f"{'ok   ' if good else 'WRONG'}  {text}")

    say(
        True,
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores",
    )
    cuda = torch.cuda.is_available()
    devices = torch.cuda.get_device_name() if cuda else "no CUDA device, runs use the CPU"
    say(True, f"torch {torch.__version__}: {devices}")
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "clang++"))), "")
    say(
        bool(compiler),
        f"C++ compiler: {compiler}"
        if compiler
        else "no C++ compiler: budgets with numerics = 'compiled' need one; install g++",
    )
    try:
        import_module("uqbench.statistics.aggregate")
        from uqbench.statistics.levels import MINIMUM_SEEDS
    except Exception as error:  # any import failure below rliable is what is asked for here
        say(
            False,
            f"aggregation: {type(error).__name__}: {error}; install rliable==1.2.0 with pandas<3",
        )
    else:
        say(True, f"aggregation: rliable imports ({MINIMUM_SEEDS} seeds for an interval)")
    host = Host.load()
    for plugin in host.plugins:
        what = plugin.failure or ", ".join(host.added_by(plugin)) or "adds nothing"
        name = f"plugin {plugin.name} ({plugin.distribution} {plugin.version})"
        say(not plugin.failure, f"{name}: {what}")
        for complaint in host.complaints(plugin):
            say(False, f"{name}: {complaint}")
        if plugin.slow:
            say(False, f"{name}: {plugin.slow}")
    catalog = read_suites(host)
    for problem in catalog.problems:
        say(False, str(problem))
    for suite in catalog.suites.values():
        say(
            bool(suite.methods),
            f"suite {suite.name}: {len(suite.methods)} methods, "
            f"{len(suite.tasks)} tasks, budgets {', '.join(suite.budgets)}",
        )
    try:
        existed = out.exists()
        note = Store(out).prepare()
    except UqbenchError as error:
        say(False, str(error))
    else:
        free = shutil.disk_usage(out).free / 2**30
        if not existed:
            shutil.rmtree(out)  # with what this command has just written
        say(True, f"results can be written to {out}/ ({free:.0f} GiB free)")
        locks = f"{note}; runs are locked by leases" if note else "flock excludes two processes"
        say(True, f"locks in {out}/: {locks}")
    return 1 if wrong else 0


def _print_gpu_page() -> int:
    """Print the page line by line, as it is measured; 1 where the GPU does not do as the CPU."""
    from uqbench.cli.gpu_page import gpu_page
    from uqbench.runner.executors.local import prepare_process

    prepare_process()
    right = True
    for good, line in gpu_page(load_host()):
        right &= good
        terminal.say(*line.split("\n"))
    return 0 if right else 1
