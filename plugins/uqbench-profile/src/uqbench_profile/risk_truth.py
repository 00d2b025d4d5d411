"""The CVaR of any policy of the bets and ledges, and the best one, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.risk import CVaR
from uqbench.contract.specs import NoConfig
from uqbench.contract.truth import ExactTruth, Truth
from uqbench_profile.risk_worlds import STRETCHES, WORLDS

ALPHA = 0.25
"""As in the suites of risk here and in Eriksson et al. 2022; few enough steps show such a tail."""
LOWEST = -1.0


def cvar(policy: Tensor) -> Tensor:
    """CVaR of all money won, from each variant's start, ``[L, M] -> [L, V]`` float64."""
    world, lanes = WORLDS, len(policy)
    at = world.starts.expand(lanes, -1)[..., None]
    money = torch.zeros(at.shape, dtype=torch.float64)
    p = torch.ones_like(money)
    everywhere = torch.nn.functional.pad(policy, (0, 1))
    for _ in range(STRETCHES):  # no episode is longer
        action = everywhere.gather(1, at.flatten(1)).view_as(at)
        p = (p[..., None] * world.p[at, action]).flatten(2)
        money = (money[..., None] + world.reward[at, action]).flatten(2)
        at = world.after[at, action].flatten(2)
    found: Tensor = CVaR(ALPHA)(money, p)
    return found


def best_for_mean() -> Tensor:
    """The policy with the highest mean, ``[M]``."""
    return _best_below(torch.tensor([torch.inf], dtype=torch.float64))[0].squeeze(0)


def best_for_cvar() -> Tensor:
    """The policy with the highest CVaR from every start, ``[M]``.

    ``max_π CVaR = max_b b − (b − max_π E[min(W, b)]) / α``, where b is an amount W that can be won;
    with the money in the state the inner maximum is dynamic programming.

    Source: Rockafellar & Uryasev 2000; Bäuerle & Ott 2011
    """
    world = WORLDS
    ends = world.after[:-1] == world.end
    won = (world.money[:-1, None, None] + world.reward[:-1])[ends].unique()
    policies, values = _best_below(won)
    found = won[:, None] - (won[:, None] - values[:, world.starts]) / ALPHA
    return policies[found.argmax(0)[world.variant], torch.arange(world.end)]


def _best_below(most: Tensor) -> tuple[Tensor, Tensor]:
    """Policies that maximize ``E[min(W, b)]``, ``[B, M]``, and that value ``[B, M]``; b is ``[B]``.

    The cautious action where both are as good.
    """
    world = WORLDS
    value = torch.zeros(len(most), world.end, dtype=torch.float64)
    policy = torch.zeros(value.shape, dtype=torch.int64)
    for state in reversed(range(world.end)):
        after = world.after[state]
        won = (world.money[state] + world.reward[state]).minimum(most[:, None, None])
        later = value[:, after.clamp(max=world.end - 1)]
        q = (world.p[state] * torch.where(after == world.end, won, later)).sum(-1)
        policy[:, state] = q[:, 1] > q[:, 0] + 1e-9
        value[:, state] = q.amax(-1)
    return policy, value


def risk_control(policy: Tensor) -> Tensor:
    """Mean CVaR over variants: 0 is the best policy for the mean, 1 for CVaR; ``[L, M] -> [L]``."""
    by_mean, best = cvar(torch.stack([best_for_mean(), best_for_cvar()])).mean(-1)
    score: Tensor = (cvar(policy).mean(-1) - by_mean) / (best - by_mean)
    return score.clamp(min=LOWEST)


def exact_truth(_config: NoConfig, discount: float, _seeds: Sequence[int]) -> ExactTruth:
    """``Q^π`` and the returns' variance in every state; the score is of the policy alone."""

    def scores(_: object, policy: Tensor) -> Mapping[str, Tensor]:
        score = risk_control(policy)
        return {"score": score, "risk_control": score}

    states = torch.arange(WORLDS.end)
    return ExactTruth(
        WORLDS.observed(states, WORLDS.money[states]),
        None,
        lambda policy: _values(policy, discount),
        scores=scores,
    )


def _values(policy: Tensor, discount: float) -> Truth:
    """Moments of the return, from the last state back; ``policy`` is ``[L, M]``."""
    world, lanes = WORLDS, len(policy)
    value = torch.zeros(lanes, world.end + 1, dtype=torch.float64)
    square = torch.zeros_like(value)
    q = torch.zeros(*policy.shape, world.p.shape[1], dtype=torch.float64)
    var = torch.zeros_like(q)
    for state in reversed(range(world.end)):
        p, reward, after = world.p[state], world.reward[state], world.after[state]
        mean = reward + discount * value[:, after]
        squared = reward.square() + discount * (
            2 * reward * value[:, after] + discount * square[:, after]
        )
        q[:, state] = (p * mean).sum(-1)
        second = (p * squared).sum(-1)
        var[:, state] = (second - q[:, state].square()).clamp(min=0)
        chosen = policy[:, state, None]
        value[:, state] = q[:, state].gather(1, chosen).squeeze(1)
        square[:, state] = second.gather(1, chosen).squeeze(1)
    return Truth(q, torch.zeros_like(q), return_var=var)
