"""Whether intervals for Q cover what they say they cover, where the truth is planted."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from uqbench.agent import Step, Uncertainty
from uqbench.lanes import Normal, Uniform
from uqbench.testing.conformance.agent_runs import CPU, AgentSubject
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.uncertainty.interval_scores import central_interval

LANES = 64
STEPS = 240
LEVELS = (0.5, 0.9)
STANDARD_ERRORS = 4.0
"""Of a share of lanes, at each level: false alarms in fewer than one of 8,000 checks."""


@check(AgentSubject, "uncertainty-coverage", level="calibrated", after=("uncertainty-forms",))
def coverage(subject: AgentSubject) -> None:
    """Where the values of actions are planted, intervals of 50 % and 90 % cover so many of them.

    Rewards N(μ_a, 1) with μ_a ~ N(0, 1), in one state and under γ = 0, where Q*(a) = μ_a.

    Fix:
        epistemic_var is the variance of Q's posterior in squared units of return; an agent whose
        intervals are no posterior's does not say calibrated=True.
    """
    if not subject.calibrated or subject.discounted is None:
        raise Skipped("it does not say that its intervals are calibrated (AgentSpec.calibrated)")
    n, seeds = subject.info.n_actions, range(LANES)
    truth = Normal(seeds, "conformance/planted", (n,)).at(0)
    noise = Normal(seeds, "conformance/noise", (1,))
    draws = Uniform(seeds, "conformance/actions", (1,))
    agent = subject.discounted(0.0)(seeds, CPU)
    first, _ = subject.world(1, 0).reset()
    obs = first.expand(LANES, 1, *first.shape[1:])
    never = torch.zeros(LANES, 1, dtype=torch.bool)
    for t in range(STEPS):
        agent.act(obs.clone())
        action = (draws.at(t) * n).long()  # whatever it chose: all are met as often
        reward = truth.gather(1, action) + noise.at(t)
        agent.observe(
            Step(t, obs.clone(), action, reward.float(), never.clone(), never.clone(), obs.clone())
        )
    predicted = agent.uncertainty(obs.clone())
    if predicted is None:
        raise Failed("it says that its intervals are calibrated, and predicts no uncertainty")
    for level in LEVELS:
        share, margin = _covered(predicted, truth, level), STANDARD_ERRORS
        margin *= math.sqrt(level * (1 - level) / LANES)
        if abs(share - level) > margin:
            raise Failed(
                f"the {level:.0%} intervals cover {share:.1%} of the planted values; expected "
                f"{level:.0%} within {margin:.1%}, after {STEPS} steps in {LANES} lanes"
            )


def _covered(predicted: Uncertainty, truth: Tensor, level: float) -> float:
    interval = central_interval(predicted, level)
    if interval is None:
        raise Failed("it predicts no intervals: samples of Q, or a mean and an epistemic variance")
    low, high = (end[:, 0] for end in interval)
    return float(((low <= truth) & (truth <= high)).double().mean())
