"""A paper's claim, as a suite states it, and the readings of the paper that it rests on."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from uqbench.contract.claim import ClaimKind
from uqbench.contract.config import resolve
from uqbench.contract.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.suites.tables import BudgetName, Name, Table, known

NOT_VERIFIABLE = "read off figures, not verifiable from the text"
"""What a source says where a number stands in no text that we have."""

_PLACE = re.compile(
    r"(?i:figures?|fig\.|tables?|section|equation|theorem|proposition|example|appendix|app\.|page)"
    r"\s+\(?(\d|[A-Z]\b)|\b(abstract|edition|version)\b"
)


def are_judged(host: Host) -> bool:
    """Whether the package that judges claims is there; else they are neither checked nor shown."""
    return "claims" in host.board_tables


class Reading(Table):
    """One way to read a paper that can be read in two.

    Attributes:
        chosen: what the suite takes the paper to say.
        alternative: what it may say as well.
        moved: what moved when the alternative was tried; may say that it was not.
        rows: methods that are run by the alternative. No claim is about them: claims that rest on
            contradictory readings of a paper could all hold.
    """

    chosen: str
    alternative: str
    moved: str
    rows: tuple[Name, ...] = ()


class Alternative(Table):
    """A claim's verdict under the alternative of a reading, as it was found.

    Attributes:
        verdict: that the same runs, or those of the reading's rows, have.
        found: the number that says so.
    """

    verdict: Literal["holds", "does not hold"]
    found: str


class Claim(Table):
    """A statement in a paper that the suite's runs can confirm or refute.

    Attributes:
        id: unique in the suite.
        sentence: what is claimed, as we put it.
        source: the paper, then figure, table or edition. Where the claim compares with a published
            number it must name the place, or say :data:`NOT_VERIFIABLE`.
        budgets: under any other budget the claim is never decided.
        kind: name of the claim kind; all other keys of the table are the kind's.
        readings: names of the suite's readings that the verdict depends on.
        under: by reading, the verdict under its alternative, where that was tried. Where it is
            another than the runs have, the claim is open.
        differs: in what the suite's setting is not the paper's, where that may decide: the claim is
            open then, whatever the runs say.
        least_tasks: of a statistic over tasks, such as the median over 57 games: with fewer tasks
            the claim is not run.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    id: Name
    sentence: str
    source: str
    budgets: Annotated[tuple[BudgetName, ...], Field(min_length=1)]
    kind: Annotated[str, known("claim kind")]
    readings: tuple[Annotated[Name, known("reading")], ...] = ()
    under: Mapping[Annotated[Name, known("reading")], Alternative] = {}
    differs: str = ""
    least_tasks: Annotated[int, Field(gt=0)] | None = None

    @property
    def paper(self) -> str:
        """The paper: what stands before the first comma of the source."""
        return self.source.split(",")[0]

    @property
    def names_place(self) -> bool:
        """Whether the source says where in the paper, or that no text of it can be checked."""
        return NOT_VERIFIABLE in self.source or _PLACE.search(self.source) is not None

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the claim's kind, with their values."""
        return dict(self.model_extra or {})

    def load(self, host: Host, where: str) -> ClaimKind:
        """The claim, parsed by its kind.

        Raises:
            UqbenchError: there is no such kind, or a key or value is wrong.
        """
        config = host.claim_kinds[self.kind].load_config()
        kind: ClaimKind = resolve(config, self.settings, where=where)
        if not isinstance(kind, ClaimKind):
            raise UqbenchError(f"{where}.kind: {self.kind!r} is not a uqbench.claim.ClaimKind.")
        return kind
