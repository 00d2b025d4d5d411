"""What an agent's predictions of Q must be like, where it makes any."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.conformance.agents import FORMS
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.uncertainty.validity import UNBOUNDED, VALUES, VARIANCES

STANDARD_ERRORS = 6.0
"""Beyond which samples disagree: false alarms are rarer than one in 10⁸ for normal samples."""


@check(AgentSubject, "uncertainty-forms", after=("agent-forms",))
def forms(subject: AgentSubject) -> None:
    """Values are [L, M, A]; return distributions [L, M, A, N], samples [L, M, A, S]; floats.

    Shapes for L = 1, 3 and M = 1, 5.

    Fix:
        One number for each action of each observation of each lane; leave out what you do not
        predict (None).
    """
    _predicted(subject)
    n_actions = subject.info.n_actions
    for lanes, queries in FORMS:
        agent = subject.new(range(lanes))
        obs, _ = subject.world(lanes, 0).reset()
        asked = obs[:, None].expand(lanes, queries, *obs.shape[1:])
        predicted = agent.uncertainty(asked)
        if not isinstance(predicted, Uncertainty):
            raise Failed(f"uncertainty returned a {type(predicted).__name__}")
        for name, value in vars(predicted).items():
            if value is None:
                continue
            shape = (lanes, queries, n_actions)
            fits = value.shape == shape if name in VALUES else value.shape[:3] == shape
            if not fits or not value.dtype.is_floating_point:
                raise Failed(
                    f"{name} is {value.dtype} {tuple(value.shape)}; expected floats of "
                    f"{shape if name in VALUES else (*shape, 'N')}"
                )
        if (predicted.return_atoms is None) != (predicted.return_probs is None):
            raise Failed("return_atoms and return_probs go together")


@check(AgentSubject, "uncertainty-finite", after=("uncertainty-forms",))
def finite(subject: AgentSubject) -> None:
    """Every prediction is finite; epistemic variances may be infinite, where nothing was seen.

    At the start and after learning.

    Fix:
        No division by a count that may be zero, no logarithm of zero: state a prior.
    """
    for when, name, value in _values(subject):
        fine = value.isfinite()
        if name in UNBOUNDED:
            fine |= value == torch.inf
        if not fine.all():
            raise Failed(f"{name} is not finite {when}")


@check(AgentSubject, "uncertainty-variances", after=("uncertainty-finite",))
def variances(subject: AgentSubject) -> None:
    """Variances are not negative.

    At the start and after learning.

    Fix:
        Variances are in squared units of return: not a logarithm, not a difference that rounds
        below zero (clamp that).
    """
    for when, name, value in _values(subject):
        if name in VARIANCES and (value < 0).any():
            raise Failed(f"{name} is {value.min().item():.4g} {when}")


@check(AgentSubject, "uncertainty-order", after=("uncertainty-variances",))
def order(subject: AgentSubject) -> None:
    """The variance of the quantiles is at least that of their mean.

    ``quantile_epistemic_var >= epistemic_var``, up to rounding.

    Fix:
        quantile_epistemic_var averages each quantile's variance; epistemic_var is that of Q
        (Clements et al. 2019, equation 4).
    """
    for when, of_mean, of_quantiles in _each(subject, "epistemic_var", "quantile_epistemic_var"):
        if (of_quantiles < of_mean * (1 - 1e-3) - 1e-6).any():
            raise Failed(f"quantile_epistemic_var lies below epistemic_var {when}")


@check(AgentSubject, "uncertainty-probabilities", after=("uncertainty-finite",))
def probabilities(subject: AgentSubject) -> None:
    """Probabilities are not negative and sum to one.

    Along the last dimension.

    Fix:
        return_probs is a softmax over the last dimension, or the same weight for each quantile.
    """
    for when, probs in _each(subject, "return_probs"):
        sums = probs.sum(-1)
        if (probs < 0).any() or not torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
            raise Failed(f"they sum to {sums.min().item():.4g} to {sums.max().item():.4g} {when}")


@check(AgentSubject, "uncertainty-distribution", after=("uncertainty-probabilities",))
def distribution(subject: AgentSubject) -> None:
    """Where both are predicted, the return distribution's mean is `mean`.

    Up to a thousandth of the values' size.

    Fix:
        mean is of Q, the expected return, not a risk-adjusted value.
    """
    for when, atoms, probs, mean in _each(subject, "return_atoms", "return_probs", "mean"):
        of_law = (atoms * probs).sum(-1)
        size = mean.abs().max().clamp(min=1e-3)
        if ((of_law - mean).abs() > 1e-3 * size).any():
            worst = (of_law - mean).abs().max().item()
            raise Failed(f"the two means differ by up to {worst:.4g} {when}")


@check(AgentSubject, "uncertainty-samples", after=("uncertainty-variances",))
def samples(subject: AgentSubject) -> None:
    """Samples of Q have the mean and the variance that are predicted with them.

    Within six standard errors, averaged over actions and observations.

    Fix:
        value_samples, mean and epistemic_var describe one posterior.
    """
    for when, drawn in _each(subject, "value_samples"):
        predicted = _predicted(subject)[when]
        mean, var = predicted.mean, predicted.epistemic_var
        if mean is None and var is None:
            raise Skipped("it predicts neither the mean nor the variance of its samples")
        count = drawn.shape[-1]
        if count < 2:
            raise Skipped("one sample has no variance")
        sample_var = drawn.double().var(-1).clamp(min=1e-12)
        if mean is not None:
            error = (drawn.double().mean(-1) - mean).abs() / (sample_var / count).sqrt()
            if _median(error) > STANDARD_ERRORS:
                raise Failed(f"their mean is {_median(error):.1f} standard errors off {when}")
        if var is not None:
            ratio = (sample_var.log() - var.double().clamp(min=1e-12).log()).abs()
            allowed = STANDARD_ERRORS * math.sqrt(2 / (count - 1)) + math.log(count / (count - 1))
            if _median(ratio) > allowed:
                factor = math.exp(_median(ratio))
                raise Failed(f"their variance is off by a factor of {factor:.3g} {when}")


def _values(subject: AgentSubject) -> Iterator[tuple[str, str, Tensor]]:
    """When, and each prediction with its name."""
    for when, predicted in _predicted(subject).items():
        for name, value in vars(predicted).items():
            if value is not None:
                yield when, name, value


def _each(subject: AgentSubject, *names: str) -> Iterator[tuple[Any, ...]]:
    """When, and the fields of that name; skips an agent that does not predict all of them."""
    for when, predicted in _predicted(subject).items():
        values = [getattr(predicted, name) for name in names]
        if any(value is None for value in values):
            raise Skipped(f"it does not predict {' and '.join(names)}")
        yield when, *values


def _median(values: Tensor) -> float:
    return float(values.median())


def _predicted(subject: AgentSubject) -> dict[str, Uncertainty]:
    """What is predicted before any learning, and after."""

    def ask() -> dict[str, Uncertainty]:
        trace = subject.baseline
        agents = {"before learning": subject.new(), "after learning": trace.agent}
        answers = {when: agent.uncertainty(trace.questions) for when, agent in agents.items()}
        return {when: answer for when, answer in answers.items() if answer is not None}

    predicted = subject.once("predicted", ask)
    if not predicted:
        raise Skipped("it predicts no uncertainty")
    return predicted
