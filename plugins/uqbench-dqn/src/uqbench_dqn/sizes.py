"""Statements at every size, for an environment's own scores of widths.

Such a score is of a width's form and of its size. A suite's metric ``queries/sized/NAME`` is of the
form: each run is scored at the size that is the best in the other runs of its task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty

SIZES = [10 ** (k / 8) for k in range(-20, 21)]
"""Factors of the stated widths, from 1/316 to 316; the middle one is 1."""
LARGEST = 1e4
"""Standard deviations above it are not told apart, in units of return."""


def at_sizes(
    score: Callable[[Uncertainty], Mapping[str, Tensor]], stated: Uncertainty, names: Sequence[str]
) -> Mapping[str, Tensor]:
    """Scores ``[L]`` of a statement, and those of some names as ``NAME@k`` of it at ``SIZES[k]``.

    Args:
        score: of a statement, by name.
        stated: by the agent.
        names: of the scores that depend on sizes.
    """
    found = dict(score(stated))
    for k, size in enumerate(SIZES if found.keys() & {*names} else ()):
        of = score(_times(stated, size))
        found |= {f"{name}@{k}": of[name] for name in names}
    return found


def covariance(stated: Uncertainty) -> Tensor:
    """The covariance of all K values that a statement ``[L, M, A]`` implies, ``[L, K, K]`` float64.

    Widths are those of the variances where these are stated; samples tell how values depend on each
    other. So who states both says one thing. Without samples values are independent, and without
    either they are certain.
    """
    var, samples = stated.epistemic_var, stated.value_samples
    if samples is not None:
        away = samples.double().flatten(1, 2)
        away = away - away.mean(-1, keepdim=True)
        var = away.square().sum(-1) / (away.shape[-1] - 1) if var is None else var.flatten(1)
        to_one = away / away.norm(dim=-1, keepdim=True).clamp(min=1e-9)
    else:
        assert stated.mean is not None, "a statement has a mean or samples"
        var = torch.zeros_like(stated.mean) if var is None else var
        var = var.flatten(1)
    std = var.double().clamp(0, LARGEST**2).sqrt()
    found = torch.diag_embed(std.square())
    if samples is not None:
        own = std[..., None] * to_one @ (std[..., None] * to_one).mT
        found = own.diagonal_scatter(std.square(), dim1=1, dim2=2)
    return found


def consistent(stated: Uncertainty) -> Uncertainty:
    """What is stated, its samples with the widths of its variances where both are there.

    About the same means; a value of which all samples are the same stays certain in them.
    """
    var, samples = stated.epistemic_var, stated.value_samples
    if var is None or samples is None:
        return stated
    middle = samples.double().mean(-1, keepdim=True)
    away = samples.double() - middle
    size = (var.double().clamp(0, LARGEST**2) / away.var(-1).clamp(min=1e-18)).sqrt()
    return replace(stated, value_samples=middle + size[..., None] * away)


def _times(stated: Uncertainty, size: float) -> Uncertainty:
    """What is stated of Q, with all widths times ``size`` about the same means; no return law."""
    var, samples = stated.epistemic_var, stated.value_samples
    if samples is not None:
        middle = samples.double().mean(-1, keepdim=True)
        samples = middle + size * (samples - middle)
    var = None if var is None else size**2 * var.double()
    of_q = {"epistemic_var": var, "value_samples": samples}
    return replace(stated, **of_q, return_atoms=None, return_probs=None)
