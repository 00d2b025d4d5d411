"""``uqbench demo``: six methods on two small worlds, and whose intervals can be trusted."""

from pathlib import Path

from uqbench.api.options import Options
from uqbench.cli.options import takes
from uqbench.cli.terminal import say, warn


@takes("out")
def command(options: Options) -> int:
    """Rank six exploration methods on DeepSea, and check what they say that they know.

    About a minute on two cores: ten seeds of the budget demo of the suite deepsea, as uqbench run
    --suite deepsea --budget demo makes them.

    \b
    Example:
      uqbench demo
    """
    from uqbench.api.execute import execute
    from uqbench.api.report import can_report, write_report
    from uqbench.api.session import Session
    from uqbench.pages.terminal import print_board
    from uqbench.runner.display import Terminal

    out = Path(options.out or "results")
    demo = Options("deepsea", "demo", out=out, device="cpu")
    done = execute(Session(demo, Terminal(), warn))
    assert done.board is not None
    assert done.folder is not None
    print_board(done.board)
    if can_report():
        say(f"report: {write_report(done.folder, out / 'demo.html', warn)} (open it)")
    return 1 if done.unfinished else 0
