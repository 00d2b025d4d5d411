"""The runs of submitted rows, made here, and these rows on a stored board.

Where the methods of a board meet different worlds, the keeper draws the seeds. Where all meet the
same ones, the seeds are the board's, which are public; the keeper's are run beside them, and rows
that score better with the public ones are refused. Where a method treats all seeds alike, both
kinds can be exchanged, so that a permutation test refuses it with a probability of 1 %, whatever
the distribution of its scores.
"""

import json
import math
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from uqbench.boards.cost import cost_csv, read_cost, to_csv
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import MANIFEST
from uqbench.boards.matrices import by_method
from uqbench.boards.protocol import check_as_run
from uqbench.boards.provenance import MadeWith, of_older_code, provenance, provenance_json
from uqbench.boards.scores import check_scores, from_csv, gather, is_finite
from uqbench.boards.stored import PROVENANCE, StoredBoard, board_folder
from uqbench.boards.submitted import NAME, TABLE, Submitted, reseeded, states
from uqbench.boards.with_stored import as_run_today
from uqbench.contract.errors import Say, UqbenchError
from uqbench.contract.wording import count
from uqbench.pages.board_folders import made_once
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.records import RunState
from uqbench.results.scores import Score, Scores, Values
from uqbench.results.store import Store
from uqbench.suites.plan import Plan
from uqbench.suites.selection import Selection
from uqbench.suites.tuning import BOARD_SEEDS
from uqbench_keeper.make import Submission, origin
from uqbench_keeper.sandbox import NO_SANDBOX, has_sandbox, run

LEVEL = 0.01
"""Probability with which the permutation test refuses an honest row."""
LEAST = 10
"""Keeper's seeds beside public ones, at least: so many can be significant."""
DRAWS = 9_999


@dataclass(frozen=True)
class SubmittedRow:
    """A row for a board, or why it joins none.

    Attributes:
        plan: of its runs.
        scores: of these.
        made: what they were made with; nothing of the author's.
        word: what is known of them.
        refused: why the row joins no board; empty where it may.
    """

    plan: Plan
    scores: Scores
    made: list[MadeWith]
    word: Submitted
    refused: str = ""


def verify(
    sent: Submission, file: str, plan: Plan, host: Host, folder: Path, hours: float, say: Say
) -> SubmittedRow:
    """Make all runs of a submission's row, or say that they cost too much.

    Args:
        sent: the submission.
        file: sha256 of its file.
        plan: of its method, by the code of its package.
        host: the plugins.
        folder: the environment that has the package.
        hours: of a core, that the runs may cost; if they cost more, the row is the author's.
        say: called with the price, before anything runs.

    Raises:
        UqbenchError: the scores that were sent are not those of the plan, or damaged.
    """
    of, _ = origin(plan, host)
    if (of.distribution, of.version) != (sent.package, sent.version):
        raise UqbenchError(
            f"{sent.method} is of {of.distribution} {of.version}, not of {sent.package} "
            f"{sent.version}, of which the submission is."
        )
    theirs = from_csv(sent.scores, "scores.csv")
    check_scores(theirs, plan, "scores.csv")
    check_as_run(Board.of(plan, theirs), "scores.csv")
    check_plain(theirs, [])
    theirs = settled(theirs, plan)
    own, beside = draw(plan, host)
    share = (len(own) + len(beside)) / plan.budget.seeds
    say(
        f"{round(share * len(plan.runs))} runs: {sent.hours * share:.2g} hours of a core, by what "
        f"the author's took; {hours:g} are given."
    )
    word = Submitted(
        state="self-reported", says=f"{count(len(plan.runs), 'run')} of {sent.package} "
        f"{sent.version}{'; ' * bool(sent.tuned)}{sent.tuned}; conformance, as the author says: "
        f"{', '.join(f'{n} {outcome}' for outcome, n in sorted(sent.checks.items())) or 'nothing'}",
        wheel=sent.wheel, file=file,
    )  # fmt: skip
    if not sent.hours * share < hours:  # nor if that is no number
        return SubmittedRow(plan, theirs, [], word)
    if not has_sandbox():
        say(NO_SANDBOX)
    chosen = ["--suite", sent.suite, "--budget", sent.budget, "--methods", sent.method]
    run(folder, [*chosen, *(f"--seed={s}" for s in (*own, *beside))], 3600 * hours, sent.package)
    second, plan = (reseeded(plan, {sent.method: some}) for some in (beside, own))
    others, mine = (settled(gather(p, Store(folder / "runs")), p) for p in (second, plan))
    check_scores(mine, plan, "the runs made here")
    check_plain(mine, made := provenance(mine))
    values, new, reported = (_by_seed(some, plan) for some in (mine, others, theirs))
    said = ["made here", word.says]
    said.append("self-reported " + ("no score" if reported is None else f"{reported.mean():.3f}"))
    refused = ""
    if not beside:
        said += ["no data set is left for other seeds"] * plan.suite.paired
    elif values is None or new is None:
        refused = "a run failed, for which this board's score has no worst value"
    else:
        beside_them, refused = judged(values, new)
        said.append(beside_them)
    state = "verified" if has_sandbox() else "verified (no sandbox)"
    word = word.model_copy(update={"state": state, "says": "; ".join(said)})
    return SubmittedRow(plan, mine, made, word, refused)


def add(
    row: SubmittedRow, host: Host, boards: Folder, say: Say
) -> tuple[Folder, Board, dict[str, bytes]]:
    """A stored board with the row of a submission, still to be written.

    Args:
        row: of the submission.
        host: the plugins.
        boards: folder of the leaderboards.
        say: called with the installed methods that the board lacks.

    Returns:
        Where it belongs, the board of all its rows, and its files that do not follow from these.

    Raises:
        UqbenchError: the board has a row of that name already, or is of an earlier protocol.
    """
    suite, budget, (name,) = row.plan.suite.name, row.plan.budget_name, row.plan.roles
    whole = Selection(suite, budget).plan(host, "cpu", say)
    folder = board_folder(replace(whole, standard=True), boards)
    stored, cells, made_by = StoredBoard(folder), [], None
    words = stored.submitted
    if stored.has(MANIFEST) or stored.has("scores.csv"):
        today = as_run_today(stored, whole, [name], host, say)
        there, made_by = today.scores, today.made_by
        if there.digest_of != "results":
            raise UqbenchError(f"{folder} is of an earlier form; run the suite again first.")
        cells = [cell for cell in there.cells if cell.method != name]
        before = words.get(name)
        again = before and (before.state, before.file) == ("self-reported", row.word.file)
        if len(cells) < len(there.cells) and not again:
            raise UqbenchError(
                f"{folder} has a row of {name} already, which is not a self-reported one of this "
                f"submission; nothing is replaced: restore the board without it first."
            )
    words[name] = row.word
    scores = Scores([*cells, *row.scores.cells])
    names = tuple(sorted({cell.method for cell in scores.cells}))
    seeds = {cell.method: cell.seeds for cell in scores.cells if cell.method in words}
    plan = reseeded(Selection(suite, budget, names).plan(host, "cpu", say), seeds)
    plan, recorded = replace(plan, standard=True), stored.recorded
    cost = [recorded.get("cost.csv", b"").decode(), cost_csv(row.plan, row.scores)]
    made = [*stored.provenance[0], *row.made]
    board = replace(
        Board.of(plan, scores),
        submitted=states(words),
        made_by=made_by,
        first_run=min((one.first for one in made), default=""),
    )
    recorded |= {
        **made_once(board, host),
        "cost.csv": to_csv([one for text in cost for one in read_cost(text)]).encode(),
        PROVENANCE: provenance_json(made, of_older_code(scores)).encode(),
        NAME: TABLE.dump_json(dict(sorted(words.items())), indent=1) + b"\n",
    }
    return folder, board, recorded


def draw(plan: Plan, host: Host) -> tuple[list[int], list[int]]:
    """Seeds of the rows, and of the runs beside them: all that there are, where data sets end."""
    specs = [host.datasets[cell.task.dataset] for cell in plan.cells if cell.task.dataset]
    made_by: list[Any] = [
        of.load_factory() for of in specs if of.makes("uqbench.contract.estimator:Dataset")
    ]
    ends = [of.n_datasets for of in made_by if of.n_datasets is not None]
    public = range(plan.budget.seeds)
    others = BOARD_SEEDS[len(public) : min(ends, default=None)]
    rng = np.random.default_rng(secrets.randbits(128))  # a draw that nobody can know
    many = min(len(others), max(len(public), LEAST) if plan.suite.paired else len(public))
    drawn = sorted(rng.choice(others, many, replace=False).tolist())
    return ([*public], drawn) if plan.suite.paired else (drawn, [])


def settled(scores: Scores, plan: Plan) -> Scores:
    """Submitted runs: one that gave no score has the worst that its metric can have, if any."""
    primary = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(primary)
    worst = primary.ends[0 if primary.direction == "max" else 1]

    def one(score: Score) -> Score:
        if score.status == RunState.FINISHED.value and is_finite(score.score):
            return score
        failed = replace(score, status=RunState.FAILED.value, score=None, values={})
        if math.isinf(worst):
            return failed
        normal = constants[score.task].normalize(worst)
        return replace(failed, score=normal, values={primary.name: worst})

    return Scores.of(map(one, scores))


def judged(public: Values, others: Values) -> tuple[str, str]:
    """The result of the keeper's seeds in words, and why the row is refused; empty if it is not."""
    p = chance(public, others)
    said = f"{others.mean():.3f} with {len(others)} seeds of the keeper (p = {p:.2g})"
    if p > LEVEL:
        return said, ""
    return said, (
        f"{public.mean():.3f} with the board's seeds, which are public, but {said}: 1 % of honest "
        f"rows are refused"
    )


def chance(public: Values, others: Values) -> float:
    """The probability that seeds score as much better than others by chance, by permutations."""
    both = np.concatenate([public, others])
    drawn = np.random.default_rng(0).permuted(np.tile(both, (DRAWS, 1)), axis=1)
    better = drawn[:, : len(public)].mean(1) >= public.mean() - 1e-12
    return float((1 + better.sum()) / (1 + DRAWS))


def check_plain(scores: Scores, made: Iterable[MadeWith]) -> None:
    """See that strange code wrote nothing that is more than words on a page.

    Raises:
        UqbenchError: it did.
    """
    text = json.dumps([[*map(asdict, made)], [(s.device, s.digest, s.content) for s in scores]])
    if found := re.search(r"[\\<>|`*]|\]\(", text):  # json escapes what is not ASCII
        shown = text[found.start() : found.start() + 50]
        raise UqbenchError(f"a submitted run says {shown!r}: expected plain text.")


def _by_seed(scores: Scores, plan: Plan) -> Values | None:
    """Mean score over tasks of each seed; None where a run has none."""
    own = [one.normalized_primary for one in by_method(plan.suite, scores).values()]
    return own[0].mean(1) if own and own[0] is not None else None
