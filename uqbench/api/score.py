"""``uqbench.score``: predictions that somebody has, scored as a run's are; nothing is run."""

import io
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from uqbench.api.values import Place, given
from uqbench.contract.errors import UqbenchError
from uqbench.registry.definitions import summary
from uqbench.registry.load_host import load_host
from uqbench.results.files import read_bytes, reading
from uqbench.results.tables import MOST_BYTES
from uqbench.uncertainty.stated import scored, stated


def score(file: str | PathLike[str] | None = None, **arrays: Any) -> pd.DataFrame:
    """Every registered score of predictions, with its 95 % interval over points.

    They are checked as the predictions of a run are. ``calibrated`` is what a method comes to whose
    predictions are these and right: of so many points, the calibration error of one is not 0.

    Args:
        file: an ``.npz`` with the arrays, which are not unpickled.
        arrays: ``targets`` ``[M]`` and ``probs`` ``[M, C]``, or ``mean`` and ``var`` ``[M]``, or
            ``members`` ``[S, M, C]`` (``[S, M]`` of a regression), or ``interval`` ``[M, 2]``; and
            those of another set with ``outside_`` before their names, for detection. More in
            :func:`uqbench.uncertainty.stated.stated`.

    Returns:
        A row a score that the predictions say enough for: ``value``, ``low``, ``high``,
        ``calibrated``, ``better`` (``max`` or ``min``), ``summary``.

    Raises:
        UqbenchError: an array is missing, or states what no run may; names it and the point.

    Example:
        >>> import numpy as np, uqbench
        >>> uqbench.score(probs=[[0.9, 0.1]] * 20, targets=[0] * 18 + [1] * 2)  # doctest: +SKIP
    """
    where = "the arrays"
    if file is not None:
        where = str(path := Path(given("file", file, Place)))
        said = f"{path} (expected an .npz of arrays)"
        with reading(said, Exception):
            data = io.BytesIO(read_bytes(path, MOST_BYTES))
            arrays = dict(np.load(data, allow_pickle=False).items()) | arrays
    predictions, host = stated(arrays, where), load_host()
    rows = {}
    for name, spec in host.scores.items():
        of = scored(spec, predictions)
        if of[0] == of[0]:
            rows[name] = (*of, spec.direction, summary(spec))
    if not rows:
        raise UqbenchError("no score is registered: install uqbench-predictive, or a plugin's.")
    columns = ["value", "low", "high", "calibrated", "better", "summary"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("score")
