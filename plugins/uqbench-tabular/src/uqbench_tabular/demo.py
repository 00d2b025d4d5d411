"""``uqbench demo``: five methods in two hundred worlds, and whose intervals can be trusted."""

from pathlib import Path

from uqbench.api.options import Options
from uqbench.cli.options import takes
from uqbench.cli.terminal import say, warn


@takes("out")
def command(options: Options) -> int:
    """Rank five methods, and check their intervals.

    A minute of core time: the budget demo of the suite drawn-worlds, a new world for each of 200
    seeds, as uqbench run --suite drawn-worlds makes them.

    \b
    Example:
      uqbench demo
    """
    import uqbench
    from uqbench.api.execute import execute
    from uqbench.api.session import Session
    from uqbench.boards.stored import StoredBoard
    from uqbench.pages.methods import entitled
    from uqbench.pages.terminal import print_board
    from uqbench.registry.packages import can_report
    from uqbench.runner.display import Terminal

    out = Path(options.out or "results")
    demo = Options("drawn-worlds", "demo", out=out, device="cpu")
    session = Session(demo, Terminal(), warn)
    done = execute(session)
    assert done.board is not None
    assert done.folder is not None
    print_board(done.board, titled=entitled(StoredBoard.read(done.folder), session.host))
    if can_report():
        say(f"report: {uqbench.write_report(done.folder, out / 'demo.html', warn)} (open it)")
    return 1 if done.unfinished else 0
