"""Ground truth that an environment states: Q*, and the optimal return."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.environment import OptimalQ
from uqbench.lanes import Uniform
from uqbench.lanes.exploration import random_action
from uqbench.testing.conformance.check import Failed, Skipped, Vacuous, check
from uqbench.testing.conformance.environments import EnvironmentSubject, Met, play

LANES = 256
STEPS = 120
FALSE_ALARMS = 1e-4
"""Probability that a check rejects a correct environment, over all its comparisons."""
ROUNDING = 1e-5
TAIL = 1e-3
"""A rollout ends when a reward would count less than this."""


@check(EnvironmentSubject, "environment-optimal-q", after=("environment-seeds",))
def optimal_q(subject: EnvironmentSubject) -> None:
    """optimal_q solves the Bellman optimality equation under the task's discount.

    The mean residual of each (s, a) that random play meets.

    Fix:
        Q*(s, a) = E[r + γ max Q*(s', ·)], zero after a terminal state, NaN where a is not
        available; no time limit.
    """
    truth, rows, best = _truth(subject)
    residuals: dict[tuple[int, int], list[float]] = {}
    rewards: list[float] = []
    for obs, _, actions, outcome in _played(subject):
        rewards += outcome.reward.tolist()
        states, following = _at(rows, obs), _at(rows, outcome.next_obs)
        for lane, (state, after) in enumerate(zip(states, following, strict=True)):
            ended = bool(outcome.terminated[lane])
            if state is None or (after is None and not ended):
                continue
            pair = state, int(actions[lane])
            value = 0.0 if ended or after is None else float(best[after])
            target = float(outcome.reward[lane]) + subject.discount * value
            residuals.setdefault(pair, []).append(target - float(truth.values[pair]))
    if not residuals:
        raise Failed(f"none of the observations that it has values for was met in {STEPS} steps")
    size = float(truth.values.nan_to_num(0.0).abs().max())
    worth = [0.0, *best[best.isfinite()].tolist()]
    width = _width(rewards) + subject.discount * _width(worth)
    chance = width if _is_random(subject) else 0.0
    for (state, action), errors in residuals.items():
        what = f"the Bellman residual of state {state}, action {action}"
        _is_zero(errors, size, what, chance, len(residuals))


@check(EnvironmentSubject, "environment-greedy", after=("environment-optimal-q",))
def greedy(subject: EnvironmentSubject) -> None:
    """Rollouts of the greedy policy of optimal_q are worth what optimal_q says.

    From the start.

    Fix:
        The values are expected discounted returns from the observation that they belong to.
    """
    truth, rows, best = _truth(subject)
    if subject.discount >= 1:
        raise Skipped("without a discount a rollout may have no end")
    horizon = math.ceil(math.log(TAIL) / math.log(subject.discount))
    if horizon > 2_000:
        raise Vacuous(f"a rollout would take {horizon} steps")
    env = subject.make(range(LANES), None)
    obs, _ = env.reset()
    begun = _at(rows, obs)
    if None in begun:
        raise Skipped("it has no values for the start")
    policy = truth.values.nan_to_num(-math.inf).argmax(-1)
    returns, running = torch.zeros(LANES, dtype=torch.float64), torch.ones(LANES, dtype=torch.bool)
    for t in range(horizon):
        at = _at(rows, obs)
        if any(row is None for row, on in zip(at, running, strict=True) if on):
            raise Vacuous("the greedy policy leaves the states that it has values for")
        action = torch.tensor([0 if row is None else int(policy[row]) for row in at])
        outcome = env.step(action)
        returns += torch.where(running, subject.discount**t * outcome.reward.double(), 0.0)
        running &= ~outcome.terminated
        obs = outcome.obs.clone()
        if not running.any():
            break
    expected = [float(best[row]) for row in begun if row is not None]
    size = max(1.0, max(abs(value) for value in expected)) + TAIL / (1 - subject.discount)
    differences = [r - e for r, e in zip(returns.tolist(), expected, strict=True)]
    rewards = [r for *_, outcome in _played(subject) for r in outcome.reward.tolist()]
    # one reward that no rollout met may be anywhere in the range of those that random play did
    width = _width([*returns.tolist(), *expected]) + _width(rewards)
    chance = width if _is_random(subject) else 0.0
    _is_zero(differences, size, "the greedy return minus its value", chance, tail=TAIL * size)


@check(EnvironmentSubject, "environment-optimal-return", after=("environment-seeds",))
def optimal_return(subject: EnvironmentSubject) -> None:
    """No policy beats optimal_return, beyond chance.

    Random play and each constant action.

    Fix:
        It is the expected undiscounted return of the best policy, with the task's time limit.
    """
    if subject.optimal_return is None:
        raise Skipped("it states none")
    best = subject.optimal_return()
    n_actions = subject.make([0], subject.limit).n_actions
    played = {
        "random play": _returns(subject, None),
        **{f"the constant action {a}": _returns(subject, a) for a in range(n_actions)},
    }
    width = _width([best, *(value for returns in played.values() for value in returns)])
    enough = {who: returns for who, returns in played.items() if len(returns) >= 3}
    if not enough:
        raise Vacuous(f"no policy played three episodes to their end in {STEPS} steps")
    for who, returns in enough.items():
        values = torch.tensor(returns, dtype=torch.float64)
        chance = _margin(values, width, len(played)) if _is_random(subject) else 0.0
        if float(values.mean()) > best + chance + ROUNDING * max(1.0, abs(best)):
            raise Failed(f"{who} returns {float(values.mean()):.6g}; the best is {best:.6g}")


def _returns(subject: EnvironmentSubject, fixed: int | None) -> list[float]:
    """Of the episodes that end, with random actions, or with one; none where that is masked."""
    env = subject.make(range(LANES), subject.limit)
    draws, (_, valid) = Uniform(range(LANES), "conformance", ()), env.reset()
    totals, returns = torch.zeros(LANES, dtype=torch.float64), []
    for t in range(STEPS):
        if fixed is None:
            action = random_action(draws.at(t), env.n_actions, valid)
        elif valid is None or bool(valid[:, fixed].all()):
            action = torch.full((LANES,), fixed)
        else:
            return []
        outcome = env.step(action)
        totals += outcome.reward
        for lane in (outcome.terminated | outcome.truncated).nonzero()[:, 0].tolist():
            returns.append(float(totals[lane]))
            totals[lane] = 0.0
        valid = outcome.valid
    return returns


def _truth(subject: EnvironmentSubject) -> tuple[OptimalQ, dict[bytes, int], Tensor]:
    """Q*, the row of each observation, and the best values of the rows."""
    if subject.optimal_q is None:
        raise Skipped("it states no Q*")
    truth = subject.once("truth", subject.optimal_q)
    rows = {_key(obs): row for row, obs in enumerate(truth.obs)}
    return truth, rows, truth.values.nan_to_num(-math.inf).amax(-1)


def _at(rows: dict[bytes, int], obs: Tensor) -> list[int | None]:
    """The row of each observation; None where it has none."""
    return [rows.get(_key(one)) for one in obs]


def _key(obs: Tensor) -> bytes:
    key: bytes = obs.cpu().double().numpy().tobytes()
    return key


def _played(subject: EnvironmentSubject) -> list[Met]:
    """Random play without a time limit, in many lanes."""
    lanes = range(LANES)
    return subject.once("many", lambda: play(subject.make(lanes, None), lanes, STEPS))


def _is_random(subject: EnvironmentSubject) -> bool:
    """Whether anything that was done twice, at the same observation, had two outcomes.

    If nothing had, in all the steps of all lanes, the environment is deterministic, and the truth
    that it states is exact. If anything had, what is rare was perhaps not met elsewhere.
    """

    def differs() -> bool:
        outcomes: dict[tuple[bytes, int], tuple[float, bool, bytes]] = {}
        for obs, _, actions, outcome in _played(subject):
            for lane, action in enumerate(actions.tolist()):
                ended = bool(outcome.terminated[lane])
                after = b"" if ended else _key(outcome.next_obs[lane])
                now = float(outcome.reward[lane]), ended, after
                if outcomes.setdefault((_key(obs[lane]), action), now) != now:
                    return True
        return False

    return subject.once("random", differs)


def _width(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _margin(values: Tensor, width: float, comparisons: int) -> float:
    """How far the mean of n values in a range may lie from its expectation, by chance.

    The empirical Bernstein bound (Maurer & Pontil 2009, theorem 4), on both sides and for several
    comparisons together. Its second term, of order ``width / n``, is for what is too rare to have
    been met: a standard error knows nothing of it.
    """
    n = len(values)
    if n < 2:
        return math.inf
    log = math.log(4 * comparisons / FALSE_ALARMS)
    return math.sqrt(2 * float(values.var()) * log / n) + 7 * width * log / (3 * (n - 1))


def _is_zero(
    errors: list[float],
    size: float,
    what: str,
    width: float,
    comparisons: int = 1,
    tail: float = 0.0,
) -> None:
    """Whether a mean is zero up to rounding, a cut tail, and chance; ``width`` 0: no chance."""
    values = torch.tensor(errors, dtype=torch.float64)
    mean, allowed = float(values.mean()), ROUNDING * max(1.0, size) + tail
    if width:
        allowed += _margin(values, width, comparisons)
    if abs(mean) > allowed:
        raise Failed(f"{what} is {mean:.4g}, of {len(errors)}; expected 0 within {allowed:.2g}")
