"""A rule of a plugin's figures: they are drawn of boards that have next to nothing."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from uqbench.boards.leaderboard import Board
from uqbench.boards.stored import StoredBoard, board_at
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench.registry.plugins import Host
from uqbench.results.scores import Score
from uqbench.suites.plan import make_plan
from uqbench.suites.suite import Suite
from uqbench_testing.conformance.check import Subject, check


@dataclass(kw_only=True)
class FigureSubject(Subject, kind="figures"):
    """The figures of a plugin.

    Attributes:
        hook: as pluggy has it.
        suites: of whose boards there may be some.
    """

    hook: Any
    suites: Mapping[str, Suite]
    host: Host

    def figures(self, board: StoredBoard, suite: Suite) -> Iterable[Figure]:
        """Those of a board."""
        known = {"board": board, "suite": suite}
        found: Any = self.hook.function(*(known[name] for name in self.hook.argnames))
        return found or ()


@check(FigureSubject, "figures-draw")
def draws(subject: FigureSubject) -> str:
    """A board of one method draws, and one whose runs have all failed; or what lacks is said.

    For every suite: two seeds of a method, in the middle of each score's range.

    Fix:
        Yield no figure where the board has nothing to show, or raise NotDrawableError.
    """
    drawn = 0
    with TemporaryDirectory() as folder:
        for suite, failed in product(subject.suites.values(), (False, True)):
            board = one_row(suite, subject.host, Path(folder) / suite.name / str(failed), failed)
            with suppress(NotDrawableError):
                drawn += len([Figure.draw(one) for one in subject.figures(board, suite)])
    return f"{drawn} drawn"


def one_row(suite: Suite, host: Host, folder: Path, failed: bool) -> StoredBoard:
    """The board of a suite's first method, in a folder."""
    first = min(suite.methods, key=lambda one: one.role is not None).name
    budget = suite.default_budget
    plan = make_plan(suite, host, budget, device="cpu", methods=[first], seeds=range(2))
    values = {m.name: 0.5 if m.bounds is None else sum(m.bounds) / 2 for m in suite.metrics}
    scores = []
    for run in sorted(plan.runs, key=lambda run: (run.task, run.method, run.seed)):
        who = run.task, run.method, run.seed
        one = Score(*who, "finished", "cpu", 0.5, {**values}, str(run.folder), run.digest)
        scores.append(replace(one, status="failed", score=None, values={}) if failed else one)
    folder.mkdir(parents=True)
    for name, text in Board.of(plan, scores).files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return StoredBoard(board_at(folder))
