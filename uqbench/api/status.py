"""States of the runs in a results folder, as its files say: nothing is started."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uqbench.api.values import Place, given
from uqbench.contract.executor import ORDERS
from uqbench.contract.wording import count
from uqbench.registry.packages import DRIVERS, brought, missing
from uqbench.results.folders import Folder
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.runner.resume import saved_step
from uqbench.runner.step_log import Latest, latest_steps


def status(out: Place = "results") -> list[dict[str, Any]]:
    """The state of each run, with the reason and the time left: ``uqbench status --json``.

    Args:
        out: the results folder.

    Returns:
        A dictionary a run: its folder, state, reason, steps and seconds left.

    Raises:
        UqbenchError: the folder cannot be read.

    Example:
        >>> import pandas, uqbench
        >>> pandas.DataFrame(uqbench.status("results"))  # doctest: +SKIP
    """
    folder = Path(given("out", out, Place))
    store, running = Store(folder), latest_steps(folder)
    return [run_status(place, stored, store, running) for place, stored in store.walk()]


def summary(out: Path) -> tuple[dict[str, Counter[str]], list[dict[str, Any]]]:
    """Counts of runs by cell and state, and the status of the unfinished ones."""
    store, running, unfinished = Store(out), latest_steps(out), []
    cells: dict[str, Counter[str]] = {}
    for place, stored in store.walk(records=False):
        cells.setdefault(place.rpartition("/")[0], Counter())[stored.state.said] += 1
        if stored.state is not RunState.FINISHED:
            unfinished.append(run_status(place, stored, store, running))
    return cells, unfinished


def run_status(
    place: str, stored: StoredRun, store: Store, running: Mapping[str, Latest]
) -> dict[str, Any]:
    """A run's folder, state, reason, step, steps, step of its checkpoint, and seconds left."""
    record = stored.record
    entry: dict[str, Any] = {
        "run": place, "state": stored.state.said, "reason": stored.reason, "step": None,
        "steps": None, "checkpoint_step": None, "seconds_left": None,
    }  # fmt: skip
    if record is not None:
        steps = record.identity["budget"]["steps"]
        entry |= {"step": record.step, "steps": steps, "checkpoint_step": saved_step(record, store)}
        latest = running.get(place)
        if record.status == "running" and latest is not None:
            entry["step"] = max(record.step, latest.step)
            entry["seconds_left"] = latest.seconds_left
    return entry


def jobs(out: Path) -> list[str]:
    """Sentences on the jobs that were submitted, by the package that submits them."""
    if not (orders := Folder(out, (ORDERS,)).names_of("json")):
        return []
    if (asked := brought(DRIVERS).get("jobs")) is None:
        return [f"{count(len(orders), 'order')}: {missing(DRIVERS, 'orders')}"]
    sentences: list[str] = asked.load()(out)
    return sentences
