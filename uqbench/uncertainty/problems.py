"""Checks of a data set, before anything is learned from it, and of its scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, ReferenceModel
from uqbench.uncertainty.plain import PLAIN, form_of, plain_parts
from uqbench.uncertainty.validity import PROBABILITY, Speaker


def drawn(
    dataset: Dataset, seeds: Sequence[int], by: Speaker
) -> tuple[Data, Mapping[str, EvaluationSet]]:
    """The training data and evaluation sets of a data set, checked.

    Each is made anew as soon as it is returned: whatever the data set writes later, also into the
    seeds that it is given, is nobody else's.

    Raises:
        UqbenchError: they are not valid.
    """
    data: Any = _anew(dataset.data([*seeds]), replace(by, when="for training"))
    sets: Any = _anew(dataset.evaluation_sets([*seeds]), by)
    check_data(dataset, data, sets, len(seeds), by)
    return data, sets


def _anew(given: object, by: Speaker) -> object:
    """A part in memory of its own; the check refuses what is none."""
    if isinstance(given, Mapping):
        whens = {name: replace(by, when=f"of the set {name!r}") for name in given}
        return {name: _anew(given[name], when) for name, when in whens.items()}
    if isinstance(given, EvaluationSet):
        return plain_parts(given, EvaluationSet, by)
    return plain_parts(given, Data, by) if isinstance(given, Data) else given


def reference_log_probs(
    model: ReferenceModel, inputs: Tensor, n_classes: int, when: str, see: str
) -> Tensor:
    """Log-probabilities ``[L, M, C]`` of the reference model for copies of inputs ``[L, M, *x]``.

    Raises:
        UqbenchError: they are no log-probabilities.
    """
    by = Speaker("reference model", type(model).__name__, when, see)
    said, shape = model.log_probs(inputs.clone()), (*inputs.shape[:2], n_classes)
    if type(said) not in PLAIN or said.shape != shape or not said.dtype.is_floating_point:
        raise by.refusal(f"log_probs {when} are {form_of(said)}", f"floats of shape {shape}")
    total = said.detach().double().exp().sum(-1)
    off = ~((total - 1).abs() <= PROBABILITY)
    by.refuse("probabilities do not sum to one", off, total, "a log_softmax over the classes")
    return said.detach().clone()


def check_data(
    dataset: Dataset, data: object, sets: Mapping[str, object], lanes: int, by: Speaker
) -> None:
    """Refuse training data and evaluation sets that are not what the data set says of itself.

    Args:
        dataset: says what an input is, and how many classes there are.
        data: the training sets of the lanes.
        sets: the evaluation sets.
        lanes: L.
        by: the data set.

    Raises:
        UqbenchError: names class, part, lane, point, what was found and what was expected.
    """
    classes: object = dataset.n_classes
    if not isinstance(classes, int) or classes < 0 or classes == 1:
        raise by.refusal(f"n_classes is {classes!r}", "2 or more, or 0 for a regression")
    if not isinstance(data, Data):
        raise by.refusal(f"data is a {type(data).__name__}", "a uqbench.estimator.Data")
    if not isinstance(sets, Mapping) or not sets:
        raise by.refusal(f"evaluation_sets are {sets!r}", "one EvaluationSet or more, by name")
    held = {} if data.validation is None else {"for validation": data.validation}
    parts: dict[str, object] = {f"of the set {name!r}": one for name, one in sets.items()}
    for name, part in {"for training": data, **held, **parts}.items():
        if not isinstance(part, Data | EvaluationSet):
            found = f"part {name} is a {type(part).__name__}"
            raise by.refusal(found, "a Data or an EvaluationSet")
        _check_points(dataset, part, lanes, replace(by, when=name))


def check_scores(scores: object, declared: Iterable[str], lanes: int, by: Speaker) -> None:
    """Refuse scores that are not the declared ones, a finite number a lane.

    Raises:
        UqbenchError: names the score, what was found and what was expected.
    """
    names = sorted(declared)
    if not isinstance(scores, Mapping) or sorted(scores) != names:
        found = sorted(scores) if isinstance(scores, Mapping) else type(scores).__name__
        raise by.refusal(f"scores are {found}", f"those that its plugin declares: {names}")
    for name, value in scores.items():
        if type(value) not in PLAIN or value.shape != (lanes,) or value.is_complex():
            expected = f"a tensor of shape ({lanes},), a number for each lane"
            raise by.refusal(f"score {name!r} is {form_of(value)}", expected)
        if not value.isfinite().all():
            lane = int((~value.isfinite()).nonzero()[0])
            found = f"score {name!r} is {float(value[lane])} in lane {lane}"
            raise by.refusal(found, "a finite number")


def _check_points(dataset: Dataset, part: Data | EvaluationSet, lanes: int, by: Speaker) -> None:
    """Refuse inputs that are not finite or of another shape, and targets that are not theirs."""
    inputs: object = part.inputs
    one = tuple(dataset.inputs)
    shape = tuple(inputs.shape) if isinstance(inputs, Tensor) else ()
    if not isinstance(inputs, Tensor) or (shape[0:1], shape[2:]) != ((lanes,), one) or not shape[1]:
        sizes = ", ".join(map(str, (lanes, "points", *one)))
        expected = f"({sizes}): lanes first, and one input is {one}"
        raise by.refusal(f"inputs {by.when} are {form_of(inputs)}", expected)
    by.refuse("inputs are not finite", ~inputs.isfinite(), inputs, "finite numbers")
    targets: object = part.targets
    if targets is None and isinstance(part, EvaluationSet):
        return
    dtype = torch.int64 if dataset.n_classes else torch.float32
    if not isinstance(targets, Tensor) or targets.shape != shape[:2] or targets.dtype != dtype:
        expected = f"{dtype} of shape {shape[:2]}, one for each input"
        raise by.refusal(f"targets {by.when} are {form_of(targets)}", expected)
    if dataset.n_classes:
        outside = (targets < 0) | (targets >= dataset.n_classes)
        by.refuse("targets are no class", outside, targets, f"0 to {dataset.n_classes - 1}")
    by.refuse("targets are not finite", ~targets.isfinite(), targets, "finite numbers")
