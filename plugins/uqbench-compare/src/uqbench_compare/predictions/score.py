"""``uqbench.score``: predictions that somebody has, scored as a run's are; nothing is run.

A run's data sets are its unit of inference; of one stored set the points are. The interval is that
of the jackknife that leaves out a group of points at a time (Shao & Wu 1989), by Student's t, and
ends where the score's range does. A calibrated method does not score as well as the truth: beside
each score stands what it comes to where the targets are drawn from the predictions themselves
(Bröcker & Smith 2007), and what the best constant comes to.
"""

import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from uqbench.api.values import Count, Name, Place, given
from uqbench.contract.errors import UqbenchError
from uqbench.registry.load_host import load_host
from uqbench.results.files import read_bytes, reading
from uqbench.results.tables import MOST_BYTES
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import t_quantile
from uqbench.uncertainty.validity import ROUNDING
from uqbench_compare.predictions import BINS
from uqbench_compare.predictions.beside import stored_rows
from uqbench_compare.predictions.formats import RANGES, Score, known_scores, lacking
from uqbench_compare.predictions.registered import LEAST, Array, Given, at
from uqbench_compare.predictions.stated import climatology, drawn, generator_of, of_points, stated

GROUPS, DRAWS, TEN = 50, 20, 10
"""Groups of points that are left out, draws of targets, and points that are scored together."""
COLUMNS = ("value", "low", "high", "calibrated", "climatology", "better", "summary")
YOURS = "yours"


def score(
    file: str | PathLike[str] | None = None,
    *,
    targets: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    std: ArrayLike | None = None,
    var: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    samples: ArrayLike | None = None,
    members: ArrayLike | None = None,
    quantiles: ArrayLike | None = None,
    levels: ArrayLike | None = None,
    interval: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    score: ArrayLike | None = None,
    beside: str | PathLike[str] | None = None,
    bins: int = BINS,
    **outside: ArrayLike,
) -> pd.DataFrame:
    """Scores of predictions, each with its 95 % interval over points, beside constants and rows.

    They are checked as the predictions of a run are. M points, C classes, S samples or members.

    Args:
        file: an ``.npz`` with arrays of the names below, which are not unpickled.
        targets: ``[M]``, classes from 0 on, or values; ``[M, C]`` one-hot. Without them, points of
            another set are told from these alone.
        probs: ``[M, C]``, or ``[M]`` of class 1 of two.
        logits: ``[M, C]``, ``[M]`` of class 1 of two, or ``[S, M, C]`` of members.
        mean: ``[M]`` of a regression.
        std: ``[M]``, the total standard deviation: with ``mean``, of a normal.
        var: ``[M]``, the total variance, instead.
        noise: ``[M]``, the variance of targets around the members' means; their spread is added.
        samples: ``[S, M]``, drawn from the predicted law of each target.
        members: ``[S, M, C]``, or ``[S, M]``, the means of models: how much is epistemic. Without
            ``noise`` or ``var`` means have no likelihood, joint or other.
        quantiles: ``[M, K]``, at ``levels``.
        levels: ``[K]``, between 0 and 1; of 0.05 and 0.95 there is an interval.
        interval: ``[M, 2]``, of 90 %.
        classes: ``[M, C]``, those in a 90 % set, where these are not the most probable ones.
        score: ``[M]``, a detector's: how foreign a point is.
        beside: a suite with a stored board, ``SUITE/BUDGET``, or a board's folder: its rows on the
            data set whose test targets are yours, in this order.
        bins: of calibration errors: ``ece`` has as many points in each, ``ece_width`` is of equal
            width.
        outside: the same arrays of another set, as ``outside_probs``, for detection.

    Returns:
        A row a score that the predictions say enough for: ``value``, ``low``, ``high``,
        ``calibrated`` (what a method has whose predictions are these and right), ``climatology``
        (what the best constant has), ``better`` (``max`` or ``min``), ``summary``. With
        ``beside`` the index is (score, row), the best first: ``yours``, ``calibrated``,
        ``climatology`` and the stored rows. ``attrs["absent"]`` has the reasons of other scores,
        ``attrs["notes"]`` what else is to be known.

    Raises:
        UqbenchError: an array is missing, or states what no run may, or no task has this test set;
            names it and the point.

    Example:
        >>> import numpy as np, uqbench
        >>> rows = uqbench.score(probs=[[0.9, 0.1]] * 20, targets=[0] * 18 + [1] * 2)
        >>> rows.loc["ece", "value"].round(3)
        np.float64(0.0)
    """
    named = {
        "targets": targets, "probs": probs, "logits": logits, "mean": mean, "std": std, "var": var,
        "noise": noise, "samples": samples, "members": members, "quantiles": quantiles,
        "levels": levels, "interval": interval, "classes": classes, "score": score, **outside,
    }  # fmt: skip
    arrays, where = {name: of for name, of in named.items() if of is not None}, "the arrays"
    if file is not None:
        where = str(path := Path(given("file", file, Place)))
        with reading(f"{path} (expected an .npz of arrays)", Exception):
            data = io.BytesIO(read_bytes(path, MOST_BYTES))
            loaded = np.load(data, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise UqbenchError(
                    f"{path} is one array of shape {list(loaded.shape)}, without a name; expected "
                    f"an .npz of named arrays: np.savez({path.stem + '.npz'!r}, probs=..., "
                    f"targets=...)."
                )
            arrays = dict(loaded.items()) | arrays
    predictions, host = stated(arrays, where), load_host()
    known = known_scores(host.scores, given("bins", bins, Count))
    absent = {name: f"needs {why}" for name in known if (why := lacking(name, predictions))}
    constant = climatology(predictions["test"], where)
    best = None if constant is None else {"test": constant}  # other sets are not told from it
    rows = {}
    for name, one in known.items():
        if name in absent:
            continue
        found = scored(one, predictions, *RANGES.get(name, (-math.inf, math.inf)))
        if math.isnan(found[0]):
            absent[name] = "has no value of these predictions"
            continue
        at_best = math.nan if best is None or lacking(name, best) else one.value(best)
        rows[name] = (*found, at_best, one.direction, one.summary)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*COLUMNS]).rename_axis("score")
    notes = [*_notes(predictions, table, arrays)]
    if beside is not None:
        known_targets = predictions["test"].targets
        if known_targets is None:
            raise UqbenchError(f"{where}: beside stored rows expected targets, to find the task.")
        said, stored = stored_rows(
            known_targets[0], str(given("beside", beside, Name | Place)), host, notes.append
        )
        if not any({*of} & {*table.index} for of in stored.values()):
            notes.append(f"The rows of {said} have none of these scores.")
        table = _beside(table, stored)
        notes.append(f"Stored rows are of {said}.")
    table.attrs = {"absent": absent, "notes": notes}
    return table


def scored(
    one: Score, predictions: Given, least: float = -math.inf, most: float = math.inf
) -> tuple[float, float, float, float]:
    """A score, its 95 % interval, and that of a calibrated method; NaN where there is none.

    Args:
        one: the score.
        predictions: by set.
        least: value of the score, at which an interval ends.
        most: the same of its greatest value.
    """
    value, none = float(one.value(predictions)), math.nan
    if math.isnan(value):
        return none, none, none, none
    labels = {
        name: _labels(of.predicted.total.shape[1], one.joint) for name, of in predictions.items()
    }
    count = min(int(of.max()) for of in labels.values()) + 1
    left = [
        one.value({name: of_points(of, labels[name] != k) for name, of in predictions.items()})
        for k in range(count)
    ]
    error = float(np.std(left)) * math.sqrt(count - 1)
    half = t_quantile(1 - ALPHA / 2, count - 1) * error if error > ROUNDING * abs(value) else none
    twins = [drawn(predictions["test"], k) for k in range(DRAWS)]
    of_twins = [one.value({**predictions, "test": twin}) for twin in twins if twin is not None]
    known = none if {*of_twins} <= {value} else float(np.mean(of_twins))
    low, high = max(value - half, least), min(value + half, most)
    return value, *((none, none) if math.isnan(half) else (low, high)), known


def _labels(count: int, joint: bool) -> Array:
    """The group of each point: fifty, or fewer of a tenth of the points."""
    order = np.arange(count) if joint else generator_of("points").permutation(count)
    return (order // (TEN if joint else 1)) % max(2, min(GROUPS, count // TEN))


def _notes(
    predictions: Given, table: pd.DataFrame, arrays: Mapping[str, ArrayLike]
) -> Iterator[str]:
    """Sentences on what a reader of the scores would not expect."""
    one = predictions["test"]
    said, targets = one.predicted, one.targets
    for name in ("members", "samples"):
        shape = np.shape(arrays.get(name, ()))
        if len(shape) > 1 and shape[0] == shape[1]:
            yield f"{name} are {list(shape)}: read with the points along the second dimension."
    if "auroc" in table.index and table["high"]["auroc"] < 0.5:
        yield "auroc is below one half: the higher a score, the more foreign shall a point be."
    if targets is None:
        return
    known = {*targets[0].tolist()}
    if said.probs is None and len(known) <= TEN and all(x == int(x) for x in known):
        yield f"targets are {len(known)} whole numbers, scored as values: classes need probs."
    stated = [of[0] for of in (said.probs, said.mean, said.total, targets) if of is not None]
    rows = np.concatenate([of.reshape(len(of), -1) for of in stated], 1)
    counts = Counter(row.tobytes() for row in rows)
    if len(counts) >= TEN and (times := math.gcd(*counts.values())) > 1:
        yield (
            f"Each point is there {times} times, or a multiple: intervals take {len(rows)} points "
            f"for independent, and there are {len(rows) // times} at most."
        )
    for name in table.index.intersection(["nll", "crps"])[:1]:
        if table["low"][name] > table["climatology"][name]:
            columns = ", and the columns of classes in theirs" * (said.probs is not None)
            yield (
                f"{name} is worse than that of the best constant: are the points in the order of "
                f"the targets{columns}?"
            )
    if said.probs is None:
        return
    if impossible := int((at(said.probs[0], targets[0]) < LEAST).sum()):
        yield (
            f"{impossible} targets have a probability below {LEAST:g}, which counts as {LEAST:g}: "
            f"{-math.log(LEAST):.1f} nats each."
        )


def _beside(table: pd.DataFrame, stored: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """A row a score and method, the best first."""
    rows = []
    for name, own in table.iterrows():
        others = {row: of[str(name)] for row, of in stored.items() if str(name) in of}
        values = {"calibrated": own["calibrated"], "climatology": own["climatology"]} | others
        each = [(YOURS, own["value"], own["low"], own["high"])]
        each += [(row, of, math.nan, math.nan) for row, of in values.items() if of == of]
        each.sort(key=lambda one: one[1], reverse=own["better"] == "max")
        rows += [(name, *one, own["better"], own["summary"]) for one in each]
    columns = ["score", "row", "value", "low", "high", "better", "summary"]
    return pd.DataFrame(rows, columns=columns).set_index(["score", "row"])
