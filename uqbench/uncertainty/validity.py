"""Is what was stated a statement? What is not has no score.

Runs refuse the same with class, lane and step; scores ask again, since they are also computed from
what is stored, and of what others bring.
"""

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.contract.estimator import PredictiveUncertainty

MAY_BE_INFINITE = ("epistemic_var", "quantile_epistemic_var", "oracle_var")
VARIANCES = (*MAY_BE_INFINITE, "aleatoric_var")
SPREADS = ("total", "aleatoric", "epistemic")
ROUNDING = 1e-6
"""Of variances below zero, in those of their largest."""
SUM = 1e-3
"""By which probabilities may miss one: float16 is honest."""


def is_valid(stated: Uncertainty, known: Tensor | None = None) -> Tensor:
    """Whether numbers are finite, variances not negative, and probabilities are some: bool ``[L]``.

    Args:
        stated: ``[L, M, A, ...]``.
        known: the actions that count, ``[L, M, A]`` or ``[M, A]`` bool; None for all.
    """
    valid: list[Tensor] = []
    for name, value in vars(stated).items():
        if value is None:
            continue
        right = ~value.isnan() if name in MAY_BE_INFINITE else value.isfinite()
        if name in VARIANCES:
            right &= value >= -ROUNDING * (1 + value.nan_to_num(posinf=0.0).amax())
        if name == "return_probs":
            right &= are_probabilities(value)[..., None]
        right = right.flatten(3).all(-1) if right.ndim > 3 else right
        valid.append((right if known is None else right | ~known).flatten(1).all(1))
    return torch.stack(valid).all(0) if valid else torch.tensor(True)


def is_prediction(said: PredictiveUncertainty) -> bool:
    """Whether numbers are finite, probabilities are some, and no spread or width is negative."""
    numbers = {name: x for name, x in vars(said).items() if isinstance(x, Tensor)}
    spreads = {name: numbers[name] for name in SPREADS if name in numbers}
    if len(spreads) < len(SPREADS) or not all(x.isfinite().all() for x in numbers.values()):
        return False
    if said.interval is not None:
        spreads["interval"] = said.interval[..., 1] - said.interval[..., 0]
    lowest = {name: -ROUNDING * (1 + float(x.abs().amax())) for name, x in spreads.items()}
    if said.unit != "return" and any((x < lowest[n]).any() for n, x in spreads.items()):
        return False
    stated = () if said.probs is None else (said.probs, said.members)
    return all(probs is None or bool(are_probabilities(probs).all()) for probs in stated)


def are_probabilities(values: Tensor) -> Tensor:
    """Whether they are at least 0 and sum to one, ``[..., C]`` to bool ``[...]``."""
    return (values >= 0).all(-1) & ((values.sum(-1) - 1).abs() <= SUM)
