"""Actors of a run: what agents, recorder and conformance make of several environments."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.config import BootstrappedDQNConfig, DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_testing.capture import simulated
from uqbench_testing.conformance.agent_runs import AgentSubject
from uqbench_testing.conformance.agents import mixes, with_actors
from uqbench_testing.conformance.check import Failed
from uqbench_testing.conformance.devices import elsewhere
from uqbench_testing.conformance.subjects import subjects
from uqbench_testing.same_bits import difference, train
from uqbench_testing.worlds import RotatingPixels, transitions
from uqbench_ube.deep.config import UBEDQNConfig
from uqbench_ube.deep.ube_dqn import UBEDQN
from uqbench_ube.deep.windows import Windows

from uqbench.agent import EnvironmentInfo, Step
from uqbench.builtin.configs import UniformRandomConfig
from uqbench.builtin.trivial import UniformRandom
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites import make_plan, read_suites

CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"hidden": (16,), "learning_starts": 12, "batch_size": 8}
SMALL |= {"epsilon_initial": 0.0, "epsilon_final": 0.0}
GREEDY = DQNConfig(**SMALL)


def vectors(actors: int) -> EnvironmentInfo:
    """An environment whose observations have five numbers."""
    return EnvironmentInfo(spaces.Box(-1, 1, (5,)), 4, 0.9, 1_000, actors=actors)


class OneHead(BootstrappedDQN):
    """The first actor's head plays all episodes."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        self._head.copy_(self._head[:, :1].expand_as(self._head).clone())
        return super().act(obs, valid)


def subject(kind: Any, config: Any) -> AgentSubject:
    """An agent with one actor and with three."""
    told: dict[str, Any] = {"config": config, "takes_actors": True, "steps": 90}
    return AgentSubject(name=kind.__name__, factory=kind, **told)


class KnowsNothingOfTheStart(UBEDQN):
    """UBE-DQN whose initial uncertainty is not that of the first actor's first observation."""

    def _set_initial_uncertainty(self, obs: Tensor) -> None:
        self.head.output.bias.fill_(1.0)


UBE = UBEDQNConfig(hidden=(16,), horizon=3, beta=1.0, learning_starts=12, batch_size=8)


HEADS = BootstrappedDQNConfig(heads=5, **SMALL)


@pytest.mark.parametrize(
    ("kind", "config"), [(DQN, GREEDY), (BootstrappedDQN, HEADS), (KnowsNothingOfTheStart, UBE)]
)
def test_an_agent_of_the_papers_passes_with_three_actors(kind, config):
    agent = subject(kind, config)
    with_actors(agent)
    mixes(agent)
    learned = [m["loss"].isfinite().all() for m in agent.several.baseline.metrics]
    assert sum(map(bool, learned)) > 10  # not of an agent that only acts


class CrossedReturns(DQN):
    """Returns of two steps, taken from one queue of all actors' steps."""

    def observe(self, step: Step) -> None:
        super().observe(replace(step, reward=step.reward + 0.9 * step.reward.roll(-1, 1)))


MIXED = [
    (OneHead, HEADS, "the others' next actions differ"),
    (CrossedReturns, GREEDY, "n-step returns cross actors"),
]


@pytest.mark.parametrize(("kind", "config", "said"), MIXED)
def test_an_agent_whose_actors_share_a_head_or_returns_is_found(kind, config, said):
    with pytest.raises(Failed, match=said):
        mixes(subject(kind, config))


class CrossedWindows(Windows):
    """Actors change places at every other step."""

    def add(self, k: Tensor, trunk: Tensor, action: Tensor, local: Tensor, **rest: Tensor) -> None:
        super().add(k, trunk, action, local.flip(0) if k % 2 else local, **rest)


def targets_by_actor(windows: type[Windows]) -> list[list[float]]:
    """Targets of two actors whose local uncertainties are 1 and 100, over windows of 4 steps."""
    found: list[list[float]] = [[], []]

    class Noted(UBEDQN):
        def learn_uncertainty(self, trunk: Any, action: Any, target: Tensor, ready: Any) -> Tensor:
            for actor in range(2):
                if ready[0, actor]:
                    found[actor].append(target[0, actor].item())
            return torch.zeros_like(target)

    info = vectors(2)
    config = UBEDQNConfig(hidden=(8,), horizon=4, batch_size=4, initial_uncertainty=0.01)
    agent = Noted(info, [3], config, CPU)
    agent.windows = windows(2, agent.online.widths[0], 4, info.discount, CPU)
    agent.counts.update = lambda features, action: torch.tensor([[1.0, 100.0]])  # type: ignore[method-assign]
    for step in transitions([3], (5,), 4, 40, actors=2):
        agent.observe(replace(step, action=agent.act(step.obs)))
    return found


def test_windows_of_n_steps_never_cross_two_actors():
    first, second = targets_by_actor(Windows)
    assert first
    assert second
    assert max(first) < 10
    assert min(second) >= 100
    crossed, _ = targets_by_actor(CrossedWindows)
    assert max(crossed) >= 100


def test_what_actors_see_and_earn_is_that_of_each_environment_alone():
    def run(actors: int, first: int) -> Any:
        info = RotatingPixels.info(actors=actors)
        recorder = Recorder(1, 60 * actors, (), CPU, 0.9, actors=actors)
        agent = Repeats(info, [1], UniformRandomConfig(), CPU)
        env = RotatingPixels(actors, first)
        positions = list(interact(agent, env, 60 * actors, recorder, actors=actors))
        assert [position.step for position in positions] == list(range(actors, 61 * actors, actors))
        return recorder.record({}), recorder.finish()[0][1]

    totals, together = run(3, 4)
    alone = [run(1, 4 + actor) for actor in range(3)]
    assert totals["reward"][0] == sum(total["reward"][0] for total, _ in alone)
    for name in ("length", "return", "discounted_return"):
        apart = sorted(value for _, episodes in alone for value in episodes[name])
        assert sorted(together[name]) == apart
    ends = sorted(3 * step for _, episodes in alone for step in episodes["step"])
    assert sorted(together["step"]) == ends


class Repeats(UniformRandom):
    """The same action always."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        return torch.ones(obs.shape[:2], dtype=torch.int64)


@pytest.mark.parametrize("learn_period", [1, 2, 3, 5, 6, 7])
def test_gradient_steps_count_environment_steps_of_all_actors(learn_period):
    class Counting(DQN):
        learned: list[int]

        def learn(self, index: Tensor) -> Tensor:
            for lane in index:
                assert len(lane.unique()) == len(lane)
                assert lane.max() < self.clock.t + self.clock.actors
            self.learned.append(self.clock.t)
            return super().learn(index)

    config = replace(GREEDY, learn_period=learn_period, target_sync_period=9)
    taken = []
    for actors in (1, 3):
        agent = Counting(vectors(actors), [3, 5], config, CPU)
        agent.learned = []
        for step in transitions([3, 5], (5,), 4, 90, actors=actors):
            agent.observe(step)
        taken.append([t // 3 for t in agent.learned])
    assert taken[0] == taken[1]
    assert len(taken[0]) == config.gradient_steps(90)


def test_a_budget_with_actors_is_another_run_and_one_without_is_the_same():
    host = Host.load()
    suite = read_suites(host, check=("minatar",)).suites["minatar"]

    def planned(actors: int, method: str = "dqn", steps: int | None = None) -> Any:
        budget = suite.budgets["smoke"].model_copy(update={"actors": actors})
        other = suite.model_copy(update={"budgets": {**suite.budgets, "smoke": budget}})
        return make_plan(other, host, "smoke", device="cpu", methods=[method], steps=steps)

    one, four = (planned(actors).cells[0].runs[0] for actors in (1, 4))
    assert "actors" not in one.identity["budget"]
    assert four.identity["budget"]["actors"] == 4
    assert one.actor_seed(0) == one.environment_seed
    assert len({one.actor_seed(actor) for actor in range(100)}) == 100
    with pytest.raises(UqbenchError, match="expected a multiple of 4, got 10 steps"):
        planned(4, steps=10)
    suite = read_suites(host, check=("deepsea",)).suites["deepsea"]
    with pytest.raises(UqbenchError, match=r"has 4 actors a run, and .* learns from one"):
        planned(4, "bql")


DEEP = [
    *(f"uqbench-dqn:{name}" for name in ("dqn", "qr-dqn", "c51", "vdqn", "bootstrapped-dqn")),
    *("uqbench-uadqn:ua-dqn", "uqbench-ube:ube-dqn", "uqbench-ube:dqn-intrinsic"),
    *("uqbench-posteriors:ids-qr-dqn", "uqbench-posteriors:bdqn"),
    *("uqbench-sentinel:sentinel-k", "uqbench-quam:quam-dqn"),
]


@pytest.mark.parametrize("name", DEEP)
def test_with_actors_agents_need_no_wait_and_stay_on_a_device_that_has_no_data(name):
    """As on a GPU: tensors of torch's fake device, on which reading a number is an error."""
    (subject,) = subjects(Host.load(), name)
    assert isinstance(subject, AgentSubject)
    assert subject.takes_actors
    assert elsewhere(subject.several) is None


@pytest.mark.parametrize("horizon", [1, 4])
def test_captured_steps_with_actors_end_in_the_state_of_those_from_python(horizon):
    small: dict[str, Any] = {"hidden": (8,), "channels": 4, "batch_size": 4}
    config = UBEDQNConfig(horizon=horizon, learning_starts=12, **small)
    agents = [UBEDQN(RotatingPixels.info(actors=3), [1, 2], config, CPU) for _ in range(2)]
    for agent, capture in zip(agents, (None, simulated), strict=True):
        list(train(agent, RotatingPixels(6), 90, capture, 3))
    plain, captured = (agent.state_dict() for agent in agents)
    assert difference(plain, captured, "state") is None
