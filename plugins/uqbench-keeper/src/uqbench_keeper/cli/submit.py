"""``uqbench submit``: scores of finished runs in one file, for a board of others."""

from uqbench.api.options import Options
from uqbench.cli.options import File, FileThere, takes
from uqbench.cli.terminal import say


@takes("suite", "budget", "methods", "out", names={"wheel": "WHEEL"})
def command(options: Options, wheel: FileThere, *, to: File | None = None) -> int:
    """Write a method's scores as a submission.

    One file, with the digest of the method's package. WHEEL is the package's. The runs must be
    done, with the code that is installed, and the method pass the required checks, which are made
    now: a minute or so. CONTRIBUTING.md says how the file becomes a row.

    \b
    Example:
      pip wheel --no-deps --wheel-dir dist .
      uqbench submit dist/mine-1.0-py3-none-any.whl --suite minatar --budget paper --methods mine

    Args:
        to: The file; SUITE-BUDGET-METHOD.json by default.
    """
    from uqbench_keeper.api import submit

    path, digest = submit(options, wheel, to)
    say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, sha256 {digest}")
    say(f"next: uqbench verify {path} {wheel} makes its runs, as those who get it will", err=True)
    return 0
