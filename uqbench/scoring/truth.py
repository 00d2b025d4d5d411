"""Ground truth about an agent's own evaluated policy, at query states."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Truth:
    """What following the policy π is worth after each action, and how returns vary.

    Shapes: ``L`` lanes, each with a policy of its own, ``M`` states, ``A`` actions; all float64,
    NaN where an action is not available. Return distributions are exact with ``probs``, and
    otherwise samples.

    Attributes:
        q: ``Q^π``, ``[L, M, A]``.
        q_var: the squared standard error of ``q``; zero where it is exact.
        returns: values of the return, ``[L, M, A, R]``.
        probs: their probabilities, ``[L, M, A, R]``; None for samples, all equally likely.
    """

    q: Tensor
    q_var: Tensor
    returns: Tensor
    probs: Tensor | None = None

    @classmethod
    def from_samples(cls, returns: Tensor) -> Truth:
        """Means of R ≥ 2 sampled returns ``[L, M, A, R]``, with their standard errors."""
        samples = returns.shape[-1]
        return cls(returns.mean(-1), returns.var(-1) / samples, returns)
