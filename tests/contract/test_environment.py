"""Gymnasium environments as lanes: same-step autoreset, time limits, events, masks, seeds."""

import os
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.utils import EzPickle
from numpy.typing import NDArray

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import LaneEnv, Outcome, TimeLimit
from uqbench.errors import CannotSaveError, UqbenchError
from uqbench.testing.conformance.agent_runs import through_a_file


class Counter(gymnasium.Env[NDArray[np.float32], int]):
    """Shows (episode, steps in it, a number drawn at reset); the action is the reward.

    Action 1 terminates, action 2 truncates, action 3 does both, and action 4 is an accident.
    """

    observation_space = spaces.Box(0, np.inf, (3,), np.float32)
    action_space = spaces.Discrete(5)

    def __init__(self) -> None:
        self.episode = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.steps = self.episode + 1, 0
        self.drawn = self.np_random.random()
        return self.observation(), {"events": {"accidents": 99}}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        assert type(action) is int  # not a tensor's or an array's
        self.steps += 1
        info = {"events": {"accidents": 2}} if action == 4 else {}
        return self.observation(), float(action), action in (1, 3), action in (2, 3), info

    def observation(self) -> NDArray[np.float32]:
        return np.array([self.episode, self.steps, self.drawn], np.float32)


def lanes(seeds=(0, 1, 2), make=Counter, **keywords):
    return GymnasiumLanes(make, seeds, **keywords)


def act(env: GymnasiumLanes, *actions: int) -> Outcome:
    return env.step(torch.tensor(actions))


def where(observations: torch.Tensor) -> list[list[int]]:
    """(episode, steps) of every lane."""
    return observations[:, :2].int().tolist()


def test_an_ended_episode_gives_its_last_and_the_next_first_observation_in_the_same_step():
    env = lanes(range(4))
    first, valid = env.reset()
    assert where(first) == [[0, 0]] * 4
    assert valid is None
    act(env, 0, 0, 0, 0)
    outcome = act(env, 0, 1, 2, 3)
    assert outcome.reward.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert where(outcome.next_obs) == [[0, 2]] * 4
    assert where(outcome.obs) == [[0, 2], [1, 0], [1, 0], [1, 0]]
    assert outcome.terminated.tolist() == [False, True, False, True]
    assert outcome.truncated.tolist() == [False, False, True, True]
    assert where(act(env, 0, 0, 0, 0).next_obs) == [[0, 3], [1, 1], [1, 1], [1, 1]]


def test_declared_events_are_counted_in_the_step_they_happen_and_no_others():
    env, none, slip = lanes(events=("accidents", "falls")), lanes(), lanes(events=["accident"])
    for one in (env, none, slip):
        one.reset()
    counts = act(env, 4, 0, 1).events
    assert counts["accidents"].tolist() == [2.0, 0.0, 0.0]
    assert counts["falls"].tolist() == [0.0, 0.0, 0.0]
    assert act(env, 0, 0, 0).events["accidents"].tolist() == [0.0, 0.0, 0.0]
    assert act(none, 4, 4, 4).events == {}
    with pytest.raises(UqbenchError, match=r"'accidents', which its plugin does not.*'accident'"):
        act(slip, 4, 4, 4)


def drawn(seeds: Sequence[int], episodes: int = 4) -> torch.Tensor:
    """The number that every episode's reset drew, ``[episodes, L]``."""
    env = lanes(seeds)
    numbers = [env.reset()[0][:, 2]]
    numbers += [act(env, *[1] * len(seeds)).obs[:, 2] for _ in range(episodes - 1)]
    return torch.stack(numbers)


def test_a_lane_depends_on_its_own_seed_only_and_episodes_differ():
    together = drawn([5, 7, 6, 7])
    assert torch.equal(together[:, [1]], drawn([7]))
    assert torch.equal(together[:, 1], together[:, 3])
    assert len(set(drawn([5], episodes=50).flatten().tolist())) == 50  # only the first is seeded


def test_reset_starts_over_in_every_lane():
    env = lanes([3, 4], time_limit=TimeLimit(3, "truncation"))
    first, _ = env.reset()
    act(env, 0, 1)
    act(env, 0, 0)
    again, _ = env.reset()
    assert torch.equal(again[:, 2], first[:, 2])
    act(env, 0, 0)
    assert not act(env, 0, 0).truncated.any()  # lengths start over too
    assert act(env, 0, 0).truncated.all()


class Masked(Counter):
    """Step k of an episode forbids action k; ``silent_end`` leaves the mask out in a last state."""

    silent_end = False

    def reset(self, **keywords: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        obs, _ = super().reset(**keywords)
        return obs, {"action_mask": self.mask()}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        *rest, _ = super().step(action)
        info = {} if self.silent_end and action == 1 else {"action_mask": self.mask()}
        return *rest, info

    def mask(self) -> NDArray[np.int8]:
        mask = np.ones(5, np.int8)
        mask[4 - self.steps] = 0
        return mask


def forbidden(valid: torch.Tensor | None) -> list[list[int]]:
    assert valid.dtype == torch.bool
    return [(~lane).nonzero().flatten().tolist() for lane in valid]


def test_masks_belong_to_the_observation_before_and_after_a_reset():
    env = lanes(make=Masked)
    assert forbidden(env.reset()[1]) == [[4], [4], [4]]
    act(env, 1, 0, 0)
    outcome = act(env, 0, 1, 0)
    assert forbidden(outcome.next_valid) == [[3], [2], [2]]
    assert forbidden(outcome.valid) == [[3], [4], [2]]


@pytest.mark.parametrize("action", [-1, 4, 5])
def test_an_action_that_is_not_valid_is_refused(action):
    env = lanes(make=Masked)
    env.reset()
    with pytest.raises(UqbenchError, match=f"chose action {action}; expected a valid one of 0 to"):
        act(env, 0, action, 0)


@pytest.mark.parametrize("lane", [0, 1, 2])
def test_a_lane_that_gives_no_mask_has_all_actions_and_leaves_other_lanes_theirs(lane):
    env = lanes(make=type("SilentMasked", (Masked,), {"silent_end": True}))
    env.reset()
    outcome = act(env, *(int(i == lane) for i in range(3)))
    assert forbidden(outcome.next_valid) == [[] if i == lane else [3] for i in range(3)]
    assert forbidden(outcome.valid) == [[4] if i == lane else [3] for i in range(3)]


class Reusing(Counter):
    """Writes all its observations to one array."""

    def __init__(self) -> None:
        super().__init__()
        self.array = np.zeros(3, np.float32)

    def observation(self) -> NDArray[np.float32]:
        self.array[:] = super().observation()
        return self.array


def test_an_environment_that_reuses_its_array_spoils_neither_final_nor_earlier_observations():
    env = lanes(make=Reusing)
    first, _ = env.reset()
    outcome = act(env, 0, 1, 2)
    act(env, 0, 0, 0)
    assert where(first) == [[0, 0], [0, 0], [0, 0]]
    assert where(outcome.next_obs) == [[0, 1], [0, 1], [0, 1]]
    assert where(outcome.obs) == [[0, 1], [1, 0], [1, 0]]


class Typed(Counter):
    """Observes its number of steps in the dtype and shape of the space it is given."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        super().__init__()
        self.observation_space = space

    def observation(self) -> Any:
        return np.full(self.observation_space.shape, self.steps, self.observation_space.dtype)


SPACES = [
    (spaces.Box(0, 1, (4, 10, 10), np.bool_), (2, 4, 10, 10), torch.bool),
    (spaces.Box(0, 255, (6,), np.uint8), (2, 6), torch.uint8),
    (spaces.Box(-1, 1, (2, 3), np.float64), (2, 2, 3), torch.float64),
    (spaces.Discrete(9), (2,), torch.int64),
    (spaces.MultiBinary(5), (2, 5), torch.int8),
]


@pytest.mark.parametrize(("space", "shape", "dtype"), SPACES, ids=str)
def test_observations_keep_the_shape_and_dtype_of_their_space(space, shape, dtype):
    env = lanes([0, 1], make=lambda: Typed(space))
    env.reset()
    outcome = act(env, 0, 2)
    assert outcome.next_obs.shape == outcome.obs.shape == shape
    assert outcome.next_obs.dtype == outcome.obs.dtype == dtype
    assert outcome.next_obs.bool().all()
    assert outcome.obs.reshape(2, -1).bool().all(1).tolist() == [True, False]


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([2, 3]), spaces.Discrete(3, start=1)])
def test_actions_that_are_not_numbered_from_zero_are_refused(space):
    with pytest.raises(UqbenchError, match="Discrete actions from 0") as caught:
        lanes(make=type("Acting", (Counter,), {"action_space": space}))
    assert str(space) in str(caught.value)


class Walking(Masked):
    """Moves by chance; episodes end by chance."""

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        obs, _, _, _, info = super().step(0)
        ended = bool(self.np_random.random() < 0.1)
        return obs, float(self.np_random.normal()), ended, False, info


class Keeping(Walking):
    """Says where it is, so that nothing is replayed."""

    steps_taken = 0

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self.steps_taken += 1
        return super().step(action)

    def state_dict(self) -> dict[str, Any]:
        own = {"episode": self.episode, "steps": self.steps, "drawn": self.drawn}
        return {**own, "np_random": self.np_random.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.episode, self.steps, self.drawn = state["episode"], state["steps"], state["drawn"]
        self.np_random.bit_generator.state = state["np_random"]


class Forgetful(Walking, EzPickle):
    """Would be pickled as a fresh one, as many of Gymnasium's own environments are."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def wrapped(kind: type[gymnasium.Env] = Forgetful) -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TimeLimit(kind(), 3)


@pytest.mark.parametrize("make", [Walking, Keeping, Forgetful, wrapped])
@pytest.mark.parametrize("steps", [0, 1, 6, 300])
def test_a_loaded_copy_steps_on_exactly_like_the_saved_one(make, steps):
    kind = {"time_limit": TimeLimit(4, "truncation"), "has_state_dict": make is Keeping}
    env, copy = lanes(make=make, **kind), lanes(make=make, **kind)
    env.reset()
    for _ in range(steps):
        act(env, 0, 0, 0)
    copy.load_state_dict(through_a_file(env.state_dict()))
    for _ in range(40):
        one, other = act(env, 0, 0, 0), act(copy, 0, 0, 0)
        for name, value in vars(one).items():
            if name != "events":
                assert torch.equal(value, getattr(other, name)), name
    with pytest.raises(UqbenchError, match="chose action"):
        act(copy, 5, 0, 0)
    last = lanes(make=make, **kind)
    last.load_state_dict(through_a_file(copy.state_dict()))
    assert torch.equal(act(last, 1, 0, 1).obs, act(env, 1, 0, 1).obs)


def test_an_environment_that_says_where_it_is_takes_no_step_again():
    made = [Keeping(), Keeping()]
    env = lanes([5], lambda: made[0], time_limit=TimeLimit(4, "truncation"), has_state_dict=True)
    env.reset()
    for _ in range(30):
        act(env, 0)
    lanes([5], lambda: made[1], has_state_dict=True).load_state_dict(env.state_dict())
    assert [env.steps_taken for env in made] == [30, 0]


SAYINGS = [
    (Walking, True, r"has_state_dict=True, but Walking lacks state_dict\(\)"),
    (
        partial(wrapped, Keeping),
        True,
        r"TimeLimit lacks .* It hides those of Keeping\. Give TimeLimit both",
    ),
    (Keeping, False, r"Keeping has state_dict\(\) .* has_state_dict=False says it has not"),
]


@pytest.mark.parametrize(("make", "declared", "message"), SAYINGS)
def test_an_environment_says_exactly_whether_it_can_be_saved(make, declared, message):
    with pytest.raises(UqbenchError, match=message):
        lanes(make=make, has_state_dict=declared)


class Drifting(Counter):
    """Draws from what no seed reaches."""

    def observation(self) -> NDArray[np.float32]:
        return super().observation() + np.frombuffer(os.urandom(1), np.uint8)


def test_an_environment_that_does_not_come_to_the_same_again_is_told():
    env, copy = lanes(make=Drifting), lanes(make=Drifting)
    env.reset()
    for _ in range(9):
        act(env, 0, 0, 0)
    with pytest.raises(UqbenchError, match=r"Drifting does not replay: .* give it state_dict"):
        copy.load_state_dict(env.state_dict())


OTHER_ACTIONS = torch.tensor([[0, 0, 1]]), torch.tensor([[0, 0]]), torch.full((1, 3), 9)
CHANGES = [{"actions": of} for of in (*OTHER_ACTIONS, torch.zeros(0, 3))]


@pytest.mark.parametrize("change", [*CHANGES, {"digest": "0" * 64}], ids=str)
def test_other_actions_or_another_digest_are_found_out(change):
    env, copy = lanes(), lanes()
    env.reset()
    act(env, 0, 0, 0)
    with pytest.raises((UqbenchError, ValueError)):
        copy.load_state_dict(env.state_dict() | change)


def test_lanes_of_a_plugin_cannot_be_saved_unless_they_say_how():
    class Own(LaneEnv):
        def reset(self) -> Any: ...

        def step(self, action: torch.Tensor) -> Any: ...

    with pytest.raises(CannotSaveError, match="Own has no state_dict"):
        Own().state_dict()
