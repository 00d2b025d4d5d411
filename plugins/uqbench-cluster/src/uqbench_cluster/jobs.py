"""States of the orders in a results folder: only this user's own executors are asked."""

from collections import Counter
from pathlib import Path

from uqbench.contract.errors import contained
from uqbench.contract.executor import JobState, Order
from uqbench.contract.wording import count
from uqbench.registry.plugins import Host
from uqbench.runner.drive import Where
from uqbench_cluster.drive import ClusterDriver
from uqbench_cluster.orders import stored_orders


def jobs(out: Path) -> list[str]:
    """Sentences on the jobs that were submitted: how many are in which state, and why.

    An executor is made, and asked, for orders whose files are this user's own. For others, and
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
                driver = ClusterDriver(Where(*orders[0].place), host, out)
                for job in driver.status(orders).values():
                    text = f"{job.state.value}: {job.note}".rstrip(": ")
                    said[text] += job.state is not JobState.ENDED
        sentences += [f"{count(len(orders), 'order')} of {name}, {one}." for one in why]
    return [*(f"{count(number, 'job')} {text}" for text, number in (+said).items()), *sentences]
