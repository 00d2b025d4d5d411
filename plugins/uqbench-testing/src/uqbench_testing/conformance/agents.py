"""Rules of every agent: forms, repeatability, lanes, resumption, endings and actors."""

import contextlib
import copy
import dataclasses
import re
from dataclasses import replace
from typing import Any, get_type_hints

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from uqbench.contract.agent import Agent
from uqbench.contract.config import is_scheduled, scaled
from uqbench.contract.environment import Outcome
from uqbench.contract.errors import UqbenchError
from uqbench.lanes import ReplayBuffer
from uqbench.runner.train.guards import check_action, check_metrics, check_range
from uqbench.runner.train.proof import weights
from uqbench_testing.conformance import agent_runs
from uqbench_testing.conformance.agent_runs import ACTORS, FORMS, SEEDS, AgentSubject, predictions
from uqbench_testing.conformance.check import Vacuous, applies, check, expect, is_a, once
from uqbench_testing.same_bits import same

FORM_STEPS = 3
COUNTS = re.compile(r"(_steps|_starts|sync_period|warm_?up|burn_?in|anneal\w*|_?decay)$")
"""Names of whole numbers that count environment steps."""
EVERY = 9
"""Steps between truncations: episodes of a run may be few."""
TOLERANCE = 1e-3
"""Relative: zero times another number may round differently where it is added."""
CHANGED = 0.02
"""Largest share of actions that may change by what an agent learns from one other example."""


@check(AgentSubject, "agent-runs")
def runs(subject: AgentSubject) -> None:
    """An agent acts, learns and predicts without an exception of its own.

    In a whole run; forms are of other checks.

    Fix:
        Follow the message, which names the line; none of the rules was tried.
    """
    with contextlib.suppress(UqbenchError):
        _ = subject.baseline


@check(AgentSubject, "agent-forms", after=("agent-runs",))
def forms(subject: AgentSubject) -> None:
    """`act` returns int64 [L, K], `policy` [L, M], `metrics` [L]; all actions in 0 … A − 1.

    Shapes and dtypes for L = 1, 3 and M = 1, 5.

    Fix:
        Return one number per lane (and observation), whatever L and M are: no squeeze, no argmax
        without its dimension, no hard-coded 1.
    """
    few, n_actions = replace(subject, steps=FORM_STEPS), subject.info.n_actions
    for lanes, queries in FORMS:
        trace = few.run(range(lanes), 0)
        agent, obs = trace.agent, trace.questions[:, -1:]
        is_a(agent, Agent, "uqbench.agent.Agent")
        action = agent.policy(obs.expand(lanes, queries, *obs.shape[2:]))
        where = f"policy with L = {lanes}, M = {queries}"
        check_action(agent, action, (lanes, queries), FORM_STEPS, where)
        check_range(agent, action, n_actions, FORM_STEPS)
        check_metrics(agent, agent.metrics(), lanes)


@check(AgentSubject, "agent-steps")
def steps(subject: AgentSubject) -> None:
    """Config fields that count environment steps are annotated as uqbench.contract.config.Steps.

    Fields with such names are scaled, and the config takes scaled values.

    Fix:
        Write `learning_starts: Steps = 5_000`; short budgets then scale it down.
    """
    config = subject.config
    applies(dataclasses.is_dataclass(config), "its config is not known here")
    hints = get_type_hints(type(config), include_extras=True)
    for name in (field.name for field in dataclasses.fields(config)):
        counts = bool(COUNTS.search(name)) and type(getattr(config, name)) is int
        unmarked = f"{type(config).__name__}.{name} is not annotated as Steps"
        expect(not counts or is_scheduled(hints[name]), unmarked)
    scaled(config, 0.5)


@check(AgentSubject, "agent-global-state", after=("agent-forms",))
def global_state(subject: AgentSubject) -> None:
    """An agent leaves global random states, threads, default dtypes and gradient mode alone.

    Nothing global changes during a run.

    Fix:
        Draw from uqbench.lanes.Uniform, Normal or generators, which are functions of (seed,
        stream, step).
    """
    _, changed = subject.watched
    expect(not changed, f"a run changed {', '.join(changed)}")


@check(AgentSubject, "agent-inputs", after=("agent-global-state",))
def inputs(subject: AgentSubject) -> None:
    """An agent does not write into the tensors that it is given, its step among them.

    Nothing is written into observations, masks and steps, at once or later, such as by clamp_ where
    all rewards are within its bounds. In a run each of them is a copy that nobody else reads.

    Fix:
        Copy before writing: obs.clone(), or an operation without the trailing underscore.
    """
    first = next(iter(subject.baseline.written), None)
    expect(first is None, f"it wrote into {first}")
    agent, asked = subject.baseline.agent, subject.baseline.questions.clone()
    agent.policy(asked)
    agent.uncertainty(asked)
    written = agent_runs.is_written(asked, subject.baseline.questions)
    expect(not written, "policy or uncertainty wrote into its observations")


@check(AgentSubject, "agent-learns", after=("agent-inputs",))
def learns(subject: AgentSubject) -> None:
    """Learned numbers change within the run that other checks look at.

    Floating-point tensors of ``exported_state()``, at the start and after 160 steps in which all
    :data:`~uqbench.contract.config.Steps` have passed; otherwise the other checks would be vacuous.

    Fix:
        Annotate the steps before learning, `warm_up: WarmUpSteps = 1_000`, and every other
        schedule as `Steps`: checks, and short budgets, then make them shorter.
    """

    def learned(part: object) -> Tensor | None:
        return part if isinstance(part, Tensor) and part.is_floating_point() else None

    subject.must("learn")
    agents = subject.new(), subject.baseline.agent
    states = [agent_runs.state_of(agent, "exported_state") for agent in agents]
    applies(None not in states, "it has no exported_state()")
    changed = not same(*(tree_map(learned, state) for state in states))
    expect(changed, f"vacuous: nothing that it has learned changed in {subject.steps} steps")


@check(AgentSubject, "agent-masks", after=("agent-forms",))
def masks(subject: AgentSubject) -> None:
    """Masked actions are never chosen, by act or by policy, also not by exploration.

    With one valid action there is one choice.

    Fix:
        Pass valid on to uqbench.lanes.greedy and epsilon_greedy, or mask before the argmax.
    """
    trace, n_actions = subject.baseline, subject.info.n_actions
    if all(valid is None for _, valid, _ in trace.stream):
        subject.must("know masks, and its world has none")
    obs = trace.questions
    for only in range(n_actions):
        valid = torch.zeros(*obs.shape[:2], n_actions, dtype=torch.bool)
        valid[..., only] = True
        other = f"chose another action than {only}, the only valid one"
        expect((trace.agent.policy(obs, valid) == only).all(), f"policy {other}")
        for agent in (subject.new(), copy.deepcopy(trace.agent)):
            expect((agent.act(obs[:, :1], valid[:, :1]) == only).all(), f"act {other}")


@check(AgentSubject, "agent-repeats", after=("agent-inputs",))
def repeats(subject: AgentSubject) -> None:
    """Two runs of the same seeds are equal, bit for bit.

    Twice, in this process.

    Fix:
        Derive every random number from the seeds; no clock, no hash(), no iteration over sets.
    """
    if subject.difference("read", "overwrite"):
        _alike(subject.run(SEEDS, 0).difference(subject.baseline), "between two such runs")


@check(AgentSubject, "agent-seeds", after=("agent-repeats",))
def seeds(subject: AgentSubject) -> None:
    """Lanes of different seeds differ, in the same world too.

    The same world with another seed is another run.

    Fix:
        Use seeds[i] for lane i; a method without any randomness is an expected failure.
    """
    subject.must("use its seed")
    expect(subject.alone.difference(subject.run([1005], 5)), "two seeds make the same run")


@check(AgentSubject, "agent-pure", after=("agent-repeats",))
def pure(subject: AgentSubject) -> None:
    """`policy` and `uncertainty` change no state: asking leaves no trace in the run.

    The state before and after; a run that is asked at every step equals one that is not.

    Fix:
        Draw what a policy needs in act or observe, and keep caches out of policy.
    """
    trace = subject.baseline
    before = agent_runs.state_of(trace.agent)
    answers = predictions(trace.agent, trace.questions)
    unmoved = same(before, agent_runs.state_of(trace.agent))
    expect(unmoved, "its state_dict() differs before and after policy and uncertainty")
    again = same(answers, predictions(trace.agent, trace.questions))
    expect(again, "asked twice, the same agent answers differently")
    for name, one in predictions(trace.agent, trace.questions[:, 1:2]).items():
        if name == "value_samples":
            continue  # draws are of one law of all that is asked, and may be as many as that needs
        alike = torch.allclose(one * 1.0, answers[name][:, 1:2] * 1.0, TOLERANCE, equal_nan=True)
        expect(alike, f"{name} depends on the other observations asked")
    difference = subject.difference("read", "overwrite") and subject.difference("read")
    _alike(difference, "asked for its policy and uncertainty after every step")


@check(AgentSubject, "agent-buffers", after=("agent-repeats",))
def buffers(subject: AgentSubject) -> None:
    """A step's tensors are overwritten after observe; an agent that keeps them keeps copies.

    With NaN in a step's tensors after ``observe`` the run is the same, a long one, too.

    Fix:
        Store step.obs.clone(), or put the step into a uqbench.lanes.ReplayBuffer.
    """
    difference = subject.difference("read", "overwrite") and subject.difference("overwrite")
    if not difference and subject.difference("overwrite", "long", "among"):
        difference = subject.difference("overwrite", "long")
    _alike(difference, "with a step's tensors overwritten after observe")


@check(AgentSubject, "agent-lanes", after=("agent-repeats",))
def lanes(subject: AgentSubject) -> None:
    """A lane does the same alone, among others and in any order, bit for bit.

    The lane of seed 5 in world 5: alone, second of two for a long time, first of two.

    Fix:
        No operation may combine values of different lanes: no mean over dimension 0, no shared
        optimizer state or generator; sums and products as in uqbench.lanes.numerics.
    """
    difference = subject.difference("overwrite", "long", "among")
    _alike(difference and subject.difference("long", "among"), "between alone and among others")
    other = subject.run([5, 3], 5).lane(0)
    _alike(other.difference(subject.alone), "between alone and in another order")


@check(AgentSubject, "agent-checkpoint", "checkpointable", ("agent-buffers", "agent-pure"))
def checkpoint(subject: AgentSubject) -> None:
    """A run that resumes from state_dict() equals one that was never interrupted.

    Through a file, at ``stops``, against the same outcomes.

    Fix:
        Save everything that later steps depend on; the default saves attributes that are tensors,
        numbers, modules, optimizers and replay buffers.
    """
    trace, agent, saved = subject.baseline, subject.new(), {}
    for t in range(len(trace.stream)):
        if t in subject.stops:
            saved[t] = agent_runs.through_a_file(agent.state_dict())
        trace.replay(agent, t)
    for stop, state in saved.items():
        resumed = subject.new()
        resumed.load_state_dict(state)
        _alike(trace.follow(resumed, stop), f"resumed at step {stop}")
        agent_runs.ends_as(resumed, agent, f"resumed at step {stop}")


@check(AgentSubject, "agent-terminal", after=("agent-buffers",))
def terminal(subject: AgentSubject) -> None:
    """A terminal state's value is zero: what follows terminated does not matter.

    Another ``next_obs`` where an episode terminated changes nothing.

    Fix:
        Multiply the next value by ~step.terminated.
    """
    another = "with another next_obs of terminated steps"
    _alike(_with_another_next_obs(subject, "terminated"), another)


@check(AgentSubject, "agent-truncation", after=("agent-terminal",))
def truncation(subject: AgentSubject) -> None:
    """A truncated episode bootstraps from next_obs: only terminated means nothing follows.

    Another ``next_obs`` where an episode was cut off shows, as anywhere else, be it in the last bit
    of a weight: a slow learner is one.

    Fix:
        Use step.terminated, not step.terminated | step.truncated, in the target.
    """
    applies(_with_another_next_obs(subject, "within"), "it does not learn from next_obs")
    shows = _with_another_next_obs(subject, "truncated")
    expect(shows, "another next_obs of truncated steps changes nothing: it does not bootstrap")


@check(AgentSubject, "agent-actors", after=("agent-lanes", "agent-checkpoint"))
def with_actors(subject: AgentSubject) -> None:
    """With K = 3 actors, too, act returns [L, K], and a lane does the same alone and resumed.

    Forms, lanes, and resumption, which needs a state_dict, with K = 3.

    Fix:
        Tensors of training are [L, K, …], whatever K is; steps count those of all actors; or say
        AgentSpec(actors=False).
    """
    several = subject.several
    trace = several.baseline  # its actions are checked
    check_metrics(trace.agent, trace.metrics[-1], len(SEEDS))
    lanes(several)
    if subject.role == "method":
        checkpoint(several)


@check(AgentSubject, "agent-mixes-actors", after=("agent-actors",))
def mixes(subject: AgentSubject) -> None:
    """An actor's actions depend on its own observations and episodes, and on the learner.

    Another observation of the first actor, or another end of its episode, alone. With other rewards
    of it replay buffers hold the same of the others, until the agent has learned from them.

    Fix:
        Episodes are an actor's own: a head or a window of steps for each, [L, K]; observations are
        never averaged over actors, rewards never summed.
    """
    several = subject.several
    trace, agent, paid = several.baseline, several.new(), several.new()
    changed, asked, untaught = 0, 0, True
    for t, (obs, valid, outcome) in enumerate(trace.stream[:-1]):
        other = obs.clone()
        other[:, 0] = trace.stream[t - 1][0][:, 0]
        plain, swapped = (copy.deepcopy(agent).act(o.clone(), valid) for o in (obs, other))
        otherwise = f"at step {t * ACTORS} the others act otherwise where one sees otherwise"
        expect(torch.equal(plain[:, 1:], swapped[:, 1:]), otherwise)
        if t % 4 == 0:
            ends, following = outcome.truncated.clone(), trace.stream[t + 1]
            ends[:, 0] ^= ~outcome.terminated[:, 0]
            actions = []
            for truncated in (outcome.truncated, ends):
                one = copy.deepcopy(agent)
                trace.replay(one, t, replace(outcome, truncated=truncated))
                actions.append(one.act(following[0].clone(), following[1])[:, 1:])
            differ = actions[0] != actions[1]
            changed, asked = changed + int(differ.sum()), asked + differ.numel()
        reward = outcome.reward.clone()
        reward[:, 0] += 1
        trace.replay(agent, t)
        if untaught:
            trace.replay(paid, t, replace(outcome, reward=reward))
            untaught = same(*(agent_runs.state_of(one, "exported_state") for one in (agent, paid)))
        apart = not untaught or same(_of_others(agent), _of_others(paid))
        expect(apart, f"step {t * ACTORS}: others store its rewards, n-step returns cross actors")
    mixed = f"where an episode ends the others' next actions differ: {changed} of {asked}"
    expect(changed <= CHANGED * asked, mixed)


def _alike(difference: str, when: str) -> None:
    expect(not difference, f"{when}, {difference}")


def _with_another_next_obs(subject: AgentSubject, where: str) -> str:
    """The first difference in what it learns; empty where that other ``next_obs`` makes none.

    Any, or, of terminal states, one beyond rounding.
    """
    tolerance = TOLERANCE if where == "terminated" else 0.0
    ended = any(outcome.terminated.any() for *_, outcome in subject.alone.stream)
    expect(ended, "no episode ended in its world", Vacuous)
    plain = _learned(subject, "")
    for name, value in _learned(subject, where).items():
        one, other = value.double(), plain[name].double()
        if not torch.allclose(one, other, tolerance, tolerance * 1e-3, equal_nan=True):
            return f"{name} differs"
    return ""


@once
def _learned(subject: AgentSubject, where: str) -> dict[str, Tensor]:
    """Metrics of every step, and predictions, of a new agent that is told a run's steps.

    Actions count only where it reports nothing else, since they jump.
    """
    trace, agent, learned, actions = subject.alone, subject.new([5]), {}, []
    for t, told in enumerate(_told(subject, where)):
        actions.append(trace.replay(agent, t, told))
        for name, value in agent.metrics().items():
            learned[f"the metric {name!r} at step {t}"] = value.clone()
    predicted = predictions(agent, trace.questions)
    policy = predicted.pop("policy")
    learned |= {f"the predicted {name}": value for name, value in predicted.items()}
    learned |= {f"weight {i}": value.clone() for i, value in enumerate(weights(agent))}
    return learned or {"its actions": torch.stack(actions), "its policy": policy}


def _told(subject: AgentSubject, where: str) -> list[Outcome]:
    """A run's outcomes, in which every other ending and every ninth step is a truncation.

    Args:
        subject: whose run.
        where: *terminated*, *truncated* or *within*: the steps whose ``next_obs`` is another
            observation of that world, its first; empty for none.
    """
    other, outcomes, endings = subject.world(1, 5).reset()[0][:, None].clone(), [], 0
    for t, (*_, outcome) in enumerate(subject.alone.stream):
        ended = bool((outcome.terminated | outcome.truncated).any())
        endings += ended
        if endings % 2 == 0 if ended else t % EVERY == EVERY - 1:
            always = torch.ones_like(outcome.truncated)
            outcome = replace(outcome, terminated=~always, truncated=always)
        if where:
            within = ~(outcome.terminated | outcome.truncated)
            at = within if where == "within" else getattr(outcome, where)
            at = at.view(-1, *[1] * (other.ndim - 1))
            outcome = replace(outcome, next_obs=torch.where(at, other, outcome.next_obs))
        outcomes.append(outcome)
    return outcomes


def _of_others(agent: Agent) -> list[Any]:
    """The contents of its replay buffers that are of all actors but the first."""
    buffers = [value for value in vars(agent).values() if isinstance(value, ReplayBuffer)]
    slots = [torch.arange(len(buffer)).expand(len(SEEDS), -1) for buffer in buffers]
    return [b.gather(i[:, i[0] % ACTORS > 0]) for b, i in zip(buffers, slots, strict=True)]
