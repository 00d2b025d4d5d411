"""What a plugin returns in a run, checked where it enters: one sentence says what is wrong.

Forms are checked at every step, which costs microseconds; values where the device is read anyway.
``uqbench plugin check`` finds the same before any run, and says how to repair it.
"""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

from uqbench.contract.environment import Outcome
from uqbench.contract.errors import UqbenchError, see


def named(thing: object) -> str:
    """The class of an object and the package that it is from: ``Walker of toy_uqbench``."""
    kind = type(getattr(thing, "loop_agent", thing))  # of a SinglePolicy, whom it stands for
    return f"{kind.__name__} of {kind.__module__.partition('.')[0]}"


def check_action(agent: object, action: object, shape: tuple[int, ...], step: int, by: str) -> None:
    """Refuse actions of another shape or dtype.

    Raises:
        UqbenchError: names the class, the step and what was expected.
    """
    if not isinstance(action, Tensor) or action.shape != shape or action.dtype != torch.int64:
        raise UqbenchError(
            f"the agent's {by} returned {_form(action)}; expected torch.int64 of shape {shape}, a "
            f"tensor with an action for each observation ({named(agent)}, step {step})"
            f"{see('wrong-action')}"
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
    lanes, pixels = (len(obs),), tuple(obs.shape)
    for name, dtype, shape in (
        ("reward", torch.float32, lanes),
        ("terminated", torch.bool, lanes),
        ("truncated", torch.bool, lanes),
        ("obs", obs.dtype, pixels),
        ("next_obs", obs.dtype, pixels),
    ):
        value = getattr(outcome, name)
        any_float = name == "reward" and value.dtype.is_floating_point
        if value.shape != shape or not (any_float or value.dtype == dtype):
            raise UqbenchError(
                f"the environment returned {name} as {_form(value)}; expected {dtype} of shape "
                f"{shape} ({named(env)}, step {step}){see('wrong-outcome')}"
            )
    for name in events:
        if name not in outcome.events:
            raise UqbenchError(
                f"the environment did not count the event {name!r}, which its plugin declares; it "
                f"counted {sorted(outcome.events)} ({named(env)}, step {step})"
                f"{see('undeclared-event')}"
            )


def _form(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"


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
