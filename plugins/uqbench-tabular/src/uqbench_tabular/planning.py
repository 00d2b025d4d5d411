"""Finite Markov decision processes in batches, and their exact solutions.

Shapes: any batch ``*``, ``S`` states, ``A`` actions, ``S'`` successors. One process of a batch is
solved bit for bit as it would be alone, on a CPU with one thread and ``MKL_CBWR`` set, as in
workers: sums are along the last dimension, and LAPACK factorizes the matrices of a batch one by
one. (Without ``MKL_CBWR`` it picks kernels by address, and last bits differ from 25 states on.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench.lanes import greedy

IMPROVEMENT = 1e-9
"""An action replaces a policy's only if it is better by more than this, so ties cannot cycle."""


@dataclass(frozen=True)
class MDP:
    """A Markov decision process, or a batch of them.

    Attributes:
        transitions: ``[*, S, A, S']``, ``p(s' | s, a)``.
        rewards: ``[*, S, A, S']``, the mean of ``r`` given ``s, a, s'``.
        available: ``[*, S, A]`` bool; every state has an available action.
    """

    transitions: Tensor
    rewards: Tensor
    available: Tensor

    def expected_rewards(self) -> Tensor:
        """``E[r | s, a] = Σ_s' p(s' | s, a) r(s, a, s')``, ``[*, S, A]``."""
        return (self.transitions * self.rewards).sum(-1)


def action_values(mdp: MDP, values: Tensor, discount: float) -> Tensor:
    """The Bellman equation: ``Q(s, a) = E[r | s, a] + γ Σ_s' p(s' | s, a) V(s')``, ``[*, S, A]``.

    Unavailable actions get a value too: what taking them once would be worth.
    """
    following = (mdp.transitions * values[..., None, None, :]).sum(-1)
    return mdp.expected_rewards() + discount * following


def evaluate_policy(mdp: MDP, policy: Tensor, discount: float) -> Tensor:
    """Solve ``V = r_π + γ P_π V`` for a policy ``[*, S]`` with γ < 1; ``[*, S]``."""
    transitions, rewards = _under(mdp, policy)
    equations = torch.eye(policy.shape[-1]).to(transitions) - discount * transitions
    values: Tensor = torch.linalg.solve(equations, rewards[..., None]).squeeze(-1)
    return values


def return_variance(mdp: MDP, reward_var: Tensor, policy: Tensor, discount: float) -> Tensor:
    """Variance of the discounted return of each action and then a policy's, ``[*, S, A]``.

    Sobel 1982, "The variance of discounted Markov decision processes": with
    ``δ = r̄(s, a, s') + γ V(s') − Q(s, a)``,
    ``Var(s, a) = Σ_s' p(s' | s, a) (Var r + δ² + γ² Var(s', π(s')))``.

    Args:
        mdp: the process.
        reward_var: of ``r`` given ``s, a, s'``, ``[*, S, A, S']``.
        policy: actions ``[*, S]``.
        discount: γ < 1.
    """
    values = evaluate_policy(mdp, policy, discount)
    q = action_values(mdp, values, discount)
    surprise = mdp.rewards + discount * values[..., None, None, :] - q[..., None]
    local = (mdp.transitions * (reward_var + surprise.square())).sum(-1)
    second = MDP(mdp.transitions, local[..., None].expand_as(mdp.transitions), mdp.available)
    return action_values(second, evaluate_policy(second, policy, discount**2), discount**2)


def policy_iteration(mdp: MDP, discount: float) -> Tensor:
    """``Q*`` ``[*, S, A]`` for γ < 1, by policy iteration (Howard 1960)."""

    def score(policy: Tensor) -> Tensor:
        return action_values(mdp, evaluate_policy(mdp, policy, discount), discount)

    return _improve(mdp, score)


def gain(mdp: MDP, probabilities: Tensor) -> Tensor:
    """Long-run reward per step, ``[*]``: ``Σ_s μ(s) Σ_a π(a | s) E[r | s, a]``.

    ``μ`` is the stationary distribution; the policy must have only one.

    Args:
        mdp: the process.
        probabilities: ``π(a | s)``, ``[*, S, A]``.
    """
    transitions = (probabilities[..., None] * mdp.transitions).sum(-2)
    identity = torch.eye(transitions.shape[-1]).to(transitions)
    balance = identity - transitions.mT
    balance[..., -1, :] = 1  # one balance equation follows from the others; μ sums to one
    stationary: Tensor = torch.linalg.solve(balance, identity[-1].expand(balance.shape[:-1]))
    return (stationary * (probabilities * mdp.expected_rewards()).sum(-1)).sum(-1)


def greedy_policy(values: Tensor, available: Tensor) -> Tensor:
    """``π*(a | s)``: all on the best available action, ``[*, S, A]`` like ``values``."""
    return torch.nn.functional.one_hot(greedy(values, available), values.shape[-1]).to(values)


def greedy_values(values: Tensor, available: Tensor) -> Tensor:
    """``V*(s) = max_a Q*(s, a)`` over available actions, ``[*, S]``."""
    return values.masked_fill(~available, -torch.inf).amax(-1)


def uniform_policy(mdp: MDP) -> Tensor:
    """``π(a | s)``, uniform over available actions, ``[*, S, A]``."""
    available = mdp.available.to(mdp.transitions)
    return available / available.sum(-1, keepdim=True)


def optimal_gain(mdp: MDP) -> Tensor:
    """The highest gain of any policy, ``[*]``, where every policy has one stationary distribution.

    Howard's policy iteration for the average reward: ``g + h = r_π + P_π h`` with ``h(0) = 0``.
    """

    def score(policy: Tensor) -> Tensor:
        transitions, rewards = _under(mdp, policy)
        equations = torch.eye(policy.shape[-1]).to(transitions) - transitions
        equations[..., 0] = 1  # the unknown g takes the place of h(0)
        relative = torch.linalg.solve(equations, rewards)
        relative[..., 0] = 0
        return action_values(mdp, relative, discount=1.0)

    return gain(mdp, greedy_policy(_improve(mdp, score), mdp.available))


def _improve(mdp: MDP, score: Callable[[Tensor], Tensor]) -> Tensor:
    """Improve a policy by its scores ``[*, S, A]`` until it is stable; returns the last scores.

    A stable policy stays stable: processes that are done do not change while others continue.
    """
    policy = greedy(mdp.expected_rewards(), mdp.available)
    while True:
        scores = score(policy)
        better = greedy(scores, mdp.available)
        improved = _of(scores, better) > _of(scores, policy) + IMPROVEMENT
        if not improved.any():
            return scores
        policy = torch.where(improved, better, policy)


def _under(mdp: MDP, policy: Tensor) -> tuple[Tensor, Tensor]:
    """``P_π`` ``[*, S, S']`` and ``r_π`` ``[*, S]`` of a policy ``[*, S]``."""
    index = policy[..., None, None].expand(*policy.shape, 1, policy.shape[-1])
    return mdp.transitions.gather(-2, index).squeeze(-2), _of(mdp.expected_rewards(), policy)


def _of(table: Tensor, policy: Tensor) -> Tensor:
    """Entries ``[*, S]`` of ``[*, S, A]`` for the actions of a policy ``[*, S]``."""
    return table.gather(-1, policy[..., None]).squeeze(-1)
