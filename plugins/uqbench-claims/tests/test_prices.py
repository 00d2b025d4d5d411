"""``benchmarks/claim_prices.csv`` has every claim that is open, each once."""

from pathlib import Path

import pandas as pd
from uqbench_claims.judged import distinct, judged_claims

from uqbench.boards import StoredBoard, board_folders

ROOT = Path(__file__).parents[3]


def test_every_open_claim_has_a_row_of_prices():
    boards = [StoredBoard(folder) for folder in board_folders(ROOT / "leaderboards")]
    claims = distinct(claim for board in boards for claim in judged_claims(board))
    known = sorted((of.board.title, of.id) for of in claims if of.verdict == "open")
    table = pd.read_csv(ROOT / "benchmarks" / "claim_prices.csv")
    written = sorted(zip(table["board"], table["claim"], strict=True))
    assert written == known, "write it again: python benchmarks/claim_prices.py"
