"""``uqbench verify``: make the runs of a submitted row, and add it to a board."""

from typing import Annotated

from uqbench.api.values import AmountOrNone
from uqbench.cli.options import FileThere, Folder, takes
from uqbench.cli.terminal import print_json, say, warn


@takes(suite=False, names={"submission": "SUBMISSION", "wheel": "WHEEL"})
def command(
    submission: FileThere,
    wheel: FileThere,
    *,
    add: Folder | None = None,
    hours: AmountOrNone = 24.0,
    index: Annotated[str | None, "URL"] = None,
    require_sandbox: bool = False,
    as_json: bool = False,
) -> int:
    """Rerun a submission, and add it to a board.

    SUBMISSION is what uqbench submit made, WHEEL the package of its method, which is installed
    into a new environment; it is imported here, too. Its runs are made in bubblewrap where that is
    installed. With --add they are a row of a stored board, "verified", or "verified (no sandbox)";
    where they would cost more than --hours, the author's are, "self-reported". Exits with 1 where
    the row is refused.

    \b
    Example:
      uqbench verify minatar-paper-mine.json mine-1.0-py3-none-any.whl --add leaderboards

    Args:
        add: Add the row to the leaderboard that is stored below this folder.
        hours: Hours of a core that the runs may cost; 0 runs nothing.
        index: Package index that may be asked for what the package needs; without, none is asked.
        require_sandbox: Run nothing where there is no bubblewrap that works.
        as_json: Print JSON.
    """
    from uqbench_keeper.api import verify

    row, added = verify(submission, wheel, add, hours, index, warn, require_sandbox)
    if as_json:
        print_json({**row.word.model_dump(), "refused": row.refused})
    else:
        say(f"refused: {row.refused}" if row.refused else f"{row.word.state}: {row.word.says}")
    if add is not None:
        say(f"{added or submission}: {'added' if added else 'not added'}", err=as_json)
    return 1 if row.refused else 0
