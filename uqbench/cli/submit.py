"""``uqbench submit``: finished runs in one file, for a board of others."""

from uqbench.api.options import Options
from uqbench.cli.options import File, takes
from uqbench.cli.terminal import say, warn
from uqbench.contract.errors import UqbenchError


@takes("suite", "budget", "methods", "out")
def command(options: Options, *, to: File | None = None) -> int:
    """Put scores, manifest, versions and conformance of methods into one file.

    Their runs must be done, with the code that is installed, and their plugins pass the required
    checks, which are made now. CONTRIBUTING.md says how the file becomes a row.

    \b
    Example:
      uqbench submit --suite minatar --budget paper --methods mine

    Args:
        to: The file; SUITE-BUDGET-METHODS.zip by default.
    """
    from uqbench.api.experiment import Experiment
    from uqbench.runner.display import Terminal

    if options.methods is None:
        raise UqbenchError("expected --methods A,B: those whose rows are sent.")
    made = Experiment(options, Terminal(), warn).submit(to)
    say(f"{made.path}: {made.path.stat().st_size / 1e6:.1f} MB, sha256 {made.digest}")
    say(f"next: uqbench verify {made.path} --sample 1 makes one of its runs again", err=True)
    return 0
