"""``uqbench try``: one class of a Python file on a suite, beside stored rows; nothing is kept."""

from __future__ import annotations

import json
import signal
import tempfile
from pathlib import Path
from typing import Any

import click

from uqbench.cli.options import (
    Selection,
    budget_option,
    device_option,
    json_option,
    load_host,
    names,
    seeds_option,
    steps_option,
    suite_option,
    tasks_option,
    workers_option,
)
from uqbench.cli.terminal import say, warn
from uqbench.errors import UqbenchError
from uqbench.suites.variants import setting


@click.command()
@click.argument("what", metavar="FILE[:CLASS]")
@suite_option()
@budget_option
@tasks_option
@seeds_option
@steps_option
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A value of the class's config, e.g. learning_rate=1e-4; may be repeated.",
)
@click.option(
    "--beside",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="BOARDS",
    help="Show its row in the leaderboard that is stored below this folder.",
)
@device_option
@workers_option
@json_option
def command(
    what: str,
    suite: str,
    budget: str | None,
    tasks: str | None,
    seeds: int | None,
    steps: int | None,
    settings: tuple[str, ...],
    beside: Path | None,
    device: str,
    workers: int | None,
    as_json: bool,
) -> int:
    """Train a class of a Python file on a suite, and print its row.

    The class derives from Agent, LoopAgent or Estimator; its constructor's parameter config is
    annotated with a dataclass if there is something to set. No package is needed, and nothing is
    kept; runs of a method that uqbench.register or a package adds are. The row is marked "local".

    \b
    Examples:
      uqbench try mine.py --suite windy-cliff --budget smoke
      uqbench try mine.py:Mine --suite minatar --budget quick --beside leaderboards
    """
    from uqbench.boards.leaderboard import board
    from uqbench.boards.with_stored import read_reference
    from uqbench.config import resolve
    from uqbench.registry import local
    from uqbench.results.store import RunState, Store
    from uqbench.runner.complete import Execution, complete
    from uqbench.runner.device import find_device
    from uqbench.runner.dispatch.drive import Driver, Where
    from uqbench.runner.display import Terminal
    from uqbench.views.terminal import print_board

    path, _, attribute = what.partition(":")
    values = _settings(settings)
    method, kind_of_method = local.add_class(Path(path), attribute or None, suite, values)
    host = load_host()
    known = host.agents if kind_of_method == "agent" else host.estimators
    resolve(known[method].load_config(), values, where=what, risk_names=host.risk_names)
    kind = find_device(device)
    chosen = None if seeds is None else tuple(range(seeds))
    selection = Selection(suite, budget, (method,), names(tasks), chosen, steps)
    plan = selection.plan(host, kind)
    stored = None
    if beside is not None:
        stored = read_reference(selection, plan, host, beside, warn)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # how a scheduler interrupts
    with tempfile.TemporaryDirectory(prefix="uqbench-try-") as temporary:
        store = Store(Path(temporary))
        store.prepare()
        driver = Driver(Where(checkpoint_seconds=0.0), host, store.root)
        execution = Execution(host, kind, store, Terminal(), workers, driver, kept=False)
        states = complete(plan, execution)
        result = board(plan, store) if stored is None else stored.with_runs(plan, store)
        if as_json:
            click.echo(json.dumps(result.rows(), indent=1, allow_nan=False))
        else:
            print_board(result)
        wrong = [run for run, state in states.items() if state is not RunState.FINISHED]
        for run in wrong:
            say(f"{run.name}: {store.read(run.folder).reason}", err=True)
    return 1 if wrong else 0


def _settings(assignments: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not (equals and key):
            raise UqbenchError(
                f"--set {assignment}: expected KEY=VALUE, e.g. learning_rate=0.001: the class is "
                f"named already."
            )
        found[key] = setting(value)
    return found
