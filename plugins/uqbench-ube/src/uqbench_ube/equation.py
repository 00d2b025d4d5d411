"""The uncertainty Bellman equation of tabular problems (O'Donoghue et al. 2018, Theorem 1).

Shapes: any batch ``*``, ``S`` states, ``A`` actions, ``S'`` successors. Arguments broadcast over
the batch. What a row of transitions lacks to one is the probability that the episode ends there,
so a process with a finite horizon is one whose last states have rows of zeros.

With γ = 1 the equation has a solution where no local uncertainty is collected forever: where, from
every state that can be visited again and again, none can be reached. There it is the smallest one:
zero in states from which no local uncertainty can be reached, such as absorbing ones.

Local uncertainties may be negative: those with which the equation is exact on a directed acyclic
graph (Luis et al. 2023, "Model-based uncertainty in value functions") can be.
"""

from __future__ import annotations

import torch
from torch import Tensor

STOCHASTIC = 1e-6
"""How far the sum of a row of probabilities may be from one (or, of transitions, above one)."""


def uncertainty_backup(
    u: Tensor, local: Tensor, policy: Tensor, transitions: Tensor, discount: float
) -> Tensor:
    """Equation 2, the operator ``(T_u^π u)_sa = ν_sa + γ² Σ_s'a' π_s'a' E[P_s'sa] u_s'a'``.

    A γ²-contraction in the maximum norm, and monotone.

    Args:
        u: uncertainties ``[*, S, A]``, in squared units of return.
        local: ν, local uncertainties ``[*, S, A]``; the paper's σ².
        policy: ``π(a | s)``, ``[*, S, A]``.
        transitions: ``E[P(s' | s, a)]`` under the posterior, ``[*, S, A, S']``.
        discount: γ, not yet squared.

    Returns:
        ``[*, S, A]``.
    """
    of_states = (policy * u).sum(-1)
    return local + discount**2 * (transitions * of_states[..., None, None, :]).sum(-1)


def solve_uncertainty(
    local: Tensor, policy: Tensor, transitions: Tensor, discount: float
) -> Tensor:
    """The fixed point of equation 2, ``[*, S, A]``, by one linear system over the states.

    ``w = (I − γ² P_π)⁻¹ ν_π`` with ``w_s = Σ_a π_sa u_sa``; then u is one backup of w. LAPACK may
    round a problem differently by what else is in the batch; where that matters, see
    :func:`iterate_uncertainty`.

    Args:
        local: ν, local uncertainties ``[*, S, A]``.
        policy: ``π(a | s)``, ``[*, S, A]``.
        transitions: ``E[P(s' | s, a)]``, ``[*, S, A, S']``.
        discount: γ, not yet squared; 1 where no uncertainty is collected forever.

    Raises:
        ValueError: shapes do not fit, arguments are not what they are called, or γ = 1 and there is
            no finite solution.
    """
    local, policy, transitions = _checked(local, policy, transitions, discount)
    counted = _reaching_uncertainty(local, policy, transitions)
    under = _under(policy, transitions)
    if discount == 1:
        _require_end(under, counted)
        # a closed class without uncertainty would make the system singular; its solution is zero
        under = under * counted[..., None, :].to(under)
    identity = torch.eye(under.shape[-1]).to(under)
    of_states: Tensor = torch.linalg.solve(
        identity - discount**2 * under, (policy * local).sum(-1)[..., None]
    ).squeeze(-1)
    of_states = torch.where(counted, of_states, 0.0)
    return local + discount**2 * (transitions * of_states[..., None, None, :]).sum(-1)


def iterate_uncertainty(
    local: Tensor,
    policy: Tensor,
    transitions: Tensor,
    discount: float,
    *,
    tolerance: float = 1e-10,
    max_sweeps: int = 100_000,
) -> Tensor:
    """The fixed point of equation 2, ``[*, S, A]``, by backups from zero.

    Every problem of a batch stops by itself, and is solved bit for bit as it would be alone.
    With γ < 1 the largest error is at most ``tolerance`` times the
    largest uncertainty, up to rounding (the contraction's bound); with γ = 1 a sweep's largest
    change is.

    Args:
        local: ν, local uncertainties ``[*, S, A]``.
        policy: ``π(a | s)``, ``[*, S, A]``.
        transitions: ``E[P(s' | s, a)]``, ``[*, S, A, S']``.
        discount: γ, not yet squared; 1 where no uncertainty is collected forever.
        tolerance: relative error at which a problem stops.
        max_sweeps: backups after which it is an error.

    Raises:
        ValueError: as :func:`solve_uncertainty`; or not converged after ``max_sweeps``.
    """
    local, policy, transitions = _checked(local, policy, transitions, discount)
    if discount == 1:
        counted = _reaching_uncertainty(local, policy, transitions)
        _require_end(_under(policy, transitions), counted)
    squared = discount**2
    factor = squared / (1 - squared) if discount < 1 else 1.0
    u = local
    moving = torch.ones(local.shape[:-2], dtype=torch.bool, device=local.device)
    for _ in range(max_sweeps):
        after = uncertainty_backup(u, local, policy, transitions, discount)
        change = (after - u).abs().amax((-2, -1))
        u = torch.where(moving[..., None, None], after, u)
        moving = moving & (factor * change > tolerance * u.abs().amax((-2, -1)))
        if not moving.any():
            return u
    raise ValueError(
        f"{int(moving.sum())} of {moving.numel()} problems have not converged to {tolerance:g} "
        f"after {max_sweeps} sweeps with a discount of {discount}; raise max_sweeps, or use "
        f"solve_uncertainty"
    )


def _under(policy: Tensor, transitions: Tensor) -> Tensor:
    """``P_π(s' | s) = Σ_a π_sa P_s'sa``, ``[*, S, S']``."""
    return (policy[..., None] * transitions).sum(-2)


def _reaching_uncertainty(local: Tensor, policy: Tensor, transitions: Tensor) -> Tensor:
    """States from which the policy may collect local uncertainty, ``[*, S]`` bool."""
    return _reaching(((policy > 0) & (local != 0)).any(-1), _under(policy, transitions) > 0)


def _reaching(goal: Tensor, linked: Tensor) -> Tensor:
    """States ``[*, S]`` from which a state of ``goal`` ``[*, S]`` can be reached by links."""
    reached = goal
    for _ in range(goal.shape[-1]):
        grown = reached | (linked & reached[..., None, :]).any(-1)
        if torch.equal(grown, reached):
            break
        reached = grown
    return reached


def _require_end(under: Tensor, counted: Tensor) -> None:
    """Check that uncertainty is collected a finite number of times where γ = 1.

    From each state it must be possible to end, or to reach states where none can be collected.

    Args:
        under: ``[*, S, S']``, transitions under the policy.
        counted: ``[*, S]``, states from which uncertainty can be reached.
    """
    ends = (under.sum(-1) < 1 - STOCHASTIC) | ~counted
    endless = ~_reaching(ends, under > 0)
    if endless.any():
        states = sorted({int(index[-1]) for index in endless.nonzero()})
        raise ValueError(
            f"with a discount of 1 the uncertainty is infinite: from states {states} the policy "
            f"collects local uncertainty forever; expected a discount below 1, or that every "
            f"state leads to the end of an episode (a row of transitions that sums to less than "
            f"1) or to states without local uncertainty"
        )


def _checked(
    local: Tensor, policy: Tensor, transitions: Tensor, discount: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The arguments, validated and broadcast over the batch."""
    if not 0 <= discount <= 1:
        raise ValueError(f"expected a discount between 0 and 1, got {discount}")
    if min(local.dim(), policy.dim()) < 2 or transitions.dim() < 3:
        shapes = [tuple(t.shape) for t in (local, policy, transitions)]
        raise ValueError(
            f"expected local [*, S, A], policy [*, S, A] and transitions [*, S, A, S]; got {shapes}"
        )
    states, actions = local.shape[-2:]
    if policy.shape[-2:] != (states, actions) or transitions.shape[-3:] != (
        states,
        actions,
        states,
    ):
        raise ValueError(
            f"expected policy [*, {states}, {actions}] and transitions "
            f"[*, {states}, {actions}, {states}] to fit local {tuple(local.shape)}; got "
            f"{tuple(policy.shape)} and {tuple(transitions.shape)}"
        )
    if not local.isfinite().all():
        raise ValueError("expected local uncertainties that are finite")
    if (policy < 0).any() or ((policy.sum(-1) - 1).abs() > STOCHASTIC).any():
        raise ValueError("expected a policy whose probabilities sum to 1 in every state")
    if (transitions < 0).any() or (transitions.sum(-1) > 1 + STOCHASTIC).any():
        raise ValueError("expected transitions that are probabilities and sum to at most 1")
    batch = torch.broadcast_shapes(local.shape[:-2], policy.shape[:-2], transitions.shape[:-3])
    dtype = torch.promote_types(torch.promote_types(local.dtype, policy.dtype), transitions.dtype)
    return (
        local.to(dtype).expand(*batch, states, actions),
        policy.to(dtype).expand(*batch, states, actions),
        transitions.to(dtype).expand(*batch, states, actions, states),
    )
