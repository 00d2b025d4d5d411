"""Rules of the truth that an environment states: Q*, and the optimal return."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from uqbench.contract.environment import OptimalQ
from uqbench_testing.conformance.check import Vacuous, applies, check, expect, once
from uqbench_testing.conformance.environments import EnvironmentSubject, at_random, go_on, play

LANES = 256
STEPS = 120
FALSE_ALARMS = 1e-4
"""Probability that a check rejects a correct environment, over all its comparisons."""
ROUNDING = 1e-5


@check(EnvironmentSubject, "environment-optimal-q", after=("environment-seeds",))
def optimal_q(subject: EnvironmentSubject) -> None:
    """optimal_q solves the Bellman optimality equation under the task's discount.

    The mean residual of each (s, a) that is met at random, or by the greedy policy of optimal_q,
    which should meet no state without values.

    Fix:
        Q*(s, a) = E[r + γ max Q*(s', ·)], zero after a terminal state, NaN where a is not
        available; no time limit.
    """
    truth, best, rows_of = _truth(subject)
    obs, action, reward, ended, next_obs = _played(subject)
    state, after = rows_of(obs), rows_of(next_obs)
    known = (state >= 0) & (ended | (after >= 0))
    expect(known.any(), f"none of the observations that it has values for was met in {STEPS} steps")
    target = reward.double() + subject.discount * torch.where(ended, 0.0, best[after])
    errors = (target - truth.values[state, action])[known]
    pairs, pair_of = torch.stack((state, action), 1)[known].unique(dim=0, return_inverse=True)
    rounding = ROUNDING * max(1.0, float(truth.values.nan_to_num(0.0).abs().max()))
    worth = torch.cat((best[best.isfinite()], torch.zeros(1)))
    width = _width(reward) + subject.discount * _width(worth)
    for pair, (row, act) in enumerate(pairs.tolist()):
        own = errors[pair_of == pair]
        allowed = rounding + (_margin(own, width, len(pairs)) if _is_random(subject) else 0.0)
        mean, what = float(own.mean()), f"the Bellman residual of state {row}, action {act}"
        wrong = f"{what} is {mean:.4g}, of {len(own)}; expected 0 within {allowed:.2g}"
        expect(abs(mean) <= allowed, wrong)
    steps = len(obs) // LANES - STEPS
    left = f"the greedy policy leaves the states that it has values for after {steps} steps"
    expect(steps == STEPS, left, Vacuous)


@check(EnvironmentSubject, "environment-optimal-return", after=("environment-seeds",))
def optimal_return(subject: EnvironmentSubject) -> None:
    """No policy beats optimal_return, beyond chance.

    Random play and each constant action.

    Fix:
        It is the expected undiscounted return of the best policy, with the task's time limit.
    """
    best = applies(subject.optimal_return, "it states none")()
    actions = range(subject.make([0], subject.limit).n_actions)
    played = {f"the constant action {action}": _returns(subject, action) for action in actions}
    played["random play"] = _returns(subject, None)
    width = _width(torch.cat([*played.values(), torch.tensor([best])]))
    enough = {who: returns for who, returns in played.items() if len(returns) >= 3}
    expect(enough, f"no policy played three episodes to their end in {STEPS} steps", Vacuous)
    for who, returns in enough.items():
        chance = _margin(returns, width, len(played)) if _is_random(subject) else 0.0
        better = float(returns.mean()) > best + chance + ROUNDING * max(1.0, abs(best))
        expect(not better, f"{who} returns {float(returns.mean()):.6g}; the best is {best:.6g}")


def _returns(subject: EnvironmentSubject, fixed: int | None) -> Tensor:
    """Returns of the episodes that end, with random actions, or with one.

    None where that is masked.
    """
    env = subject.make(range(LANES), subject.limit)

    def constant(_: int, _obs: Tensor, valid: Tensor | None) -> Tensor | None:
        masked = valid is not None and not valid[:, fixed].all()
        return None if masked else torch.full((LANES,), fixed or 0)

    choose = at_random(env, range(LANES)) if fixed is None else constant
    met = list(go_on(env, choose, env.reset(), range(STEPS)))
    totals, returns = torch.zeros(LANES, dtype=torch.float64), [torch.zeros(0)]
    for *_, outcome in met if len(met) == STEPS else ():
        totals += outcome.reward
        ended = outcome.terminated | outcome.truncated
        returns.append(totals[ended])
        totals[ended] = 0.0
    return torch.cat(returns)


@once
def _truth(subject: EnvironmentSubject) -> tuple[OptimalQ, Tensor, Callable[[Tensor], Tensor]]:
    """Q*, the rows' best values, and a function to the rows of observations, −1 for unknown."""
    truth = applies(subject.optimal_q, "it states no Q*")()
    rows = {_key(obs): row for row, obs in enumerate(truth.obs)}
    best = truth.values.double().nan_to_num(-math.inf).amax(-1)
    return truth, best, lambda obs: torch.tensor([rows.get(_key(one), -1) for one in obs])


def _key(obs: Tensor) -> bytes:
    return bytes(obs.cpu().double().numpy().tobytes())


@once
def _played(subject: EnvironmentSubject) -> tuple[Tensor, ...]:
    """Steps of many lanes without a limit: s, a, r, whether it terminated, s' ``[n, …]``.

    At random, and by Q*, where it is stated, as far as it knows the way.
    """
    met = play(subject.make(range(LANES), None), range(LANES), STEPS)
    if subject.optimal_q is not None:
        truth, _, rows_of = _truth(subject)
        policy = truth.values.nan_to_num(-math.inf).argmax(-1)
        env = subject.make(range(LANES), None)

        def greedy(_: int, obs: Tensor, _valid: Tensor | None) -> Tensor | None:
            rows = rows_of(obs)
            return None if (rows < 0).any() else policy[rows]

        met += go_on(env, greedy, env.reset(), range(STEPS))
    steps = [(obs, a, o.reward, o.terminated, o.next_obs) for obs, _, a, o in met]
    return tuple(map(torch.cat, zip(*steps, strict=True)))


@once
def _is_random(subject: EnvironmentSubject) -> bool:
    """True if anything that was done twice, at the same observation, had two outcomes.

    If nothing had, in all the steps of all lanes, the environment is deterministic, and the truth
    that it states is exact. If anything had, what is rare was perhaps not met elsewhere.
    """
    outcomes: dict[tuple[bytes, int], tuple[float, bool, bytes]] = {}
    for obs, action, reward, ended, next_obs in zip(*_played(subject), strict=True):
        now = float(reward), bool(ended), b"" if ended else _key(next_obs)
        if outcomes.setdefault((_key(obs), int(action)), now) != now:
            return True
    return False


def _width(values: Tensor) -> float:
    return float(values.max() - values.min())


def _margin(values: Tensor, width: float, comparisons: int) -> float:
    """The distance of the mean of n values in a range from its expectation, by chance.

    The empirical Bernstein bound (Maurer & Pontil 2009, theorem 4), on both sides and for several
    comparisons together. Its second term, of order ``width / n``, is for what is too rare to have
    been met: a standard error knows nothing of it.
    """
    n = len(values)
    if n < 2:
        return math.inf
    log = math.log(4 * comparisons / FALSE_ALARMS)
    return math.sqrt(2 * float(values.var()) * log / n) + 7 * width * log / (3 * (n - 1))
