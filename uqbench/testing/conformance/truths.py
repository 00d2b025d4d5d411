"""Ground truth that an environment states: Q*, and the optimal return."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from uqbench.environment import OptimalQ
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.testing.conformance.environments import SOUND, EnvironmentSubject, play

LANES = 64
STEPS = 120
STANDARD_ERRORS = 6.0
"""Beyond which a mean disagrees: a false alarm in one of 10⁸ comparisons."""
ROUNDING = 1e-5
TAIL = 1e-3
"""A rollout ends when a reward would count less than this."""


@check(
    EnvironmentSubject,
    "environment-optimal-q",
    rule="optimal_q solves the Bellman optimality equation under the task's discount.",
    fix="Q*(s, a) = E[r + γ max Q*(s', ·)], zero after a terminal state, NaN where a is not "
    "available; no time limit.",
    after=SOUND,
)
def optimal_q(subject: EnvironmentSubject) -> None:
    """The mean residual of each (s, a) that random play meets often enough."""
    truth = _truth(subject)
    rows = _rows(truth)
    best = truth.values.nan_to_num(-math.inf).amax(-1)
    residuals: dict[tuple[int, int], list[float]] = {}
    env = subject.make(range(LANES), None)
    seeds = list(range(LANES))
    taken: list[Tensor] = []
    step = env.step
    env.step = lambda action: (taken.append(action.clone()), step(action))[1]  # type: ignore
    for t, (obs, _, outcome) in enumerate(play(env, seeds, STEPS)):
        for lane in range(LANES):
            state, following = _row(rows, obs[lane]), _row(rows, outcome.next_obs[lane])
            if state is None:
                continue
            if outcome.terminated[lane]:
                value = 0.0
            elif following is None:
                continue
            else:
                value = float(best[following])
            action = int(taken[t][lane])
            target = float(outcome.reward[lane]) + subject.discount * value
            residuals.setdefault((state, action), []).append(
                target - float(truth.values[state, action])
            )
    if not residuals:
        raise Failed("none of the observations that it has values for was met in 120 steps")
    size = float(truth.values.nan_to_num(0.0).abs().max())
    for (state, action), found in residuals.items():
        _is_zero(found, size, f"the Bellman residual of state {state}, action {action}")


@check(
    EnvironmentSubject,
    "environment-greedy",
    rule="Rollouts of the greedy policy of optimal_q are worth what optimal_q says.",
    fix="The values are expected discounted returns from the observation that they belong to.",
    after=(*SOUND, "environment-optimal-q"),
)
def greedy(subject: EnvironmentSubject) -> None:
    """From the start, in 64 lanes."""
    truth = _truth(subject)
    if subject.discount >= 1:
        raise Skipped("without a discount a rollout may have no end")
    horizon = math.ceil(math.log(TAIL) / math.log(subject.discount))
    if horizon > 2_000:
        raise Skipped(f"a rollout would take {horizon} steps")
    rows, env = _rows(truth), subject.make(range(LANES), None)
    obs, _ = env.reset()
    begun = [_row(rows, one) for one in obs]
    if None in begun:
        raise Skipped("it has no values for the start")
    policy = truth.values.nan_to_num(-math.inf).argmax(-1)
    returns, running = torch.zeros(LANES, dtype=torch.float64), torch.ones(LANES, dtype=torch.bool)
    for t in range(horizon):
        at = [_row(rows, one) for one in obs]
        if any(row is None for row, on in zip(at, running, strict=True) if on):
            raise Skipped("the greedy policy leaves the states that it has values for")
        action = torch.tensor([0 if row is None else int(policy[row]) for row in at])
        outcome = env.step(action)
        returns += torch.where(running, subject.discount**t * outcome.reward.double(), 0.0)
        running &= ~outcome.terminated
        obs = outcome.obs.clone()
    best = truth.values.nan_to_num(-math.inf).amax(-1)
    expected = [float(best[row]) for row in begun if row is not None]
    size = max(1.0, max(abs(value) for value in expected)) + TAIL / (1 - subject.discount)
    differences = [r - e for r, e in zip(returns.tolist(), expected, strict=True)]
    _is_zero(differences, size, "the greedy return minus its value", tail=TAIL * size)


@check(
    EnvironmentSubject,
    "environment-optimal-return",
    rule="No policy beats optimal_return, beyond chance.",
    fix="It is the expected undiscounted return of the best policy, with the task's time limit.",
    after=SOUND,
)
def optimal_return(subject: EnvironmentSubject) -> None:
    """Random play and each constant action."""
    if subject.optimal_return is None:
        raise Skipped("it states none")
    best = subject.optimal_return()
    n_actions = subject.make([0], subject.limit).n_actions
    for fixed in (None, *range(n_actions)):
        returns = _returns(subject, fixed)
        if len(returns) < 3:
            continue
        values = torch.tensor(returns, dtype=torch.float64)
        margin = STANDARD_ERRORS * float(values.std()) / math.sqrt(len(returns))
        if float(values.mean()) > best + margin + ROUNDING * max(1.0, abs(best)):
            who = "random play" if fixed is None else f"the constant action {fixed}"
            raise Failed(f"{who} returns {float(values.mean()):.6g}; the best is {best:.6g}")


def _returns(subject: EnvironmentSubject, fixed: int | None) -> list[float]:
    """Of the episodes that end, with random actions, or with one."""
    env = subject.make(range(LANES), subject.limit)
    totals, returns = torch.zeros(LANES, dtype=torch.float64), []
    if fixed is not None:
        step = env.step
        env.step = lambda action: step(torch.full_like(action, fixed))  # type: ignore
    try:
        played = play(env, list(range(LANES)), STEPS)
    except Exception:
        return []  # that action is masked somewhere
    for _, _, outcome in played:
        totals += outcome.reward
        for lane in (outcome.terminated | outcome.truncated).nonzero()[:, 0].tolist():
            returns.append(float(totals[lane]))
            totals[lane] = 0.0
    return returns


def _truth(subject: EnvironmentSubject) -> OptimalQ:
    if subject.optimal_q is None:
        raise Skipped("it states no Q*")
    if "truth" not in subject.memory:
        subject.memory["truth"] = subject.optimal_q()
    truth: OptimalQ = subject.memory["truth"]
    return truth


def _rows(truth: OptimalQ) -> dict[bytes, int]:
    return {_key(obs): row for row, obs in enumerate(truth.obs)}


def _row(rows: dict[bytes, int], obs: Tensor) -> int | None:
    return rows.get(_key(obs))


def _key(obs: Tensor) -> bytes:
    key: bytes = obs.cpu().double().numpy().tobytes()
    return key


def _is_zero(found: list[float], size: float, what: str, tail: float = 0.0) -> None:
    """Whether a mean is zero up to rounding, a cut tail, and six standard errors."""
    values = torch.tensor(found, dtype=torch.float64)
    mean, rounding = float(values.mean()), ROUNDING * max(1.0, size) + tail
    if abs(mean) <= rounding:
        return
    spread = float(values.std()) if len(found) > 1 else math.inf
    if spread > rounding and len(found) < 20:
        return  # noise, and too few to tell
    if abs(mean) > rounding + STANDARD_ERRORS * spread / math.sqrt(len(found)):
        raise Failed(f"{what} is {mean:.4g}, of {len(found)}; expected 0")
