"""``uqbench run --until-decided``: what the looks decided, printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uqbench.cli.terminal import say

if TYPE_CHECKING:
    from uqbench.boards.until_decided import Decided
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store


def show_decided(decided: Decided, store: Store, host: Host) -> None:
    """Write and print the board, and what was decided at which look."""
    from uqbench.boards.board_files import board_folder
    from uqbench.views.board_folders import write_board
    from uqbench.views.terminal import print_board

    plan, found = decided.plan, decided.found
    folder = board_folder(plan, store.root / "leaderboards")
    write_board(decided.board, store, folder, host)
    print_board(decided.board)
    looks = ", ".join(map(str, found.schedule))
    say(f"Looks at {looks} seeds, 5 % of error over all of them (docs/claims.md).")
    for judged in decided.board.claims:
        at = found.decided_at.get(judged.claim.id)
        end = f" at {at} seeds" if at is not None else f": {judged.reason}"
        say(f"{judged.claim.id}: {judged.verdict.value}{end}")
    fixed = sum(len(cell.runs) for cell in plan.cells)
    all_seeds = found.schedule[-1] * len(plan.cells)
    say(f"{fixed:,} runs; {found.schedule[-1]} seeds of every method would be {all_seeds:,}.")
    say(str(folder / "leaderboard.csv"))
