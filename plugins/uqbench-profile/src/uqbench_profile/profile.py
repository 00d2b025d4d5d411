"""A profile from Python: what a method's uncertainty is good for."""

from typing import Any

from uqbench.api.execute import execute
from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError
from uqbench.contract.figure import Figure
from uqbench.plots.catalog import draw
from uqbench.registry import local
from uqbench.runner.display import Terminal


@local.joined()
def profile(method: str | type, budget: str | None = None, **options: Any) -> Figure:
    """Run the suite ``profile`` for one method, and show its strengths by capability.

    Finished runs are not run again.

    Args:
        method: the name of one of its methods, or a class of a file, ``"mine.py:Mine"``, which
            joins it; or that class.
        budget: name of the budget; None for ``quick``, a few minutes.
        options: of :class:`~uqbench.api.options.Options`, such as ``out``, where runs are stored.

    Returns:
        The picture, which a notebook shows; its numbers are ``figure.data``.

    Raises:
        UqbenchError: a name is unknown, a value is wrong, or a run failed.

    Example:
        >>> import uqbench
        >>> uqbench.profile("mine.py:Mine").data  # doctest: +SKIP
    """
    session = Session(Options.of("profile", budget, methods=[method], **options), Terminal())
    done = execute(session)
    for run, reason in done.unfinished.items():
        raise UqbenchError(f"{run.name} did not finish: {reason}")
    if done.folder is None:
        raise UqbenchError("a profile is drawn from a board: say by 'out' where it is kept.")
    name = done.plan.cells[0].method.name
    board = StoredBoard.read(done.folder)
    figure: Figure = draw(board, f"profile-{name}"[:60], done.plan.suite, session.host)
    return figure
