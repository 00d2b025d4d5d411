"""Checks of what an author writes: ``uqbench.testing.check(Mine)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uqbench_testing.conformance.check import Result


def check(what: object, only: str = "") -> list[Result]:
    """Check a class, or what a package registers, against the rules of conformance.

    Args:
        what: a class, also of a notebook's cell; an instance of a risk measure, a kind of claim or
            a data set; ``"FILE.py:CLASS"``; the name of an installed plugin or its distribution; or
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
    from uqbench_testing.conformance.subjects import instance
    from uqbench_testing.results import check_plugin, results, target

    if isinstance(what, type | str):
        made = check_plugin(*target(what), only)
    else:
        made = results([instance(what)], only)
    broken = [str(r) for r in made if not r.ok and r.check.level == "required"]
    if broken:
        raise AssertionError("\n\n".join(broken))
    return made
