"""Rows for the boards of others: sent, made again, and added."""

from hashlib import sha256
from pathlib import Path

from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.pages.board_folders import all_files, write_files
from uqbench.registry.load_host import load_host
from uqbench.results.files import read_bytes
from uqbench.results.folders import Folder
from uqbench.suites.selection import Selection
from uqbench_keeper.make import MOST_BYTES, read_submission
from uqbench_keeper.make import submit as write_submission
from uqbench_keeper.sandbox import NO_SANDBOX, environment, has_sandbox
from uqbench_keeper.verify import SubmittedRow
from uqbench_keeper.verify import add as add_row
from uqbench_keeper.verify import verify as make_row


def submit(options: Options, wheel: Path, to: Path | None = None) -> tuple[Path, str]:
    """Put the scores of a method into a file, with its package's digest; return file and sha256.

    Args:
        options: which runs.
        wheel: of the package that has the method.
        to: the file; None for one that is named after suite, budget and method.

    Raises:
        UqbenchError: the file exists, runs are missing or of other code, the method is not of the
            wheel's package, or breaks a required rule.
    """
    session = Session(options)
    plan = session.plan()
    method, *others = plan.roles
    if others:
        raise UqbenchError("expected --methods with the one whose row is sent.")
    path = to or Path(f"{plan.suite.name}-{plan.budget_name}-{method}.json")
    if path.exists():
        raise UqbenchError(f"{path} exists; nothing is overwritten: name another file with --to.")
    return path, write_submission(plan, session.host, session.store, wheel, path)


def verify(
    path: Path, wheel: Path, add: Path | None = None, hours: float = 24.0,
    index: str | None = None, say: Say = warn, require_sandbox: bool = False,
) -> tuple[SubmittedRow, Path | None]:  # fmt: skip
    """Make the runs of a submission's row, and add it to a board; return that if it was done.

    The package is imported here, too, once it is installed: to plan the runs, and for the board.

    Args:
        path: of the file that :func:`submit` wrote.
        wheel: of the package, with the digest that the file names.
        add: folder of leaderboards; the row joins the stored one unless it is refused.
        hours: of a core, that it may cost; a row that costs more stays self-reported.
        index: URL of the package index that may be asked for what the package needs.
        say: called with the price, before anything runs.
        require_sandbox: whether nothing runs where there is none.

    Raises:
        UqbenchError: there is to be a sandbox and is none, a file is damaged, the package cannot be
            installed or run, or the board has such a row already.
    """
    if require_sandbox and not has_sandbox():
        raise UqbenchError(f"{NO_SANDBOX}; install bubblewrap, or leave --require-sandbox out.")
    sent, file = read_submission(path)
    if sha256(read_bytes(wheel, MOST_BYTES)).hexdigest() != sent.wheel:
        raise UqbenchError(f"{wheel} is not the wheel whose sha256 {path} names: {sent.wheel}.")
    with environment(wheel, index) as folder:
        host = load_host(say)
        plan = Selection(sent.suite, sent.budget, (sent.method,)).plan(host, "cpu", say)
        row = make_row(sent, file, plan, host, folder, hours, say)
        if add is None or row.refused:
            return row, None
        at, board, recorded = add_row(row, host, Folder(add), say)
        write_files(all_files(board, recorded), at, host)
        return row, at.path
