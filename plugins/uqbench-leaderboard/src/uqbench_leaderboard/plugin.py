"""The table ``errors.csv`` of a board."""

from collections.abc import Iterable

import uqbench


@uqbench.hookimpl
def uqbench_board_tables() -> Iterable[uqbench.Spec]:
    """The table ``errors.csv``."""
    return [
        uqbench.Spec(name="errors", version="1", factory="uqbench_leaderboard.error_rates:Errors")
    ]
