"""The scores in a board's folder, as tests read and edit them."""

import gzip
from pathlib import Path


def read_scores(board: Path) -> str:
    return gzip.decompress((board / "scores.csv.gz").read_bytes()).decode()


def write_scores(board: Path, text: str) -> None:
    (board / "scores.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
