"""What an agent says after it has learned, where the values are known: in five states, or planted.

Five states follow each other in a ring, whatever the action, so that Q is the same for every
policy: ``Q(s, a) = r(s) + γ Q(s + 1, ·)``. The observations are of the agent's own world, fewer
where that has fewer; every action is taken as often, whatever the agent would do. Rewards have
variance one.
"""

import math
from dataclasses import dataclass

import torch
from gymnasium import spaces
from torch import Tensor
from torch.utils._pytree import tree_map

from uqbench.contract.agent import Agent, Step, Uncertainty
from uqbench.lanes import Normal, Uniform
from uqbench.runner.train.guards import Checked
from uqbench.testing.conformance.agent_runs import SEEDS, AgentSubject, same, state_of
from uqbench.testing.conformance.check import Failed, Skipped, Vacuous, check, once
from uqbench.uncertainty.interval_scores import central_interval

DISCOUNT = 0.5
REWARDS = (2.0, 0.0, 4.0, 0.0, 2.0)
VISITS, MOST_STEPS = 40, 400
"""Of each state with each action, in so many steps at most."""
WRONG = 0.25
"""Relative error of the values that is more than noise: SE 0.16 of values of about three."""
CONVERGED = 0.2
"""Movement in the second half, relative to the first, of values that are learned."""
SCALE = 10.0
LEVEL = 0.9
LANES, STEPS = 64, 240
LEVELS = (0.5, 0.9)
STANDARD_ERRORS = 4.0
"""Of a share of lanes, at each level: false alarms in fewer than one of 8,000 checks."""
AFTER = ("agent-repeats", "uncertainty-forms", "agent-learns")


@dataclass(frozen=True)
class Learned:
    """An agent's predictions of the five states, before learning, halfway and at the end.

    Attributes:
        values: Q ``[n]`` of the n states, five or fewer.
        means: three times ``[n]``, over lanes and actions, which are worth the same.
        variances: three times ``[L, n, A]``.
        last: the prediction at the end.
    """

    values: Tensor
    means: list[Tensor]
    variances: list[Tensor]
    last: Uncertainty

    @property
    def error(self) -> float:
        """Relative error of the stated mean at the end."""
        return _size(self.means[2] - self.values) / _size(self.values)


@check(AgentSubject, "agent-learns", after=("agent-inputs",))
def learns(subject: AgentSubject) -> None:
    """What an agent has learned changes within the run that other checks look at.

    Floating-point tensors of ``exported_state()``, at the start and after 160 steps in which all
    :data:`~uqbench.contract.config.Steps` have passed; otherwise the other checks would be vacuous.

    Fix:
        Annotate the steps before learning, `warm_up: WarmUpSteps = 1_000`, and every other
        schedule as `Steps`: checks, and short budgets, then make them shorter.
    """
    if subject.role != "method":
        raise Skipped(f"its role is {subject.role!r}: it need not learn")
    trace, new = subject.baseline, subject.new()
    before, after = (_learned(agent) for agent in (new, trace.agent))
    if before is None or after is None:
        raise Skipped("it has no exported_state()")
    if same(before, after):
        raise Failed(f"vacuous: nothing that it has learned changed in {subject.steps} steps")


@check(AgentSubject, "uncertainty-values", after=AFTER)
def values(subject: AgentSubject) -> None:
    """The stated `mean` is of Q: the expected return, in units of return.

    In five states whose Q is known, once the mean hardly moves any more.

    Fix:
        Not of the next reward alone, not normalized, not in other units: what `policy` maximizes,
        mean = E[r + γ Q(s', ·)].
    """
    learned = _in_five_states(subject)
    if learned.error <= WRONG:
        return
    start, half, end = learned.means
    if _size(end - half) > CONVERGED * _size(half - start):
        raise Vacuous("it learns too slowly to be judged: its mean still moves")
    said, true = end.mean(), learned.values.mean()
    wrong = f"its mean settles at {said:.3g} where Q is {true:.3g}, on average"
    raise Failed(f"{wrong}; its relative error is {learned.error:.0%}")


@check(AgentSubject, "uncertainty-data", after=AFTER)
def data(subject: AgentSubject) -> str:
    """The stated `epistemic_var` depends on data; that of calibrated intervals falls with it.

    In five states, before, halfway and after learning. How often the 90 % intervals cover Q at the
    end is reported, of agents that do not say that they are calibrated as well.

    Fix:
        epistemic_var is the variance of Q that more data would reduce, not that of the return.
    """
    learned = _in_five_states(subject)
    start, half, end = learned.variances
    if torch.equal(start, end):
        raise Failed("its epistemic_var is the same before and after learning")
    first, last = (float(var.median()) for var in (half, end))
    if subject.calibrated and last >= first:
        raise Failed(f"its epistemic_var rises from {first:.3g} to {last:.3g} with twice the data")
    share = _covered(learned.last, learned.values[:, None], LEVEL)
    if share is None:
        return f"epistemic_var {first:.3g}, then {last:.3g}"
    covers = f"{LEVEL:.0%} intervals cover {share:.0%} of them in two lanes"
    return f"epistemic_var {first:.3g}, then {last:.3g}; {covers}"


@check(AgentSubject, "uncertainty-scale", after=("uncertainty-values", "uncertainty-data"))
def scale(subject: AgentSubject) -> None:
    """Ten times the rewards make ten times the `mean` and a hundred times the `epistemic_var`.

    In five states, where the values of either scale are learned. Calibrated agents may know that
    rewards have variance one: their variance may be the same.

    Fix:
        State a variance, the square of a standard deviation, in squared units of return: an
        estimate of the rewards' variance belongs into it, 1 / n does not have units.
    """
    one = _in_five_states(subject)
    if one.error > WRONG or (ten := _in_five_states(subject, SCALE)).error > WRONG:
        raise Vacuous("it learns too slowly to be judged at both scales")
    small, large = one.variances[2].double(), ten.variances[2].double()
    ratio = (large / small.clamp(min=1e-30)).flatten()
    for power, what in ((1, "as a standard deviation does"), (0, "that is, not at all")):
        alike = (ratio.log10() - power).abs() < 0.15
        if float(alike.double().mean()) > 0.9 and not (power == 0 and subject.calibrated):
            factor = float(ratio.median())
            raise Failed(f"its epistemic_var is multiplied by {factor:.3g}, {what}; expected 100")


@check(AgentSubject, "uncertainty-coverage", level="calibrated", after=("uncertainty-forms",))
def coverage(subject: AgentSubject) -> None:
    """Where the values of actions are planted, intervals of 50 % and 90 % cover so many of them.

    Rewards N(μ_a, 1) with μ_a ~ N(0, 1), in one state and under γ = 0, where Q*(a) = μ_a.

    Fix:
        epistemic_var is the variance of Q's posterior in squared units of return; an agent whose
        intervals are no posterior's does not say calibrated=True.
    """
    if not subject.calibrated:
        raise Skipped("it does not say that its intervals are calibrated (AgentSpec.calibrated)")
    n, seeds = subject.info.n_actions, range(LANES)
    truth = Normal(seeds, "conformance/planted", (n,)).at(0)
    noise = Normal(seeds, "conformance/noise", (1,))
    draws = Uniform(seeds, "conformance/actions", (1,))
    agent = subject.new(seeds, discount=0.0)
    first, _ = subject.world(1, 0).reset()
    obs = first.expand(LANES, 1, *first.shape[1:])
    for t in range(STEPS):
        action = (draws.at(t) * n).long()  # whatever it chose: all are met as often
        _teach(agent, obs, action, truth.gather(1, action) + noise.at(t), obs)
    predicted = agent.uncertainty(obs.clone())
    if predicted is None:
        raise Failed("it says that its intervals are calibrated, and predicts no uncertainty")
    for level in LEVELS:
        share = _covered(predicted, truth[:, None], level)
        if share is None:
            raise Failed("it predicts no intervals: samples of Q, or mean and epistemic_var")
        margin = STANDARD_ERRORS * math.sqrt(level * (1 - level) / LANES)
        if abs(share - level) > margin:
            covers = f"{level:.0%} intervals cover {share:.1%} of the planted values"
            raise Failed(f"{covers}; expected {level:.0%} within {margin:.1%}")


@once
def _in_five_states(subject: AgentSubject, scale: float = 1.0) -> Learned:
    """A new agent's predictions in the ring, and the values of its states."""
    if subject.role != "method":
        raise Skipped(f"its role is {subject.role!r}: it need not learn")
    agent, lanes, states = subject.new(discount=DISCOUNT), len(SEEDS), _states(subject)
    size, n = len(states), subject.info.n_actions
    if size < 3:
        raise Vacuous(f"its world showed {size} different observations; three are needed")
    half = min(VISITS * size * n, MOST_STEPS) // 2
    noise = Normal(SEEDS, "conformance/ring", (1,))
    rewards = scale * torch.tensor(REWARDS[:size])
    at = [state.expand(lanes, 1, *state.shape) for state in states]
    asked = states.expand(lanes, *states.shape)
    means, variances = [], []
    for t in range(2 * half + 1):
        if t % half == 0:
            last = Checked(agent, n, t).uncertainty(asked)
            if last is None or last.mean is None or last.epistemic_var is None:
                raise Skipped("it does not predict mean and epistemic_var")
            means.append(last.mean.double().mean((0, 2)))
            variances.append(last.epistemic_var)
        now, following = t % size, (t + 1) % size
        action = torch.full((lanes, 1), t // size % n)  # in every state each in turn
        _teach(agent, at[now], action, rewards[now] + scale * noise.at(t), at[following])
    ring = torch.eye(size).roll(1, 1)
    true = torch.linalg.solve(torch.eye(size) - DISCOUNT * ring, rewards)
    assert last is not None
    return Learned(true, means, variances, last)


def _teach(agent: Agent, obs: Tensor, action: Tensor, reward: Tensor, next_obs: Tensor) -> None:
    """Let it learn from a step that ends no episode, whatever it would have done."""
    agent.act(obs.clone())
    end, cut = torch.zeros(2, *action.shape, dtype=torch.bool)
    agent.observe(Step(obs.clone(), action, reward.float(), end, cut, next_obs.clone()))


def _covered(predicted: Uncertainty, truth: Tensor, level: float) -> float | None:
    """The share of values that intervals cover; None where none are predicted."""
    interval = central_interval(predicted, level)
    if interval is None:
        return None
    low, high = interval
    return float(((low <= truth) & (truth <= high)).double().mean())


def _states(subject: AgentSubject) -> Tensor:
    """Up to five observations of its world, ``[n, *obs]``."""
    space, states, most = subject.info.observation_space, list[Tensor](), len(REWARDS)
    if isinstance(space, spaces.Discrete):
        return torch.arange(min(most, int(space.n))) + int(space.start)
    for obs, *_ in subject.baseline.stream:
        for one in obs.flatten(0, 1):
            if len(states) < most and not any(torch.equal(one, other) for other in states):
                states.append(one)
    return torch.stack(states)


def _learned(agent: Agent) -> object:
    """Floating-point tensors of what it exports; None where it exports nothing."""

    def learned(part: object) -> Tensor | None:
        return part if isinstance(part, Tensor) and part.is_floating_point() else None

    return tree_map(learned, state_of(agent, "exported_state"))


def _size(values: Tensor) -> float:
    return math.sqrt(float(values.double().square().mean()))
