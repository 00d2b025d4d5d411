"""What a plugin returns in a run, checked where it enters: one sentence says what is wrong.

Forms are checked at every step, which costs microseconds; values where the device is read anyway.
``uqbench plugin check`` finds the same before any run, and says how to repair it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.environment import Outcome
from uqbench.errors import UqbenchError, see

if TYPE_CHECKING:
    from uqbench.policy import Queried

VARIANCES = ("epistemic_var", "quantile_epistemic_var", "aleatoric_var", "oracle_var")
VALUES = ("mean", "epistemic_dof", *VARIANCES)
UNBOUNDED = ("epistemic_var", "quantile_epistemic_var", "oracle_var")
ROUNDING = 1e-6


def named(thing: object) -> str:
    """The class of an object and the package that it is from: ``Walker of toy_uqbench``."""
    kind = type(getattr(thing, "loop_agent", thing))  # of a SinglePolicy, whom it stands for
    return f"{kind.__name__} of {kind.__module__.partition('.')[0]}"


def check_action(agent: object, action: object, shape: tuple[int, ...], step: int, by: str) -> None:
    """Refuse actions of another shape or dtype.

    Raises:
        UqbenchError: names the class, the step and what was expected.
    """
    if not isinstance(action, Tensor):
        raise UqbenchError(
            f"the agent's {by} returned a {type(action).__name__}; expected a tensor, torch.int64 "
            f"of shape {shape} ({named(agent)}, step {step}){see('wrong-action')}"
        )
    if action.shape != shape or action.dtype != torch.int64:
        raise UqbenchError(
            f"the agent's {by} returned {action.dtype} of shape {tuple(action.shape)}; expected "
            f"torch.int64 of shape {shape}, an action for each observation ({named(agent)}, step "
            f"{step}){see('wrong-action')}"
        )


def check_range(agent: object, action: Tensor, n_actions: int, step: int) -> None:
    """Refuse actions that there are not; waits for the device.

    Raises:
        UqbenchError: names the action, the lane, the step and the class.
    """
    if action.numel() and not 0 <= int(action.min()) <= int(action.max()) < n_actions:
        wrong = ((action < 0) | (action >= n_actions)).nonzero()[0].tolist()
        raise UqbenchError(
            f"the agent chose action {int(action[tuple(wrong)])}; expected a valid one of 0 to "
            f"{n_actions - 1} (lane {wrong[0]}, step {step}, {named(agent)})"
            f"{see('wrong-action')}"
        )


def check_outcome(
    env: object, outcome: Outcome, obs: Tensor, step: int, events: Collection[str]
) -> None:
    """Refuse rewards, ends, observations and counts of another form.

    Args:
        env: that returned it.
        outcome: of one step of all lanes.
        obs: the observations that were acted on.
        step: its number.
        events: names that the plugin declares.

    Raises:
        UqbenchError: names the class, the step and what was expected.
    """
    lanes = (len(obs),)
    reward = outcome.reward
    if reward.shape != lanes or not reward.dtype.is_floating_point:
        raise _wrong(env, "reward", reward, "torch.float32", lanes, step)
    for name in ("terminated", "truncated"):
        ended = getattr(outcome, name)
        if ended.shape != lanes or ended.dtype != torch.bool:
            raise _wrong(env, name, ended, "torch.bool", lanes, step)
    for name in ("obs", "next_obs"):
        seen = getattr(outcome, name)
        if seen.shape != obs.shape or seen.dtype != obs.dtype:
            raise _wrong(env, name, seen, str(obs.dtype), tuple(obs.shape), step)
    for name in events:
        if name not in outcome.events:
            raise UqbenchError(
                f"the environment did not count the event {name!r}, which its plugin declares; it "
                f"counted {sorted(outcome.events)} ({named(env)}, step {step})"
                f"{see('undeclared-event')}"
            )


def _wrong(
    env: object, name: str, given: Tensor, dtype: str, shape: tuple[int, ...], step: int
) -> UqbenchError:
    return UqbenchError(
        f"the environment returned {name} as {given.dtype} of shape {tuple(given.shape)}; expected "
        f"{dtype} of shape {shape} ({named(env)}, step {step}){see('wrong-outcome')}"
    )


def check_metrics(agent: object, metrics: Mapping[str, object], lanes: int) -> None:
    """Refuse metrics that are not one number a lane.

    Raises:
        UqbenchError: names the metric and the class.
    """
    for name, value in metrics.items():
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
            f"uqbench.agent.Uncertainty or None ({named(agent)}, step {step})"
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
        known = ~value.isnan() if name in UNBOUNDED else value.isfinite()
        bad = ~known.flatten(1).all(1)
        what = "Q-values are" if name == "mean" else f"{name} is"
        if bad.any():
            wrong = "NaN" if name in UNBOUNDED else "not finite"
            raise _lanes(agent, f"{what} {wrong}", bad, step)
        if name in VARIANCES:
            largest = float(value.nan_to_num(posinf=0.0).max())
            least = -ROUNDING * (1 + largest)
            negative = (value < least).flatten(1).any(1)
            if negative.any():
                raise _lanes(
                    agent, f"{name} is negative ({float(value.min()):.4g})", negative, step
                )
    if predicted.return_probs is not None:
        sums = predicted.return_probs.sum(-1).flatten(1)
        off = ((sums - 1).abs() > 1e-3).any(1)
        if off.any():
            raise _lanes(agent, "return_probs do not sum to one", off, step)


def _lanes(agent: object, what: str, where: Tensor, step: int) -> UqbenchError:
    lanes = where.nonzero()[:, 0].tolist()
    return UqbenchError(
        f"the agent's {what} after {step} steps, in lanes {lanes} ({named(agent)})"
        f"{see('wrong-uncertainty')}"
    )
