"""``uqbench tune``: try the settings of a suite's methods, and write the table of their scores."""

from dataclasses import replace

from uqbench.api.options import Options
from uqbench.api.values import Name
from uqbench.cli.options import PLACE, File, takes
from uqbench.cli.terminal import say, warn


@takes(
    "methods", "settings", "plugins", *PLACE, "device", "workers", "out",
    names={"suite": "SUITE"},
)  # fmt: skip
def command(suite: Name, options: Options, *, dry_run: bool = False, to: File | None = None) -> int:
    """Try the settings that a suite names.

    On seeds that no board uses. The runs are those of the budget "tuning" and behave as any others:
    what is finished is not run again. SUITE.tuning.csv gets the score and the cost of every
    setting; a budget that is tuned takes the chosen ones from there. A method of yours is tried
    with the suite's search space, if it has these fields, or with what --set names.

    \b
    Examples:
      uqbench tune testbed --dry-run
      uqbench tune testbed --methods deep-ensemble,swag
      uqbench tune testbed --methods mine.py:Mine --set mine.weight_decay=0,1e-4,1e-3,1e-2,0.1,1

    Args:
        dry_run: Say what would run, and stop.
        to: The table; by default beside the suite's file, or beside yours.
    """
    from uqbench.api.execute import dry_run as preview
    from uqbench.cli.run import show_cost
    from uqbench.runner.display import Terminal
    from uqbench_leaderboard.tune import search, tune

    options = replace(options, suite=suite)
    if dry_run:
        show_cost(preview(search(options, say=warn)))
        return 0
    done = tune(options, to, Terminal(), warn)
    if done is None:
        return 0
    for method, of in done.tuned.items():
        score = f"{of.means[of.setting]:.3f}, sensitivity {of.sensitivity:.3f}"
        say(f"{method}[{of.setting}]: {score}; {of.words}")
    say(*(f"failed: {run}: {reason}" for run, reason in done.failed.items()), err=True)
    say(*map(str, done.tables))
    return 1 if done.failed else 0
