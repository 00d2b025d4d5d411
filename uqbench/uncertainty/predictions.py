"""Stored predictions: a run's columns, a row a point, and the scores that are functions of them.

Numbers are float32. A registered score is computed from what is stored, in float64 and without
torch, also when a run finishes, so that computing it later gives the same bits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract import estimator
from uqbench.contract.errors import UqbenchError, contained, see
from uqbench.contract.estimator import EvaluationSet, Predictions, PredictiveUncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.contract.specs import ScoreSpec
from uqbench.registry.plugins import Host
from uqbench.results.tables import Columns
from uqbench.suites.controls import control_of
from uqbench.suites.metrics import Metric
from uqbench.uncertainty import plain, validity
from uqbench.uncertainty.problems import reference_log_probs

NUMBERS = ("total", "aleatoric", "epistemic", "mean", "score", "energy")
"""Columns of one number a point."""
VECTORS = ("probs", "highest", "interval", "classes")
"""Columns of several: a number a class, or the ends of an interval."""
FURTHER = ("set", "unit", "target", "reference", "members", "nearest")
"""The other columns: ``members`` holds the models' numbers in a row, ``nearest`` the distance to
the nearest training input."""
ROWS = 1024
"""Rows of distances at once."""


def check_size(name: str, dataset: estimator.Dataset, sets: Mapping[str, EvaluationSet]) -> None:
    """See that predictions of a run will not need more than the data set allows.

    Raises:
        UqbenchError: they would; raised before anything is learned.
    """
    points = sum(one.inputs.shape[1] for one in sets.values())
    size = 4 * points * (len(NUMBERS) + 3 + max(dataset.n_classes, 1) * (4 + dataset.members))
    if size > dataset.most_bytes:
        raise UqbenchError(
            f"the dataset {name!r} would store {size:,} bytes of predictions a run, of at most "
            f"{dataset.most_bytes:,} (Dataset.most_bytes): evaluate fewer points, or fewer members"
        )


def predict_once(
    predict: estimator.Predict,
    sets: Mapping[str, EvaluationSet],
    seeds: Sequence[int],
    n_classes: int,
    reference_model: estimator.ReferenceModel | None,
    by: validity.Speaker,
) -> dict[str, Predictions]:
    """Predictions for each evaluation set, of all points at once, in a random order of each lane.

    No estimator learns which points are of one set, or is asked again after its answer was checked.

    Args:
        predict: the estimator's.
        sets: the evaluation sets.
        seeds: of the lanes' orders.
        n_classes: C.
        reference_model: of setting (b).
        by: the estimator.

    Raises:
        UqbenchError: what it predicts is not valid.
    """
    every = torch.cat([one.inputs for one in sets.values()], 1)
    generators = [torch.Generator().manual_seed(derive_seed("asked", seed)) for seed in seeds]
    order = torch.stack([torch.randperm(every.shape[1], generator=g) for g in generators])
    lane, shape = torch.arange(len(seeds))[:, None], (len(seeds), every.shape[1])
    by = replace(by, when="for all evaluation inputs")
    said = plain.plain_prediction(predict(every[lane, order]), shape, n_classes, by)
    predictions = {}
    places = order.argsort(1).split([one.inputs.shape[1] for one in sets.values()], 1)
    for (name, one), place in zip(sets.items(), places, strict=True):
        own: dict[str, Any] = {
            part: value[:, lane, place] if part == "members" else value[lane, place]
            for part, value in vars(said).items()
            if isinstance(value, Tensor)
        }
        when, reference = replace(by, when=f"for the set {name!r}"), None
        if reference_model is not None and n_classes:  # of classes alone it has probabilities
            asked = one.inputs, n_classes, when.when, see("wrong-data")
            reference = reference_log_probs(reference_model, *asked)
        given = predictions[name] = Predictions(replace(said, **own), one.targets, reference)
        validity.check_prediction(given, (len(seeds), place.shape[1]), n_classes, when)
    return predictions


def prediction_columns(
    predictions: Mapping[str, Predictions], lane: int, members: int
) -> dict[str, NDArray[np.generic]]:
    """The stored columns of a lane: ``set``, ``unit``, and float32 columns ``[N]`` or ``[N, C]``.

    A column that no set has is left out; one that a set has not is NaN there.
    """
    parts = [_columns(name, one, lane, members) for name, one in predictions.items()]
    widths = {name: np.shape(part[name])[1:] for part in parts for name in part}
    columns = {}
    for name, width in widths.items():
        none = (np.full((len(part["set"]), *width), np.nan, np.float32) for part in parts)
        own = [part.get(name, other) for part, other in zip(parts, none, strict=True)]
        columns[name] = np.concatenate(own)
    return columns


def nearest(inputs: Tensor, known: Tensor) -> NDArray[np.float32]:
    """Euclidean distances ``[M]`` of inputs ``[M, *x]`` to the nearest of ``known`` ``[n, *x]``."""
    parts = inputs.double().flatten(1).split(ROWS)
    every = [torch.cdist(part, known.double().flatten(1)).amin(1) for part in parts]
    return torch.cat(every).cpu().numpy().astype(np.float32)


def _columns(
    name: str, one: Predictions, lane: int, members: int
) -> dict[str, NDArray[np.generic]]:
    said, count = one.predicted, one.predicted.total.shape[1]
    parts = {n: getattr(said, n) for n in (*NUMBERS, *VECTORS)}
    parts |= {"target": one.targets, "reference": one.reference}
    columns: dict[str, NDArray[np.generic]] = {"set": np.full(count, name, object)}
    columns["unit"] = np.full(count, said.unit, object)
    columns |= {n: validity.numbers(x[lane]) for n, x in parts.items() if x is not None}
    if members and said.members is not None:
        chosen = validity.numbers(said.members[:members, lane]).swapaxes(0, 1)
        columns["members"] = chosen.reshape(count, -1)  # [M, S · C]
    return columns


def stored_predictions(columns: Columns) -> dict[str, Predictions[validity.Numbers]]:
    """The predictions in a run's columns, by evaluation set, of one lane, in float64.

    Raises:
        UqbenchError: the columns are not those that :func:`prediction_columns` makes.
    """
    try:
        sets = dict.fromkeys(columns["set"])
        return {str(name): _of_set(columns, columns["set"] == name) for name in sets}
    except (KeyError, ValueError, IndexError, TypeError) as error:
        known = ", ".join((*FURTHER, *NUMBERS, *VECTORS))
        raise UqbenchError(
            f"these are no stored predictions ({error}): expected columns among {known}"
        ) from error


def _of_set(columns: Columns, rows: NDArray[np.bool_]) -> Predictions[validity.Numbers]:
    def column(name: str) -> validity.Numbers | None:
        if name not in columns:
            return None
        own = columns[name][rows].astype(np.float64)[None]
        return None if np.isnan(own).all() else own

    numbers: dict[str, Any] = {name: column(name) for name in (*NUMBERS, *VECTORS)}
    members, targets, probs = column("members"), column("target"), numbers["probs"]
    if members is not None:
        width = 1 if probs is None else probs.shape[-1]
        members = np.moveaxis(members.reshape(*members.shape[:2], -1, width), 2, 0)
    said = PredictiveUncertainty(**numbers, unit=columns["unit"][rows][0], members=members)
    if targets is not None and probs is not None:
        targets = targets.astype(np.int64)
    return Predictions(said, targets, column("reference"))


def predictions_score(statistic: str, columns: Columns, host: Host) -> float:
    """A registered score of a run's stored predictions; NaN where they do not say enough."""
    return score_of(host.scores[statistic], stored_predictions(columns))


def score_of(spec: ScoreSpec, predictions: Mapping[str, Predictions[validity.Numbers]]) -> float:
    """A registered score; NaN where a set's predictions are invalid, whatever the score makes."""
    if not all(validity.is_prediction(one) for one in predictions.values()):
        return math.nan
    return float(spec.load_factory()(predictions))


def score_rows(
    metrics: Sequence[Metric], columns: Columns, host: Host, notify: Callable[[str], object]
) -> dict[str, float]:
    """The scores of stored predictions among these metrics, by their statistics.

    One that raises is NaN, of which ``notify`` is told: the predictions stay, to be scored later.
    """
    values = {}
    own = [m for m in metrics if m.kind == "predictions" and control_of(m) is None]
    for name in dict.fromkeys(metric.statistic for metric in own):
        values[name] = math.nan
        with contained(notify, f"the score {name!r} has no value: it raised "):
            values[name] = predictions_score(name, columns, host)
    return values
