"""Finished runs that were made by a different version of the code: reported, or made again.

A run's identity has the versions that authors state, not digests of files: an edit without a new
version changes no identity. Each record has the digests of its packages, which are compared here.
"""

from collections.abc import Iterable
from functools import cache

from uqbench.contract.errors import Say, see
from uqbench.contract.identity import Run
from uqbench.contract.wording import count
from uqbench.registry.contents import content_hash
from uqbench.registry.local import PREFIX
from uqbench.results.earlier import move_earlier
from uqbench.results.states import RunState, StoredRun
from uqbench.results.store import Store
from uqbench.runner.states import stored_states
from uqbench.suites.plan import Plan


def other_code(stored: StoredRun) -> tuple[str, ...]:
    """The packages whose contents were others when a finished run was made, or that are gone.

    A local plugin is not among them: the digest of its file is part of its identity.
    """
    if stored.state is not RunState.FINISHED or stored.provenance is None:
        return ()
    return _changed(tuple(stored.provenance.content.items()))


@cache
def _changed(content: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The same of a record's contents, which many runs have in common."""
    return tuple(
        package
        for package, then in content
        if not package.startswith(PREFIX) and installed_content(package) != then
    )


@cache
def installed_content(package: str) -> str | None:
    """The digest of a package's contents; None where it is not installed."""
    try:
        return content_hash(package)
    except ModuleNotFoundError:
        return None


def code_note(states: Iterable[StoredRun]) -> str:
    """How many finished runs were made with other code, and which; empty where none was."""
    changed = [packages for state in states if (packages := other_code(state))]
    if not changed:
        return ""
    names = sorted({name for packages in changed for name in packages})
    return (
        f"Made with different code than is installed: {count(len(changed), 'finished run')} "
        f"({', '.join(names)}); --rerun makes them again, and keeps these."
        f"{see('other-code')}"
    )


def make_room(plan: Plan, store: Store, say: Say) -> list[Run]:
    """Move a plan's finished runs of other code to a store of their own; return them."""
    older = [run for run, stored in stored_states(plan, store).items() if other_code(stored)]
    root, moved = move_earlier(store, older, lambda stored: bool(other_code(stored)))
    if moved:
        say(
            f"Kept in {root}: {count(len(moved), 'finished run')} of other code than is installed; "
            f"made again."
        )
    return moved
