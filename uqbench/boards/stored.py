"""A stored leaderboard: its scores, and the plan that they are of."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.errors import UqbenchError, see
from uqbench.suites.selection import Say, Selection, warn

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.planned import Planned
    from uqbench.boards.provenance import MadeWith
    from uqbench.boards.scores import Score
    from uqbench.claim import ClaimKind
    from uqbench.registry.plugins import Host
    from uqbench.suites.claims import Claim
    from uqbench.suites.plan import Plan


SUFFIXES = (".csv", ".json", ".md", ".bib")
"""Of the files of a board."""


@dataclass(frozen=True)
class StoredBoard:
    """A leaderboard's folder, what is in it, and what it is of.

    Attributes:
        files: contents by name.
        plan: of the board's own methods; others may be installed here.
    """

    folder: Path
    files: dict[str, bytes]
    plan: Plan
    scores: list[Score]

    @classmethod
    def read(
        cls, plan: Plan, selection: Selection, host: Host, folder: Path, say: Say = warn
    ) -> StoredBoard:
        """Read the board of a plan.

        Args:
            plan: of all methods that are installed.
            selection: that the plan is of.
            host: the plugins.
            folder: of the board.
            say: is told which methods the board has not.

        Raises:
            UqbenchError: there is none, it is of an earlier protocol, or its scores are not those
                of the plan and of its own manifest.
        """
        from uqbench.boards.protocol import versions_here
        from uqbench.boards.scores import check_scores, from_csv
        from uqbench.results.files import stored_bytes, stored_text

        path = folder / "scores.csv"
        if not path.exists():
            raise UqbenchError(
                f"{path} is not there: write it with uqbench leaderboard --suite {plan.suite.name} "
                f"--budget {plan.budget_name}."
            )
        files = {p.name: stored_bytes(p) for p in folder.iterdir() if p.suffix in SUFFIXES}
        scores = from_csv(stored_text(files["scores.csv"], path), str(path))
        _check_manifest(files, scores, plan, versions_here(host), folder)
        methods = tuple(sorted({score.method for score in scores}))
        if methods:
            own = replace(selection, methods=methods).plan(host, "cpu", say)
            absent = sorted({cell.method.name for cell in plan.cells} - set(methods))
            if absent:
                say(
                    f"uqbench: {folder} has no runs of {', '.join(absent)}, which the suite has "
                    f"here: not judged."
                )
            plan = replace(own, standard=plan.standard)
        check_scores(scores, plan, str(path))
        return cls(folder, files, plan, scores)

    @property
    def made(self) -> tuple[list[MadeWith], str]:
        """What its runs were made with, and what was older than the code installed then."""
        from uqbench.boards.provenance import read_made_with

        return read_made_with(self.files.get("made_with.json"))

    @property
    def planned(self) -> Planned | None:
        """What its manifest lists as planned."""
        from uqbench.boards.planned import Planned

        return Planned.read(json.loads(self.files.get("manifest.json", b"{}")).get("planned"))

    @property
    def submitted(self) -> Mapping[str, str]:
        """The methods whose rows others submitted: ``verified`` or ``self-reported``.

        Raises:
            UqbenchError: ``submissions.json`` is damaged.
        """
        from uqbench.boards.submitted import read_submitted, states

        return states(read_submitted(self.files.get("submissions.json")))

    @property
    def own_claims(self) -> tuple[tuple[Claim, ClaimKind], ...]:
        """The plan's claims that are on the board.

        Raises:
            UqbenchError: ``claims.csv`` is damaged.
        """
        from uqbench.results.files import stored_text

        text = stored_text(self.files.get("claims.csv", b""), self.folder / "claims.csv")
        stored = {row.get("claim") for row in csv.DictReader(io.StringIO(text))}
        return tuple(pair for pair in self.plan.claims if pair[0].id in stored)

    def board(self, plan: Plan, planned: Planned | None) -> Board:
        """What follows from the scores.

        Args:
            plan: of the scores, with the claims that are judged.
            planned: what the manifest lists.
        """
        from uqbench.boards.leaderboard import Board

        return replace(Board.of(plan, self.scores), planned=planned, submitted=self.submitted)

    def check_as_run(self) -> None:
        """See that the scored runs are those that the plan would run today.

        Raises:
            UqbenchError: a method or task has another version or other settings by now, or a
                metric is gone, so that tables written now would say what was not run.
        """
        from uqbench.boards.scores import DEVICES

        planned = {(run.task, run.method, run.seed): run for run in self.plan.runs}
        metrics = {metric.name for metric in self.plan.suite.metrics}
        for score in self.scores:
            run = planned[score.task, score.method, score.seed]
            if score.run not in {str(run.on_device(device).folder) for device in DEVICES}:
                raise UqbenchError(
                    f"{self.folder}: {score.run} was run with other settings or versions than "
                    f"{run.folder} would be now; run the suite again instead."
                    f"{see('earlier-protocol')}"
                )
            if not metrics >= score.values.keys():
                gone = ", ".join(sorted(score.values.keys() - metrics))
                raise UqbenchError(
                    f"{self.folder}: the suite has no metric {gone} any more; run it again instead."
                )


def _check_manifest(
    files: Mapping[str, bytes],
    scores: Sequence[Score],
    plan: Plan,
    versions: Mapping[str, str],
    folder: Path,
) -> None:
    """Check that a board is of today's protocol, with rows of all that its manifest lists.

    Raises:
        UqbenchError: the protocol was another, rows were removed, or the manifest is damaged.
    """
    from uqbench.boards.planned import Planned
    from uqbench.boards.protocol import departures

    if "manifest.json" not in files:
        return  # it is compared, and missed, where the board is checked
    path = folder / "manifest.json"
    try:
        manifest = json.loads(files["manifest.json"])
        listed = set(manifest["methods"])
        planned = Planned.read(manifest.get("planned"))
        changed = departures(manifest, plan.suite, versions)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UqbenchError(f"{path} is damaged: {type(error).__name__}: {error!s:.300}") from error
    if changed:
        raise UqbenchError(
            f"{folder} is of an earlier protocol: {'; '.join(changed)}. It is kept as it was "
            f"written; tox -e leaderboard-{plan.suite.name}-{plan.budget_name} runs it again."
            f"{see('earlier-protocol')}"
        )
    missing = sorted(map(str, listed - {f"{score.task}/{score.method}" for score in scores}))
    if planned is not None and not missing:
        missing = [f"{name} (seeds {planned.runs[name]})" for name in planned.without_rows(scores)]
    if missing:
        raise UqbenchError(
            f"{folder / 'scores.csv'} has no rows of {', '.join(missing[:5])}"
            f"{' …' if len(missing) > 5 else ''}, which {path.name} lists: restore them, or write "
            f"the board again from its runs."
        )
