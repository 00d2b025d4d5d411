"""What a plugin returns in a run, checked where it enters: one sentence says what is wrong.

Forms are checked at every step, which costs microseconds; values where the device is read anyway.
``uqbench plugin check`` finds the same before any run, and says how to repair it.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from uqbench.contract.agent import Queried, Uncertainty
from uqbench.contract.errors import UqbenchError, see
from uqbench.uncertainty.scores import PREFIXES

VARIANCES = ("epistemic_var", "quantile_epistemic_var", "aleatoric_var", "oracle_var")
VALUES = ("mean", "epistemic_dof", *VARIANCES)
UNBOUNDED = ("epistemic_var", "quantile_epistemic_var", "oracle_var")
ROUNDING = 1e-6
MEASURED = ("reward", "evaluation_return")
SCORED = ("events/", *PREFIXES)
"""Names of what the harness records itself, and what such names begin with."""


def named(thing: object) -> str:
    """The class of an object and the package that it is from: ``Walker of toy_uqbench``."""
    while (inner := getattr(thing, "stands_for", None)) is not None:
        thing = inner  # a method that owns its loop, or an environment of another library
    kind = type(thing)
    return f"{kind.__name__} of {kind.__module__.partition('.')[0]}"


def check_action(agent: object, action: object, shape: tuple[int, ...], step: int, by: str) -> None:
    """Refuse actions of another shape or dtype.

    Raises:
        UqbenchError: names the class, the step and what was expected.
    """
    if not isinstance(action, Tensor) or action.shape != shape or action.dtype != torch.int64:
        raise UqbenchError(
            f"the agent's {by} returned {form(action)}; expected torch.int64 of shape {shape}, a "
            f"tensor with an action for each observation ({named(agent)}, step {step})"
            f"{see('wrong-action')}"
        )


def check_range(agent: object, action: Tensor, n_actions: int, step: int) -> None:
    """Refuse actions that there are not; waits for the device.

    Raises:
        UqbenchError: names the action, the lane, the step and the class.
    """
    if not action.numel():
        return
    least, most = action.aminmax()
    if not (least >= 0 and most < n_actions):
        wrong = ((action < 0) | (action >= n_actions)).nonzero()[0].tolist()
        raise UqbenchError(
            f"the agent chose action {int(action[tuple(wrong)])}; expected a valid one of 0 to "
            f"{n_actions - 1} (lane {wrong[0]}, step {step}, {named(agent)})"
            f"{see('wrong-action')}"
        )


def form(value: object) -> str:
    """A value's dtype and shape, or its type."""
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"


def check_metrics(agent: object, metrics: Mapping[str, object], lanes: int) -> None:
    """Refuse metrics that are not one number a lane, or are named as what is measured.

    Raises:
        UqbenchError: names the metric and the class.
    """
    for name, value in metrics.items():
        if name in MEASURED or name.startswith(SCORED):
            raise UqbenchError(
                f"the agent reports a metric {name!r}, which is measured here, not by agents; "
                f"expected another name ({named(agent)}){see('wrong-metric')}"
            )
        form = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        if form != (lanes,):
            raise UqbenchError(
                f"the agent's metric {name!r} is {form}; expected a tensor of shape ({lanes},), a "
                f"number for each lane ({named(agent)}){see('wrong-metric')}"
            )


def check_uncertainty(agent: Queried, obs: Tensor, n_actions: int, step: int) -> None:
    """Refuse predictions of another shape, that are not finite, or negative variances.

    An epistemic variance may be infinite, where nothing was ever seen (O'Donoghue et al. 2018,
    section 4: the local uncertainty β² / n of what was never visited).

    Args:
        agent: predicts.
        obs: observations ``[L, M, *obs]``.
        n_actions: A.
        step: steps taken.

    Raises:
        UqbenchError: names the prediction, the lanes, the class and what was expected.
    """
    predicted = agent.uncertainty(obs)
    if predicted is None:
        return
    if not isinstance(predicted, Uncertainty):
        raise UqbenchError(
            f"the agent's uncertainty returned a {type(predicted).__name__}; expected a "
            f"uqbench.contract.agent.Uncertainty or None ({named(agent)}, step {step})"
            f"{see('wrong-uncertainty')}"
        )
    shape = (*obs.shape[:2], n_actions)
    for name, value in vars(predicted).items():
        if value is None:
            continue
        if (value.shape if name in VALUES else value.shape[:3]) != shape:
            more = shape if name in VALUES else (*shape, "…")
            raise UqbenchError(
                f"the agent's uncertainty has a {name} of shape {tuple(value.shape)}; expected "
                f"{more} ({named(agent)}, step {step}){see('wrong-uncertainty')}"
            )
        what = "Q-values are" if name == "mean" else f"{name} is"
        wrong = {f"{what} not finite": ~value.isfinite()}
        if name in UNBOUNDED:
            wrong = {f"{what} NaN": value.isnan()}
        if name in VARIANCES:
            largest = float(value.nan_to_num(posinf=0.0).max())
            negative = value < -ROUNDING * (1 + largest)
            wrong[f"{what} negative ({float(value.min()):.4g})"] = negative
        if name == "return_probs":
            wrong["return_probs do not sum to one"] = (value.sum(-1) - 1).abs() > 1e-3
        for sentence, where in wrong.items():
            if where.any():
                lanes = where.flatten(1).any(1).nonzero()[:, 0].tolist()
                raise UqbenchError(
                    f"the agent's {sentence} after {step} steps, in lanes {lanes} "
                    f"({named(agent)}){see('wrong-uncertainty')}"
                )
