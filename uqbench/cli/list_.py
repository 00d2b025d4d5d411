"""``uqbench list``: what is installed."""

from typing import Any

from uqbench.api.installed import Kind, listing
from uqbench.api.values import Name
from uqbench.cli.options import takes
from uqbench.cli.terminal import print_json, say, warn
from uqbench.contract.errors import unknown


@takes(names={"kind": "KIND", "suite": "SUITE"})
def command(kind: Kind | None = None, suite: Name | None = None, *, as_json: bool = False) -> None:
    """List suites, methods, plugins and the like.

    KIND is suites, tasks, methods, claims, agents, estimators, environments, datasets, risks,
    scores, claim-kinds or plugins; without one, how many there are of each. Suites, tasks, methods
    and claims may be those of one SUITE.

    \b
    Example:
      uqbench list agents
      uqbench list methods deepsea

    Args:
        as_json: Print JSON.
    """
    from uqbench.pages.suites import print_suites
    from uqbench.registry.packages import TRAINS

    listed = listing(kind, warn)
    if kind is not None and suite is not None:
        known = {entry["name"].split("/")[0] for entry in listed[kind]}
        if suite not in known:
            raise unknown("suite", suite, known, f"The list of {kind} has")
        own = [entry for entry in listed[kind] if entry["name"].split("/")[0] == suite]
        listed = {kind: own}
    if as_json:
        print_json(listed[kind] if kind else listed)
    elif kind is None:
        say(*(f"{len(entries):7,}  uqbench list {each}" for each, entries in listed.items()))
    elif kind == "suites" and listed[kind]:
        print_suites(listed[kind])
    else:
        say(*map(_line, listed[kind] or [{"name": f"(none): {TRAINS}"}]))


def _line(entry: dict[str, Any]) -> str:
    parts = [str(entry["name"])]
    for key, value in entry.items():
        if key != "name" and value:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            parts.append(text if key in ("summary", "version") else f"[{key}: {text}]")
    return "  ".join(parts)
