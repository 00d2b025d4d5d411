"""Rules of the uncertainty that an agent states, where it states any.

After it has learned the values are known in a ring: five states follow each other, whatever the
action, so that Q is the same for every policy: ``Q(s, a) = r(s) + γ Q(s + 1, ·)``. The observations
are of the agent's own world, fewer where that has fewer. An agent written for lanes takes every
action as often, whatever it would do; one with a loop of its own is judged by the actions that it
took. Rewards have variance one. It learns for as many of :data:`STEPS` as its mean takes to come
near.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Queried, Uncertainty
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import see
from uqbench.lanes import Normal
from uqbench.runner.train.guards import Checked
from uqbench.runner.train.loop import reset_by_actor
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.recorder import Recorder
from uqbench.uncertainty.interval_scores import central_interval
from uqbench.uncertainty.plain import check_uncertainty, plain_parts
from uqbench.uncertainty.validity import Speaker
from uqbench_testing.conformance.agent_runs import SEEDS, AgentSubject, Learner, copy_of, step_of
from uqbench_testing.conformance.check import Failed, applies, check, expect, once

SAMPLE_ERRORS = 6.0
"""Beyond which samples disagree: false alarms are rarer than one in 10⁸ for normal samples."""
DISCOUNT = 0.5
REWARDS = (2.0, 0.0, 4.0, 0.0, 2.0)
STEPS = (400, 1_600, 6_400, 12_800)
SEEN = 5
"""Steps of an action in a state in all lanes, from which on its values are judged."""
WRONG = 0.25
"""Relative error of the values that is more than noise: SE 0.16 of values of about three."""
CONVERGED = 0.2
"""Movement in the second half, relative to the first, of values that are learned."""
SCALE, FACTOR = 10.0, 3.0
"""Scale of the rewards, and the factor by which its square may be missed.

SCALE itself misses it.
"""
LANES, PLANTED_STEPS = 64, 240
LEVELS = (0.5, 0.9)
STANDARD_ERRORS = 4.0
"""Standard errors of a share of lanes, at each level.

False alarms in fewer than one of 8,000 checks.
"""
Said = dict[int, Uncertainty]
AFTER = ("uncertainty-forms", "agent-repeats", "agent-learns", "loop-agent-repeats")


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
            expect(errors.median() <= SAMPLE_ERRORS, off)
        if var is not None:
            ratio = float((sample_var.log() - var.double().clamp(min=1e-12).log()).abs().median())
            allowed = SAMPLE_ERRORS * math.sqrt(2 / (count - 1)) + math.log(count / (count - 1))
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


@dataclass(eq=False)
class Ring(LaneEnv):
    """States that follow each other whatever the action, with normal rewards; no episode ends.

    Attributes:
        info: what agents know about their own world.
        states: observations ``[n, *obs]``.
        rewards: their expectations, ``[L, n, A]``.
        seeds: of the L lanes.
        scale: the rewards' standard deviation.
        visits: ``[n, A]``, in all lanes.
    """

    info: EnvironmentInfo
    states: Tensor
    rewards: Tensor
    seeds: Sequence[int]
    scale: float = 1.0

    def __post_init__(self) -> None:
        self.observation_space, self.n_actions = self.info.observation_space, self.info.n_actions
        self.visits, self._t = torch.zeros(self.rewards.shape[1:], dtype=torch.int64), 0
        self._noise = Normal(self.seeds, "conformance/ring", (1,))

    def reset(self) -> tuple[Tensor, None]:
        """The first state."""
        return self._seen(), None

    def _seen(self) -> Tensor:
        state = self.states[self._t % len(self.states)]
        return state.expand(len(self.rewards), *state.shape).clone()

    def step(self, action: Tensor) -> Outcome:
        """The next state."""
        now = self._t % len(self.states)
        noise = self.scale * self._noise.at(self._t)
        reward = self.rewards[:, now].gather(1, action[:, None]) + noise
        self.visits[now] += action.bincount(minlength=self.n_actions)
        self._t += 1
        never, seen = torch.zeros_like(action, dtype=torch.bool), self._seen()
        return Outcome(reward[:, 0].float(), never, never.clone(), seen, seen.clone())


@dataclass(frozen=True)
class Learned:
    """An agent's predictions of the states of a ring, after one step, halfway and at the end.

    Attributes:
        steps: in all.
        values: Q ``[n]`` of the n states, five or fewer.
        means: three times ``[n]``, over lanes and actions that were seen, which are worth the same;
            empty where it predicts none.
        variances: ``[L, ·]`` of the actions that were seen, after one step and at the end.
    """

    steps: int
    values: Tensor
    means: Sequence[Tensor]
    variances: Sequence[Tensor]

    @property
    def error(self) -> float:
        """Relative error of the stated mean at the end."""
        return _size(self.means[2] - self.values) / _size(self.values)

    @property
    def settled(self) -> bool:
        """Whether the mean hardly moves any more."""
        start, half, end = self.means
        return _size(end - half) <= CONVERGED * _size(half - start)


@check(Learner, "uncertainty-values", after=AFTER)
def values(subject: Learner) -> None:
    """The stated `mean` is of Q, in units of return, and the stated `epistemic_var` follows data.

    In five states whose Q is known, for as many as 12,800 steps.

    Fix:
        Not of the next reward alone, not normalized, not in other units: what `policy` maximizes,
        mean = E[r + γ Q(s', ·)]. epistemic_var is the variance of Q that more data would reduce,
        not that of the return.
    """
    learned = _near(subject)
    start, end = learned.variances
    expect(not torch.equal(start, end), "its epistemic_var is the same before and after learning")
    applies(learned.means, "it does not predict the mean")


@check(Learner, "uncertainty-scale", after=("uncertainty-values",))
def scale(subject: Learner) -> str:
    """Ten times the rewards make ten times the `mean` and a hundred times the `epistemic_var`.

    In five states, after as many steps as the values of both scales take; within a factor of three,
    for most actions. Calibrated agents may know that rewards have variance one: their variance may
    be the same.

    Fix:
        State a variance, the square of a standard deviation, in squared units of return: an
        estimate of the rewards' variance belongs into it, 1 / n does not have units, and neither a
        prior's width nor noise is a constant.
    """
    ten = _near(subject, SCALE)
    one = _in_five_states(subject, 1.0, ten.steps)
    small, large = (of.variances[1].double() for of in (one, ten))
    ratio = float((large / small.clamp(min=1e-30)).median())
    known = subject.calibrated and 1 / FACTOR < ratio < FACTOR
    within = SCALE**2 / FACTOR <= ratio <= SCALE**2 * FACTOR
    said = f"for ten times the rewards, epistemic_var is {ratio:.3g} times as large (100 is right)"
    expect(within or known, said)
    return said


@check(Learner, "uncertainty-coverage", level="calibrated", after=("uncertainty-forms",))
def coverage(subject: Learner) -> None:
    """Intervals of 50 % and 90 % cover so many of the values of actions that are planted.

    Rewards N(μ_a, 1) with μ_a ~ N(0, 1), in one state and under γ = 0, where Q*(a) = μ_a.

    Fix:
        epistemic_var is the variance of Q's posterior in squared units of return; an agent whose
        intervals are no posterior's does not say calibrated=True.
    """
    says = "it does not say that its intervals are calibrated (AgentSpec.calibrated)"
    applies(subject.calibrated, says)
    truth = Normal(range(LANES), "conformance/planted", (1, subject.info.n_actions)).at(0)
    first, _ = subject.world(1, 0).reset()

    each = [*_planted(subject, first, truth)]
    none = "it predicts no intervals: samples, or mean and variance"
    for level in LEVELS:
        covered = []
        for said, planted in each:
            low, high = expect(central_interval(said, level), none)
            covered.append(((low <= planted) & (planted <= high)).double().mean())
        share = float(torch.stack(covered).mean())
        margin = STANDARD_ERRORS * math.sqrt(level * (1 - level) / LANES)
        covers = f"{level:.0%} intervals cover {share:.1%} of the planted values"
        expect(abs(share - level) <= margin, f"{covers}; expected {level:.0%} within {margin:.1%}")


def _planted(subject: Learner, obs: Tensor, truth: Tensor) -> Iterator[tuple[Uncertainty, Tensor]]:
    """Predictions of lanes that learned in a ring under γ = 0, and their truth ``[L, n, A]``."""
    lanes = [*range(len(truth))]
    for of in [lanes] if isinstance(subject, AgentSubject) else [[lane] for lane in lanes]:
        ring = Ring(subject.info, obs, truth[of], of)
        yield taught(subject, ring, 0.0, (PLANTED_STEPS,))[PLANTED_STEPS], truth[of]


@once
def _near(subject: Learner, scale: float = 1.0) -> Learned:
    """The predictions in the ring as soon as the mean is near the values, where there is one.

    Raises:
        Failed: it is not, however long it learns.
    """
    for steps in STEPS:
        learned = _in_five_states(subject, scale, steps)
        if not learned.means or learned.error <= WRONG:
            return learned
        if learned.settled:
            break
    said, true = learned.means[2].mean(), learned.values.mean()
    moves = "settles at" if learned.settled else f"is, still moving after {learned.steps} steps,"
    wrong = f"its mean {moves} {said:.3g} where Q is {true:.3g}, on average"
    raise Failed(f"{wrong}; its relative error is {learned.error:.0%}")


@once
def _in_five_states(subject: Learner, scale: float, steps: int) -> Learned:
    """A new agent's predictions in the ring, and the values of its states."""
    subject.must("learn")
    states, n = _states(subject), subject.info.n_actions
    size, lanes = len(states), list(SEEDS if isinstance(subject, AgentSubject) else SEEDS[:1])

    discount = DISCOUNT if size >= 3 else 0.0  # where one observation is all, nothing follows
    rewards = scale * torch.tensor(REWARDS[:size])
    table = rewards[:, None].expand(len(lanes), size, n)
    ring, moments = Ring(subject.info, states, table, lanes, scale), (1, steps // 2, steps)
    asked = taught(subject, ring, discount, moments)
    said = [asked[moment] for moment in moments]
    variances = [one.epistemic_var for one in (said[0], said[2])]
    applies(all(var is not None for var in variances), "it does not predict epistemic_var")
    seen = ring.visits >= SEEN
    share = (seen / seen.sum(1, keepdim=True)).double()
    following = torch.eye(size).roll(1, 1)
    return Learned(
        steps,
        torch.linalg.solve(torch.eye(size) - discount * following, rewards),
        [(one.mean.double().mean(0) * share).sum(1) for one in said if one.mean is not None],
        [var[:, seen] for var in variances if var is not None],
    )


def taught(subject: Learner, ring: Ring, discount: float, moments: Sequence[int]) -> Said:
    """Predictions for all states of a ring, of a new agent that learns there, at some steps.

    An agent written for lanes takes each action in turn in every state, whatever it chose.

    Args:
        subject: the agent.
        ring: with a lane for each of the agent's seeds.
        discount: that it is told.
        moments: when it is asked; the last is the end.
    """
    said: Said = {}
    (size, *shape), n, last = ring.states.shape, ring.n_actions, moments[-1]
    states = ring.states.expand(len(ring.seeds), size, *shape)

    def ask(agent: Queried, t: int) -> None:
        if t in moments:
            stated = Checked(agent, n, t).uncertainty(states)
            said[t] = applies(stated, "it predicts no uncertainty")

    if not isinstance(subject, AgentSubject):
        own = subject.made(subject.config, discount=discount)
        single, recorder = SinglePolicy(own), Recorder(1, last, (), states.device)
        lanes = RecordedLanes(ring, last, recorder, lambda t: ask(single, t))
        train(own, lanes, last, ring.seeds[0])
        ask(single, last)
        return said
    agent = subject.new(ring.seeds, discount=discount)
    obs, _ = reset_by_actor(ring, 1)
    for t in range(last):
        action = torch.zeros_like(agent.act(obs.clone())) + t // size % n
        outcome = copy_of(ring.step(action[:, 0]), 1)
        agent.observe(step_of(obs, action, outcome))
        obs = outcome.obs
        ask(agent, t + 1)
    return said


def _states(subject: Learner) -> Tensor:
    """Up to five observations of its world, ``[n, *obs]``."""
    space, states, most = subject.info.observation_space, list[Tensor](), len(REWARDS)
    if isinstance(space, spaces.Discrete):
        return torch.arange(min(most, int(space.n))) + int(space.start)
    for one in (one for *_, obs in subject.asked for one in obs.flatten(0, 1)):
        if len(states) < most and not any(torch.equal(one, other) for other in states):
            states.append(one)
    return torch.stack(states)


def _size(values: Tensor) -> float:
    return math.sqrt(float(values.double().square().mean()))
