"""What an agent's predictions of Q must be like, where it makes any."""

import math
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.contract.errors import see
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.conformance.agents import FORMS
from uqbench.testing.conformance.check import Failed, Skipped, check, once
from uqbench.uncertainty.validity import Speaker, check_uncertainty

STANDARD_ERRORS = 6.0
"""Beyond which samples disagree: false alarms are rarer than one in 10⁸ for normal samples."""


@check(AgentSubject, "uncertainty-forms", after=("agent-forms",))
def forms(subject: AgentSubject) -> None:
    """Predictions are what a run takes: finite floats of the right shape, variances, probabilities.

    Values [L, M, A], return distributions [L, M, A, N], samples [L, M, A, S]; epistemic variances
    may be infinite, where nothing was seen. Shapes for L = 1, 3 and M = 1, 5; at the start and
    after learning.

    Fix:
        One number for each action of each observation of each lane; leave out what you do not
        predict (None). No division by a count that may be zero: state a prior. Variances are in
        squared units of return. return_probs is a softmax over the last dimension.
    """
    asked = subject.baseline.questions
    for when, predicted in _predicted(subject).items():
        _check(predicted, asked, subject.info.n_actions, when)
    for lanes, queries in FORMS:
        obs, _ = subject.world(lanes, 0).reset()
        several = obs[:, None].expand(lanes, queries, *obs.shape[1:])
        stated = subject.new(range(lanes)).uncertainty(several)
        if stated is None:
            raise Failed("uncertainty returned None, and predictions when it was asked before")
        _check(stated, several, subject.info.n_actions, "before learning")


def _check(predicted: object, obs: Tensor, n_actions: int, when: str) -> None:
    by = Speaker("agent", "checked", when, see("wrong-uncertainty"))
    check_uncertainty(predicted, (obs.shape[0], obs.shape[1]), n_actions, by)


@check(AgentSubject, "uncertainty-order", after=("uncertainty-forms",))
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


@check(AgentSubject, "uncertainty-distribution", after=("uncertainty-forms",))
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


@check(AgentSubject, "uncertainty-samples", after=("uncertainty-forms",))
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
            errors = (drawn.double().mean(-1) - mean).abs() / (sample_var / count).sqrt()
            if (error := float(errors.median())) > STANDARD_ERRORS:
                raise Failed(f"their mean is {error:.1f} standard errors off {when}")
        if var is not None:
            ratios = (sample_var.log() - var.double().clamp(min=1e-12).log()).abs()
            allowed = STANDARD_ERRORS * math.sqrt(2 / (count - 1)) + math.log(count / (count - 1))
            if (ratio := float(ratios.median())) > allowed:
                raise Failed(f"their variance is off by a factor of {math.exp(ratio):.3g} {when}")


def _each(subject: AgentSubject, *names: str) -> Iterator[tuple[Any, ...]]:
    """When, and the fields of that name; skips an agent that does not predict all of them."""
    for when, predicted in _predicted(subject).items():
        values = [getattr(predicted, name) for name in names]
        if any(value is None for value in values):
            raise Skipped(f"it does not predict {' and '.join(names)}")
        yield when, *values


@once
def _predicted(subject: AgentSubject) -> dict[str, Uncertainty]:
    """The predictions before any learning, and after."""
    questions = subject.baseline.questions
    agents = {"before learning": subject.new(), "after learning": subject.baseline.agent}
    said = {when: agent.uncertainty(questions) for when, agent in agents.items()}
    predicted = {when: answer for when, answer in said.items() if answer is not None}
    if not predicted:
        raise Skipped("it predicts no uncertainty")
    return predicted
