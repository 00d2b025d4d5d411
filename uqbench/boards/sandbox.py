"""Where a stranger's method runs: a process of its own, in bubblewrap where it is installed.

There it has no network, no other process to look at, a file system that can be read only, an empty
``/tmp``, and an empty folder in place of the one of the submission: neither file, argument nor
environment says that its runs will be compared with anything.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from uqbench.contract.errors import UqbenchError

NO_SANDBOX = (
    "there is no bubblewrap (bwrap) here that works: the methods run with the network and all "
    "files that you can read, and can find out that they are verified"
)
HIDDEN = ("_", "OLDPWD", "PYTEST_CURRENT_TEST")
"""Variables in which a shell and pytest say which command was called."""


@cache
def has_sandbox() -> bool:
    """Whether processes can be isolated here."""
    if shutil.which("bwrap") is None:
        return False
    test = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    return subprocess.run(test, check=False, capture_output=True).returncode == 0


@contextmanager
def results_folder(out: Path | None) -> Iterator[Path]:
    """A folder for runs that are made again; one that is removed where ``out`` is None."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):  # what is there would not be made again
            raise UqbenchError(f"{out} is not empty: name a new folder for the repeated runs.")
        yield out.absolute()
        return
    with tempfile.TemporaryDirectory() as folder:  # whose name says nothing
        yield Path(folder)


def call(arguments: Sequence[str], out: Path, hidden: Sequence[Path] = ()) -> str:
    """Call uqbench in a process of its own, isolated where that can be; return its stdout.

    Args:
        arguments: of the command line; ``--out`` must be ``out``.
        out: the only folder that it may write to.
        hidden: files that it must not see.

    Raises:
        UqbenchError: it ended otherwise than with 0 or 1.
    """
    command = [sys.executable, "-P", "-m", "uqbench", *arguments]
    if has_sandbox():
        command = [*_isolated(out, hidden), *command]
    own = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    path = os.pathsep.join(filter(os.path.isabs, sys.path))  # the same packages are found
    done = subprocess.run(
        command, check=False, cwd=out, env=own | {"PYTHONPATH": path}, stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise UqbenchError(
            f"uqbench {' '.join(arguments[:1])} of the submitted methods ended with exit code "
            f"{done.returncode}; what it said is above."
        )
    return done.stdout


def _isolated(out: Path, hidden: Sequence[Path]) -> list[str]:
    """The beginning of a command line of bubblewrap."""
    empty: list[str] = []
    needed = [sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)]  # by Python
    for path in (Path(tempfile.gettempdir()), *(path.absolute().parent for path in hidden)):
        if not any(Path(used).is_relative_to(path) for used in needed):
            empty += ["--tmpfs", str(path)]
    for path in hidden:  # in a folder that is needed
        if f"{path.absolute().parent}" not in empty:
            empty += ["--ro-bind", os.devnull, str(path.absolute())]
    return [
        "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *empty,
        "--bind", str(out), str(out), "--unshare-all", "--die-with-parent", "--new-session",
        "--chdir", str(out),
    ]  # fmt: skip
