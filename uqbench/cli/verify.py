"""``uqbench verify``: run a sample of stored or submitted runs again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import click

from uqbench.api.options import Options
from uqbench.cli.options import RUNS, FileThere, Folder, FolderThere, takes
from uqbench.cli.terminal import print_json, say, warn
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count

if TYPE_CHECKING:
    from uqbench.api.experiment import Verified
    from uqbench.boards.submission.judge import Findings


@takes(*RUNS, suite=False, names={"boards": "--from"})
def command(
    options: Options,
    bundle: FileThere | None = None,
    *,
    boards: FolderThere | None = None,
    sample: Annotated[int | None, click.IntRange(min=0)] = None,
    new_seeds: Annotated[int | None, click.IntRange(min=2)] = None,
    out: Folder | None = None,
    add: Folder | None = None,
    as_json: bool = False,
) -> int:
    """Rerun a sample of the rows of a board or a submission, and compare the numbers.

    Says of each: same bits; same to the last places; where it was made with another processor,
    version or code: other numbers that are statistically consistent with the repeated runs; or
    statistically inconsistent, and exits with 1.

    Of a file that uqbench submit made, the tables are recomputed, too, and its methods run with
    seeds that no board has. With --add its rows join a stored board, "verified" if that is what
    was found, or "self-reported" with --sample 0. Its methods must be installed: they run here, in
    bubblewrap where it is installed.

    \b
    Examples:
      uqbench verify --suite five-state --budget paper --from leaderboards --sample 3
      uqbench verify minatar-paper-mine.zip --add leaderboards

    Args:
        boards: The folder of leaderboards whose runs are repeated.
        sample: How many rows: of a stored board 5, the same ones each time; of each method of a
            file as many as the word verified needs, drawn anew.
        new_seeds: Of a file: how many runs of each task with seeds that no board has; five runs
            at least.
        out: Keep the repeated runs in this new folder.
        add: Add the file's rows to the leaderboard that is stored below this folder.
        as_json: Print JSON.
    """
    from uqbench.api.experiment import Experiment
    from uqbench.boards.sandbox import NO_SANDBOX, has_sandbox
    from uqbench.runner.display import Terminal

    experiment = Experiment(replace(options, out=out), Terminal(), warn)
    if bundle is not None:
        if boards is not None or options != Options():
            raise UqbenchError(
                f"{bundle} says what it is of: give no --suite, --from or other selection."
            )
        if sample != 0 and not has_sandbox():
            warn(NO_SANDBOX)
        verified = experiment.verify_submission(bundle, sample, add, new_seeds)
        _show(verified, as_json)
        if verified.added is not None:
            say(f"{verified.added}: added", err=as_json)
        elif add is not None:
            say(f"{bundle}: not added.", err=True)
        return 0 if verified.good else 1
    if not options.suite or boards is None:
        raise UqbenchError(
            "expected a file of uqbench submit, or --suite NAME and --from BOARDS of a stored "
            "board; uqbench verify --help has an example of each."
        )
    if add is not None or sample == 0 or new_seeds is not None:
        raise UqbenchError("--add, --new-seeds and --sample 0 are for a file of uqbench submit.")
    verified = experiment.verify(boards, 5 if sample is None else sample)
    _show(verified, as_json)
    return 0 if verified.good else 1


def _say_findings(findings: Findings) -> None:
    say(f"{findings.suite}, budget {findings.budget}: {', '.join(findings.methods)}")
    say(*(f"{name}: differs from what follows from scores.csv" for name in findings.differing))
    if not findings.differing:
        say(f"its tables follow from its {count(findings.rows, 'score')}, byte for byte")
    reported = ", ".join(f"{n} {status}" for status, n in sorted(findings.checks.items()))
    say(f"conformance, as reported: {reported or 'nothing'}", *(f"  {r}" for r in findings.broken))
    if findings.versions:
        say(f"made with other versions: {', '.join(findings.versions)}")


def _show(verified: Verified, as_json: bool) -> None:
    words = {run: one.value for run, one in verified.agreement.items()}
    findings, methods = verified.findings, verified.methods if verified.findings is not None else {}
    if as_json:
        proofs = {
            name: {"verified": of.verified, "proves": of.sentence, "bars": list(of.bars)}
            for name, of in methods.items()
        }
        own = {"agreement": words, "verification": proofs, "copies": list(verified.copies)}
        print_json(words if findings is None else findings.model_dump(mode="json") | own)
        return
    if findings is not None:
        _say_findings(findings)
    say(*(f"{run}: {word}" for run, word in words.items()), *verified.copies)
    for name, of in methods.items():
        state = "verified" if of.verified else "not verified"
        say(f"{name}: {state}: {of.sentence}", *(f"  {why}" for why in of.bars))
    if words:
        counted = ", ".join(f"{n} {word}" for word, n in Counter(words.values()).items())
        say(f"{len(words)} runs: {counted}")
