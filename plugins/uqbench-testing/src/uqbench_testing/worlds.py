"""Deterministic data for tests: an environment, synthetic transitions, a supervised problem."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import see
from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predict, Predictions
from uqbench.contract.seeding import derive_seed
from uqbench.runner.train.loop import TOLD, by_actor
from uqbench.uncertainty.predictions import predict_once
from uqbench.uncertainty.validity import Speaker

AFTER = TOLD[:5]
"""The parts of an outcome that a step has behind the observation and the action, in this order."""


def as_step(obs: Tensor, action: Tensor, outcome: Outcome, actors: int = 1) -> Step:
    """A step of an environment ``[L · K, …]``, as an agent observes it."""
    return step_of_actors(obs, action, *(getattr(outcome, name) for name in AFTER), actors=actors)


def step_of_actors(*tensors: Any, actors: int = 1, **named: Any) -> Step:
    """A step ``[L, K, …]`` from its tensors ``[L · K, …]``, in their order or by name."""
    given = vars(Step(*tensors, **named))
    return Step(**{name: by_actor(value, actors) for name, value in given.items()})


def act(agent: Agent, obs: Tensor, valid: Tensor | None = None, actors: int = 1) -> Tensor:
    """Training actions ``[L · K]`` for ``obs`` ``[L · K, *obs]``, among ``valid``."""
    return agent.act(by_actor(obs, actors), by_actor(valid, actors)).flatten()


def transitions(
    seeds: Sequence[int], shape: Sequence[int], n_actions: int, steps: int, actors: int = 1
) -> Iterator[Step]:
    """Random steps, each actor's a function of its lane's seed.

    Observations are normal ``[L, K, *shape]``, rewards uniform in [0, 1); a fifth of the steps end
    an episode, half of those by truncation; all actions are valid.
    """
    of = [derive_seed("actor", s, k) if k else s for s in seeds for k in range(actors)]
    generators = [torch.Generator().manual_seed(seed) for seed in of]
    for _ in range(0, steps, actors):
        lanes = []
        for generator in generators:
            obs, next_obs = torch.randn(2, *shape, generator=generator)
            action = torch.randint(n_actions, (), generator=generator)
            reward, ends, cut = torch.rand(3, generator=generator)
            terminated = ends < 0.1
            lanes.append((obs, action, reward, terminated, (cut < 0.1) & ~terminated, next_obs))
        yield step_of_actors(*map(torch.stack, zip(*lanes, strict=True)), actors=actors)


class RotatingPixels(LaneEnv):
    """An environment of tensor operations, with images, rewards and short episodes.

    A lane rotates three angles, by its action and its world's number; each angle lights a pixel.

    Args:
        lanes: L.
        first: number of the first lane's world; the others count up from it.
    """

    SHAPE = (3, 10, 10)
    n_actions = 4
    observation_space = spaces.Box(0, 1, SHAPE, bool)
    capturable = True

    def __init__(self, lanes: int, first: int = 0) -> None:
        self._lane = torch.arange(first, first + lanes)[:, None] * 0.37
        self._angles = torch.zeros(lanes, 3, dtype=torch.float64)
        self._factors = torch.tensor([7.3, 11.9, 5.7], dtype=torch.float64)
        self._obs = torch.zeros(lanes, *self.SHAPE, dtype=torch.bool)
        self._reward = torch.zeros(lanes)
        self._terminated, self._never = torch.zeros(2, lanes, dtype=torch.bool)

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Start at the lane's own angles."""
        self._angles.copy_(self._lane.frac().expand(-1, 3))
        self._draw()
        return self._obs, None

    def step(self, action: Tensor) -> Outcome:
        """Rotate; the first angle gives the reward, the second ends the episode."""
        turned = (self._angles * self._factors + 0.17 * action[:, None] + self._lane).frac()
        self._angles.copy_(turned)
        self._reward.copy_(turned[:, 0] < 0.2)
        self._terminated.copy_(turned[:, 1] < 0.1)
        self._draw()
        return Outcome(self._reward, self._terminated, self._never, self._obs, self._obs)

    def _draw(self) -> None:
        self._obs.zero_().flatten(2).scatter_(2, (self._angles * 100).long()[..., None], True)

    @classmethod
    def info(cls, **known: Any) -> EnvironmentInfo:
        """The knowledge of an agent about it: γ = 0.9, 10,000 steps, one actor, or as given."""
        told = {"discount": 0.9, "total_steps": 10_000} | known
        return EnvironmentInfo(cls.observation_space, cls.n_actions, **told)


def asked_once(
    dataset: Dataset, seeds: Sequence[int], predict: Predict
) -> Mapping[str, Predictions]:
    """Predictions for a data set's evaluation sets, asked and checked as a run does."""
    sets, model = dataset.evaluation_sets(seeds), dataset.reference_model(seeds)
    by = Speaker("estimator", "the one that is tried", "", see("wrong-prediction"))
    return predict_once(predict, sets, seeds, dataset.n_classes, model, by)


class DrawnPoints(Dataset):
    """Points in the plane, of classes that are wedges, or with the angle as their value.

    Args:
        n_classes: C, or 0 for a regression.
        points: of a lane, in its training data.
    """

    inputs = (2,)

    def __init__(self, n_classes: int, points: int = 40) -> None:
        self.n_classes = n_classes
        self.points = points

    def data(self, seeds: Sequence[int]) -> Data:
        """Points for training, and 20 for validation."""
        held = Data(*self._drawn(seeds, "validation", 20))
        return Data(*self._drawn(seeds, "training", self.points), held)

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """Twenty points."""
        return {"test": EvaluationSet(*self._drawn(seeds, "test", 20))}

    def _drawn(self, seeds: Sequence[int], part: str, count: int) -> tuple[Tensor, Tensor]:
        generators = [torch.Generator().manual_seed(derive_seed(part, seed)) for seed in seeds]
        inputs = torch.stack([torch.randn(count, 2, generator=of) for of in generators])
        angle = torch.atan2(inputs[..., 0], inputs[..., 1]) / (2 * torch.pi) + 0.5
        classes = (angle * self.n_classes).long().clamp(max=max(self.n_classes - 1, 0))
        return inputs, classes if self.n_classes else angle
