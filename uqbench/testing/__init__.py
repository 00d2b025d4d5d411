"""Checks of what an author writes: ``uqbench.testing.check(Mine)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uqbench.testing.conformance.check import Result


def check(what: type[Any] | str, only: str = "") -> list[Result]:
    """Check a class, or what a package registers, against the rules of conformance.

    Args:
        what: a class; ``"FILE.py:CLASS"``; the name of an installed plugin or its distribution; or
            ``"DISTRIBUTION:NAME"`` of one thing that it registers.
        only: part of the name of a subject or check; empty for all.

    Returns:
        The results of all checks.

    Raises:
        AssertionError: a required rule is broken.
        UqbenchError: there is no such thing, or nothing of it could be checked.

    Example:
        >>> from uqbench import testing
        >>> testing.check(MyAgent)  # doctest: +SKIP
    """
    from uqbench.testing.results import check_plugin, target

    results = check_plugin(*target(what), only)
    broken = [str(r) for r in results if not r.ok and r.check.level == "required"]
    if broken:
        raise AssertionError("\n\n".join(broken))
    return results
