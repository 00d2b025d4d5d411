"""A paper's claim, as a suite states it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from uqbench.claim import ClaimKind
from uqbench.config import resolve
from uqbench.errors import UqbenchError, unknown
from uqbench.registry.plugins import Host
from uqbench.suites.tables import Name, Table


class Claim(Table):
    """A statement in a paper that the suite's runs can confirm or refute.

    Attributes:
        id: unique in the suite.
        sentence: what is claimed, in our own words.
        source: the paper, with its figure or table.
        budgets: under any other budget the claim is never decided.
        kind: name of the claim kind; all other keys of the table are the kind's.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    id: Name
    sentence: str
    source: str
    budgets: Annotated[tuple[str, ...], Field(min_length=1)]
    kind: str

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the claim's kind, with their values."""
        return dict(self.model_extra or {})

    def load(self, host: Host, where: str) -> ClaimKind:
        """The claim, parsed by its kind.

        Raises:
            UqbenchError: there is no such kind, or a key or value is wrong.
        """
        if self.kind not in host.claim_kinds:
            raise UqbenchError(
                f"{where}.kind: {unknown('claim kind', self.kind, host.claim_kinds)}"
            )
        config = host.claim_kinds[self.kind].load_config()
        kind: ClaimKind = resolve(config, self.settings, where=where)
        if not isinstance(kind, ClaimKind):
            raise UqbenchError(f"{where}.kind: {self.kind!r} is not a uqbench.claim.ClaimKind.")
        return kind
