"""Rules of the uncertainty that an agent states, where it states any."""

import math
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.contract.errors import see
from uqbench.uncertainty.plain import check_uncertainty, plain_parts
from uqbench.uncertainty.validity import Speaker
from uqbench_testing.conformance.agent_runs import Learner
from uqbench_testing.conformance.check import applies, check, expect, once

STANDARD_ERRORS = 6.0
"""Beyond which samples disagree: false alarms are rarer than one in 10⁸ for normal samples."""


@check(Learner, "uncertainty-forms", after=("agent-forms", "loop-agent-policy"))
def forms(subject: Learner) -> None:
    """Predictions are what a run takes: finite floats of the right shape, variances, probabilities.

    Values [L, M, A], return distributions [L, M, A, N], samples [L, M, A, S]; epistemic variances
    may be infinite, where nothing was seen. Agents written for lanes have shapes for L = 1, 3 and
    M = 1, 5, at the start and after learning; of others [1, M, …], M = 1, 8, after learning.

    Fix:
        One number for each action of each observation of each lane; leave out what you do not
        predict (None). No division by a count that may be zero: state a prior. Variances are in
        squared units of return. return_probs is a softmax over the last dimension.
    """
    said = _predicted(subject)
    applies(any(stated is not None for *_, stated in said), "it predicts no uncertainty")
    for when, obs, stated in said:
        none = f"uncertainty returned None {when}, and predictions at other times"
        expect(stated is not None, none)
        by = Speaker("agent", "checked", when, see("wrong-uncertainty"))
        stated = plain_parts(stated, Uncertainty, by)
        check_uncertainty(stated, (obs.shape[0], obs.shape[1]), subject.info.n_actions, by)


@check(Learner, "uncertainty-order", after=("uncertainty-forms",))
def order(subject: Learner) -> None:
    """The variance of the quantiles is at least that of their mean.

    ``quantile_epistemic_var >= epistemic_var``, up to rounding.

    Fix:
        quantile_epistemic_var averages each quantile's variance; epistemic_var is that of Q
        (Clements et al. 2019, equation 4).
    """
    for when, _, of_mean, of_quantiles in _each(subject, "epistemic_var", "quantile_epistemic_var"):
        above = (of_quantiles >= of_mean * (1 - 1e-3) - 1e-6).all()
        expect(above, f"quantile_epistemic_var lies below epistemic_var {when}")


@check(Learner, "uncertainty-distribution", after=("uncertainty-forms",))
def distribution(subject: Learner) -> None:
    """The return distribution's mean is `mean`, where both are predicted.

    Up to a thousandth of the values' size.

    Fix:
        mean is of Q, the expected return, not a risk-adjusted value.
    """
    for when, _, atoms, probs, mean in _each(subject, "return_atoms", "return_probs", "mean"):
        worst = float(((atoms * probs).sum(-1) - mean).abs().max())
        allowed = 1e-3 * float(mean.abs().max().clamp(min=1e-3))
        expect(worst <= allowed, f"the two means differ by up to {worst:.4g} {when}")


@check(Learner, "uncertainty-samples", after=("uncertainty-forms",))
def samples(subject: Learner) -> None:
    """Samples of Q have the mean and the variance that are predicted with them.

    Within six standard errors, averaged over actions and observations.

    Fix:
        value_samples, mean and epistemic_var describe one posterior.
    """
    for when, stated, drawn in _each(subject, "value_samples"):
        mean, var, count = stated.mean, stated.epistemic_var, drawn.shape[-1]
        neither = "it predicts neither the mean nor the variance of its samples"
        applies(mean is not None or var is not None, neither)
        applies(count > 1, "one sample has no variance")
        sample_var = drawn.double().var(-1).clamp(min=1e-12)
        if mean is not None:
            errors = (drawn.double().mean(-1) - mean).abs() / (sample_var / count).sqrt()
            off = f"their mean is {float(errors.median()):.1f} standard errors off {when}"
            expect(errors.median() <= STANDARD_ERRORS, off)
        if var is not None:
            ratio = float((sample_var.log() - var.double().clamp(min=1e-12).log()).abs().median())
            allowed = STANDARD_ERRORS * math.sqrt(2 / (count - 1)) + math.log(count / (count - 1))
            off = f"their variance is off by a factor of {math.exp(ratio):.3g} {when}"
            expect(ratio <= allowed, off)


def _each(subject: Learner, *names: str) -> Iterator[tuple[Any, ...]]:
    """The moment, the prediction, and fields of it; skips an agent that does not predict them."""
    for when, _, stated in _predicted(subject):
        values = [getattr(stated, name, None) for name in names]
        applies(all(v is not None for v in values), f"it does not predict {' and '.join(names)}")
        yield when, stated, *values


@once
def _predicted(subject: Learner) -> list[tuple[str, Tensor, Uncertainty | None]]:
    """The moment, the observations, and the prediction."""
    return [(when, obs, agent.uncertainty(obs)) for when, agent, obs in subject.asked]
