"""Files that are none any more."""

import os
from collections.abc import Callable
from pathlib import Path


def folder(path: Path, *_: object) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path, *_: object) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path, *_: object) -> None:
    path.symlink_to(path.rename(path.with_suffix(".moved")))


def text(words: bytes) -> Callable[..., object]:
    return lambda path, *_: path.write_bytes(words)
