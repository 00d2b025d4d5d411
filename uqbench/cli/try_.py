"""``uqbench try``: one class of a Python file on a suite, beside stored rows; nothing is kept."""

from dataclasses import replace
from typing import Annotated

from uqbench.api.options import Options
from uqbench.cli.options import FolderThere, assigned, takes
from uqbench.cli.terminal import print_json, say, warn
from uqbench.suites.variants import setting


@takes(
    "suite", "budget", "tasks", "seeds", "steps", "device", "workers",
    names={"what": "FILE[:CLASS]|DISTRIBUTION:NAME", "settings": "--set"},
)  # fmt: skip
def command(
    what: str,
    options: Options,
    *,
    settings: tuple[Annotated[str, "KEY=VALUE"], ...] = (),
    beside: FolderThere | None = None,
    as_json: bool = False,
) -> int:
    """Train a class of yours, and print its row.

    Beside the rows of a suite. The class, of a Python file or installed, derives from Agent,
    LoopAgent or Estimator; its constructor's parameter config is annotated with a dataclass if
    there is something to set. No package is needed, and nothing is kept; uqbench run --methods
    mine.py:Mine keeps its runs. The row is marked "local".

    \b
    Examples:
      uqbench try mine.py --suite windy-cliff --budget smoke
      uqbench try mine.py:Mine --suite minatar --budget quick --beside leaderboards
      uqbench try my-lab:mine --suite windy-cliff

    Args:
        settings: A value of the class's config, e.g. learning_rate=1e-4; may be repeated.
        beside: Show its row in the leaderboard that is stored below this folder.
        as_json: Print JSON.
    """
    from uqbench.api.execute import execute
    from uqbench.api.session import Session
    from uqbench.contract.config import resolve
    from uqbench.pages.learning import NONE, learned
    from uqbench.pages.terminal import print_board
    from uqbench.registry import named
    from uqbench.runner.display import Terminal

    example = "KEY=VALUE, e.g. learning_rate=0.001: the class is named already."
    values = {key: setting(value) for key, value in assigned("--set", settings, example)}
    method, kind = named.add(what, filter(None, [options.suite]), **values)
    options = replace(options, methods=(method,), out=None)
    session = Session(options, Terminal(), warn)
    host = session.host
    known = host.agents if kind == "agent" else host.estimators
    resolve(known[method].load_config(), values, where=what, risk_names=host.risk_names)
    done = execute(session, beside=beside)
    assert done.board is not None
    told = learned(done.board).get(method, "")
    if as_json:
        print_json(done.board.rows())
    elif NONE not in told:
        planned = done.board.planned.model_copy(update={"methods": ()})  # others are not asked for
        print_board(replace(done.board, planned=planned))
    if as_json or NONE in told:  # else the board has said it
        say(*filter(None, [told]), err=as_json)
    if named.is_file(what):
        say(f"Check it against the contract's rules: uqbench plugin check {what}", err=True)
    return 1 if done.unfinished or NONE in told else 0
