"""What is done, running and failed in a results folder, as its files say: nothing is started.

Of the jobs that were submitted, only this user's own executors are asked.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from uqbench.api.values import Place, given
from uqbench.contract.errors import contained
from uqbench.contract.executor import JobState, Order
from uqbench.contract.wording import count
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.runner.dispatch.drive import Driver
from uqbench.runner.dispatch.event_log import Latest, latest_steps
from uqbench.runner.dispatch.orders import Where, stored_orders
from uqbench.runner.resume import saved_step


def status(out: Place = "results") -> list[dict[str, Any]]:
    """The state of each run, with the reason and the time left: ``uqbench status --json``.

    Args:
        out: the results folder.

    Example:
        >>> import pandas, uqbench
        >>> pandas.DataFrame(uqbench.status("results"))  # doctest: +SKIP
    """
    folder = Path(given("out", out, Place))
    store, running = Store(folder), latest_steps(folder)
    return [run_status(folder, stored, store, running) for folder, stored in store.records()]


def summary(out: Path) -> tuple[dict[str, Counter[str]], list[dict[str, Any]]]:
    """How many runs of each cell are in which state, and the status of the unfinished ones."""
    store, running, unfinished = Store(out), latest_steps(out), []
    cells: dict[str, Counter[str]] = {}
    for place, stored in store.states():
        cells.setdefault(place.rpartition("/")[0], Counter())[stored.state.said] += 1
        if stored.state is not RunState.FINISHED:
            unfinished.append(run_status(PurePosixPath(place), stored, store, running))
    return cells, unfinished


def run_status(
    folder: PurePosixPath, stored: StoredRun, store: Store, running: Mapping[str, Latest]
) -> dict[str, Any]:
    """A run's folder, state, reason, step, steps, step of its checkpoint, and seconds left."""
    record = stored.record
    entry: dict[str, Any] = {
        "run": str(folder), "state": stored.state.said, "reason": stored.reason, "step": None,
        "steps": None, "checkpoint_step": None, "seconds_left": None,
    }  # fmt: skip
    if record is not None:
        steps = record.identity["budget"]["steps"]
        entry |= {"step": record.step, "steps": steps, "checkpoint_step": saved_step(record, store)}
        latest = running.get(str(folder))
        if record.status == "running" and latest is not None:
            entry["step"] = max(record.step, latest.step)
            entry["seconds_left"] = latest.seconds_left
    return entry


def jobs(out: Path) -> list[str]:
    """Sentences on the jobs that were submitted: how many are in which state, and why.

    An executor is made, and asked, for orders whose files are this user's own. Of others, and
    where it cannot be made or asked here, a sentence says so.
    """
    by_place: dict[tuple[str, bool], list[Order]] = {}
    for order, own in stored_orders(out):
        by_place.setdefault((repr(order.place), own), []).append(order)
    host = Host.load() if any(own for _, own in by_place) else Host()
    said, sentences = Counter[str](), list[str]()
    for (_, own), orders in by_place.items():
        name = orders[0].place[0]
        why: list[str] = []
        if not own:
            why = ["which others wrote or may write: it was not asked"]
        elif name not in host.executors:
            why = ["which is not installed here"]
        elif not host.executors[name].elsewhere:
            why = ["which takes no orders"]
        else:
            with contained(why.append, "which cannot be asked: "):
                driver = Driver(Where(*orders[0].place), host, out)
                for job in driver.status(orders).values():
                    text = f"{job.state.value}: {job.note}".rstrip(": ")
                    said[text] += job.state is not JobState.ENDED
        sentences += [f"{count(len(orders), 'order')} of {name}, {one}." for one in why]
    return [*(f"{count(number, 'job')} {text}" for text, number in (+said).items()), *sentences]
