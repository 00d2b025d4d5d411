"""The folder of image files that the user provides, and reading 28 × 28 images from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uqbench_predictive.problems.idx import File, MissingError, content, parse_idx

VARIABLE = "UQBENCH_DATA"


def data_folder(files: Iterable[File]) -> Path:
    """The folder that the user named, for a problem that needs these files.

    Raises:
        MissingError: none was named, or it is not a folder.
    """
    named = os.environ.get(VARIABLE)
    wanted = "\n".join(f"  {file.path}   from {file.where}" for file in files)
    if not named:
        raise MissingError(
            f"set the environment variable {VARIABLE} to a folder with the image data:\n{wanted}"
        )
    if not Path(named).is_dir():
        raise MissingError(
            f"{VARIABLE} names {named}, which is not a folder; it must hold:\n{wanted}"
        )
    return Path(named)


@cache
def images_of(folder: Path, file: File) -> NDArray[np.uint8]:
    """The images ``[N, 28, 28]`` of an IDX file."""
    images = parse_idx(content(folder, file), file.path, (None, 28, 28))
    return images.astype(np.uint8)


@cache
def labels_of(folder: Path, file: File) -> NDArray[np.int64]:
    """The labels ``[N]`` of an IDX file."""
    return parse_idx(content(folder, file), file.path, (None,)).astype(np.int64)
