"""Ground truth about an agent's own evaluated policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty


@dataclass(frozen=True)
class Truth:
    """The values of a policy π after each action, and the distribution of returns.

    Shapes: ``L`` lanes, each with a policy of its own, ``M`` states, ``A`` actions; all float64,
    NaN where an action is not available. Return distributions are exact with ``probs``, and
    otherwise samples.

    Attributes:
        q: ``Q^π``, ``[L, M, A]``.
        q_var: the squared standard error of ``q``; zero where it is exact, NaN where ``q`` is a
            single return, which has none.
        return_var: the exact variance of the return, ``[L, M, A]``; None where it follows from
            ``returns``.
        returns: values of the return, ``[L, M, A, R]``; None where only its variance is known.
        probs: their probabilities, ``[L, M, A, R]``; None for samples, all equally likely.
    """

    q: Tensor
    q_var: Tensor
    return_var: Tensor | None = None
    returns: Tensor | None = None
    probs: Tensor | None = None

    @classmethod
    def from_samples(cls, returns: Tensor) -> Truth:
        """Means of R ≥ 2 sampled returns ``[L, M, A, R]``, with their standard errors.

        In a lane with fewer samples the last are NaN, of all states and actions alike.
        """
        counts = (~returns[:, 0, 0].isnan()).sum(-1).tolist()
        own = [one[..., :samples] for one, samples in zip(returns, counts, strict=True)]
        q = torch.stack([one.mean(-1) for one in own])
        q_var = torch.stack([one.var(-1) / one.shape[-1] for one in own])
        return cls(q, q_var, returns=returns)

    @property
    def return_variance(self) -> Tensor:
        """The variance of the return, ``[L, M, A]``: exact, or an unbiased estimate of samples."""
        if self.return_var is not None:
            return self.return_var
        if self.returns is None:
            raise ValueError("a truth has the variance of the return, or returns")
        if self.probs is None:
            return self.returns.var(-1)
        return (self.probs * (self.returns - self.q[..., None]).square()).sum(-1)

    @classmethod
    def of_one_return(cls, returns: Tensor) -> Truth:
        """One return of each action ``[L, M, A]``; NaN where none was seen."""
        return cls(returns, torch.full_like(returns, torch.nan), returns=returns[..., None])


@dataclass(frozen=True)
class Climatology:
    """The forecast of a task's query states without any agent: the reference of scores.

    ``Q^π`` over states, actions and policies, half of them random play and half as good as is
    known. It depends on no method, so that a constant forecast of it scores 0 on every run.

    Attributes:
        mean: of ``Q^π``, and so of returns.
        std: standard deviation of ``Q^π``; above zero.
        return_std: of returns; at least as much.
    """

    mean: float
    std: float
    return_std: float

    @classmethod
    def of(cls, groups: Sequence[tuple[Tensor, Tensor]]) -> Climatology:
        """The forecast of groups of policies that count alike.

        Args:
            groups: ``Q^π`` of any shape and the variances of the returns, NaN where not known.
        """
        mean = torch.stack([q.nanmean() for q, _ in groups]).mean()
        var = torch.stack([(q - mean).square().nanmean() for q, _ in groups]).mean()
        noise = torch.stack([one.nanmean() for _, one in groups]).mean()
        return cls(float(mean), float(var.sqrt()), float((var + noise).sqrt()))


@dataclass(frozen=True)
class ExactTruth:
    """An environment that knows what any policy is worth.

    Attributes:
        obs: ``[M, *obs]``, every state that an agent is asked about; ``[L, M, *obs]`` where
            ``of_lanes``.
        valid: the actions that are available in them, ``[M, A]`` bool; None where all are.
        evaluate: from the actions ``[L, M]`` of a policy in these states to the truth.
        scores: the environment's own scores ``[L]`` by name, from what is stated about these states
            and those actions; None where it has none.
        climatology: where worlds are drawn from a prior, of that; None for that of policies drawn
            uniformly and of the best one.
        of_lanes: whether each lane's world has states of its own, whose visits are not counted.
    """

    obs: Tensor
    valid: Tensor | None
    evaluate: Callable[[Tensor], Truth]
    scores: Callable[[Uncertainty, Tensor], Mapping[str, Tensor]] | None = None
    climatology: Climatology | None = None
    of_lanes: bool = False
