"""Three kinds of claim, and the table of claims on a board."""

from collections.abc import Iterable

import uqbench

KINDS = ("order", "band", "share")


@uqbench.hookimpl
def uqbench_claim_kinds() -> Iterable[uqbench.Spec]:
    """The kinds of claim that suites can make."""
    return [
        uqbench.Spec(
            name=name, version="1", factory=f"uqbench_claims.kinds.{name}:{name.capitalize()}"
        )
        for name in KINDS
    ]


@uqbench.hookimpl
def uqbench_board_tables() -> Iterable[uqbench.Spec]:
    """The table ``claims.csv``."""
    return [uqbench.Spec(name="claims", version="1", factory="uqbench_claims.board:Claims")]
