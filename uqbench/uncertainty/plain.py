"""Copies of what plugins state in torch, and the check of what an agent states.

A statement is made anew before it is checked, scored and stored: nobody else holds that object.
"""

from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from uqbench.contract.agent import Uncertainty
from uqbench.contract.errors import UqbenchError
from uqbench.contract.estimator import Data, EvaluationSet, PredictiveUncertainty
from uqbench.uncertainty import validity
from uqbench.uncertainty.validity import ROUNDING, SCORE, Speaker

VARIANCES = ("epistemic_var", "quantile_epistemic_var", "aleatoric_var", "oracle_var")
VALUES = ("mean", "epistemic_dof", *VARIANCES)
"""An agent's values: one number an action."""
UNBOUNDED = ("epistemic_var", "quantile_epistemic_var", "oracle_var", "epistemic_dof")
"""May be infinite, where nothing was ever seen (O'Donoghue et al. 2018, section 4: the local
uncertainty β² / n of what was never visited); degrees of freedom where a variance is exact."""
PLAIN = (Tensor, Parameter)
"""Another class's tensor computes with itself whatever it wants."""
Stated = TypeVar("Stated", PredictiveUncertainty, Uncertainty, Data, EvaluationSet)


def plain_parts(stated: object, kind: type[Stated], by: Speaker) -> Stated:
    """A statement or data, made anew: its tensors' numbers, in memory that nobody else holds.

    Dense, contiguous and without gradient. What is checked, scored and stored is this object.

    Raises:
        UqbenchError: it is of another kind, or a part is a tensor of a subclass, sparse or meta.
    """
    if not isinstance(stated, kind):
        found = f"statement {by.when} is a {type(stated).__name__}"
        raise by.refusal(found, f"a {kind.__module__.replace('.contract.', '.')}.{kind.__name__}")
    parts: dict[str, Any] = {}
    for name in (field.name for field in fields(kind)):
        value = parts[name] = getattr(stated, name)
        if isinstance(value, Data):
            parts[name] = plain_parts(value, Data, replace(by, when=f"for {name}"))
        if not isinstance(value, Tensor):
            continue
        if type(value) not in PLAIN or value.is_meta or value.layout != torch.strided:
            expected = "a torch.Tensor itself, of numbers, dense"
            raise by.refusal(f"{name} {by.when} is {form_of(value)}", expected)
        parts[name] = value.detach().clone(memory_format=torch.contiguous_format)
    return kind(**parts)


def plain_prediction(
    stated: object, shape: tuple[int, int], n_classes: int, by: Speaker
) -> PredictiveUncertainty:
    """A prediction as :func:`plain_parts` makes it, in float64 on the CPU, its forms checked.

    Args:
        stated: by the estimator, for ``shape`` inputs.
        shape: ``(L, M)``.
        n_classes: C, 0 for a regression.
        by: the estimator.

    Raises:
        UqbenchError: it is no prediction, or a part has another shape or dtype.
    """
    said = plain_parts(stated, PredictiveUncertainty, by)
    dict(validity.rounded(said, shape, n_classes, by))
    parts = {name: x.double().cpu() for name, x in vars(said).items() if validity.is_float(x)}
    return replace(said, **parts)


def check_uncertainty(
    stated: Uncertainty, shape: tuple[int, int], n_actions: int, by: Speaker
) -> None:
    """Refuse predictions of another shape, that are not finite, or negative variances.

    Args:
        stated: by the agent.
        shape: ``(L, M)``.
        n_actions: A.
        by: the agent.

    Raises:
        UqbenchError: names the prediction, lane, point and class, and what was expected.
    """
    each = (*shape, n_actions)
    values = {name: value for name, value in vars(stated).items() if value is not None}
    for name, value in values.items():
        form = value.shape if name in VALUES else value.shape[:3]
        if not validity.is_float(value) or form != each:
            expected = f"floats of shape {each if name in VALUES else (*each, '…')}"
            raise by.refusal(f"uncertainty has a {name} of {form_of(value)} {by.when}", expected)
    atoms, probs = stated.return_atoms, stated.return_probs
    if getattr(atoms, "shape", None) != getattr(probs, "shape", None):
        found = f"uncertainty has {'no ' * (atoms is None)}return_atoms beside its return_probs"
        raise by.refusal(found, "both, of one shape, or neither")
    for name, value in ((n, validity.numbers(x)) for n, x in values.items()):
        what = "Q-values are" if name == "mean" else f"{name} is"
        if name in UNBOUNDED:
            by.refuse(f"{what} NaN", np.isnan(value), value, "numbers, inf where nothing was seen")
        else:
            by.refuse(f"{what} not finite", ~np.isfinite(value), value, "finite numbers")
        if name in VARIANCES:
            negative = value < -ROUNDING * (1 + validity.largest(value))
            by.refuse(f"{what} negative", negative, value, "a variance, zero or more")
        if name == "epistemic_dof":
            by.refuse(f"{what} not positive", value <= 0, value, "degrees of freedom above zero")
        if name == "return_probs":
            validity.check_probabilities(name, value, True, by)


def form_of(value: object) -> str:
    """Dtype and shape of a tensor, the type of anything else."""
    if not isinstance(value, Tensor) or type(value) not in PLAIN:
        return f"a {type(value).__name__}"
    if value.is_meta or value.layout != torch.strided:
        return f"{value.dtype} {'on meta' if value.is_meta else value.layout}"
    return f"{value.dtype} of shape {tuple(value.shape)}"


def is_valid(stated: Uncertainty, known: Tensor | None = None) -> Tensor:
    """Whether each lane's statement may be scored, bool ``[L]``.

    Args:
        stated: ``[L, M, A, …]``.
        known: the actions that count, ``[M, A]`` or ``[L, M, A]`` bool; None for all.
    """
    each = {name: value for name, value in vars(stated).items() if value is not None}
    if not each:
        return torch.tensor(True)
    first = next(iter(each.values()))
    asked = first.new_ones(first.shape[:3], dtype=torch.bool) if known is None else known
    valid = torch.zeros(len(first), dtype=torch.bool, device=first.device)
    for lane, which in enumerate(asked.expand(first.shape[:3])):
        own = {name: value[lane][which][None, :, None] for name, value in each.items()}
        with suppress(UqbenchError):
            check_uncertainty(Uncertainty(**own), (1, int(which.sum())), 1, SCORE)
            valid[lane] = True
    return valid
