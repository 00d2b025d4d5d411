"""Vector environments are lanes, and lanes a vector environment."""

from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.adapters.vector import LaneVectorEnv, VectorLanes
from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError
from uqbench.runner.train.environments import lanes_of
from uqbench.specs import EnvironmentSpec
from uqbench.testing.conformance.environments import EnvironmentSubject
from uqbench.testing.results import results
from uqbench.testing.templates.render import KINDS, render

CPU = torch.device("cpu")
LIMIT = TimeLimit(7, "truncation")
WALK: dict = {"__name__": "rendered_walk"}
exec(render("new", KINDS)["src/new/environment.py"].replace("@dataclass(frozen=True)", ""), WALK)


class Config:
    length, slip = 5, 0.3


class Masked(WALK["Walk"]):
    """Walking back is not allowed at the near wall."""

    def __init__(self) -> None:
        super().__init__(Config)

    def reset(self, *, seed=None, options=None):
        obs, _ = super().reset(seed=seed)
        return obs, {"action_mask": np.array([False, True])}

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, info | {"action_mask": np.array([self.at > 0, True])}


def vectorized(count: int, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> SyncVectorEnv:
    return SyncVectorEnv([Masked] * count, autoreset_mode=mode)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("limit", [None, LIMIT, TimeLimit(7, "terminal")])
def test_a_vector_environment_does_as_its_single_environments(mode, limit):
    seeds = [3, 1, 4]
    ours = VectorLanes(vectorized(3, mode), seeds, limit, ("bumps",))
    theirs = GymnasiumLanes(Masked, seeds, limit, ("bumps",))
    (obs, valid), (expected, masks) = ours.reset(), theirs.reset()
    assert torch.equal(obs, expected)
    assert torch.equal(valid, masks)
    ends = 0
    for t in range(200):
        action = torch.where(valid[:, 0] & (torch.arange(3) + t > 0), (torch.arange(3) + t) % 2, 1)
        mine, other = ours.step(action), theirs.step(action)
        for name, value in vars(other).items():
            if name != "events":
                assert torch.equal(getattr(mine, name), value), (t, name)
        assert torch.equal(mine.events["bumps"], other.events["bumps"])
        ends += int((mine.terminated | mine.truncated).sum())
        valid = mine.valid
    assert ends > 20


def test_a_registered_vector_environment_passes_the_checks():
    spec = EnvironmentSpec(
        name="walk", version="1", factory=lambda config, count: vectorized(count),
        vector=True, events=("bumps",))  # fmt: skip
    subject = EnvironmentSubject(
        name="walk", make=lambda seeds, limit: lanes_of(spec, None, seeds, limit, CPU),
        events=("bumps",), limit=LIMIT)  # fmt: skip
    made = {r.check.id: r for r in results([subject])}
    assert [str(r) for r in made.values() if not r.ok] == []
    assert made["environment-lanes"].status == "passed"
    assert made["environment-state"].status == "skipped"


class Unsaid(SyncVectorEnv):
    """Does not say when the next episode begins."""

    def __init__(self) -> None:
        super().__init__([Masked] * 2)
        self.metadata = {}


def pendulums() -> SyncVectorEnv:
    make = partial(gymnasium.make, "Pendulum-v1")
    return SyncVectorEnv([make] * 2, autoreset_mode=AutoresetMode.SAME_STEP)


class ResetsAll(SyncVectorEnv):
    """Begins new episodes everywhere, whatever the mask is."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)


def test_an_environment_that_cannot_reset_one_alone_is_refused_at_the_first_end():
    lanes = VectorLanes(ResetsAll([Masked] * 3, autoreset_mode=AutoresetMode.NEXT_STEP), [3, 1, 4])
    lanes.reset()

    def play() -> None:
        for _ in range(50):
            lanes.step(torch.ones(3, dtype=torch.int64))

    with pytest.raises(UqbenchError, match="outside of the mask"):
        play()


def test_environments_in_processes_of_their_own_are_lanes_too():
    make = partial(gymnasium.make, "CartPole-v1")
    ours = VectorLanes(AsyncVectorEnv([make] * 2), [3, 4])
    theirs = GymnasiumLanes(make, [3, 4])
    assert torch.equal(ours.reset()[0], theirs.reset()[0])
    for t in range(60):
        action = torch.tensor([0, t % 2])
        mine, other = ours.step(action), theirs.step(action)
        for name in ("reward", "terminated", "next_obs", "obs"):
            assert torch.equal(getattr(mine, name), getattr(other, name)), (t, name)
    ours._env.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VectorLanes(Unsaid(), [1, 2]), "Unsaid has None"),
        (lambda: VectorLanes(vectorized(2), [1, 2, 3]), "expected 3 environments"),
        (lambda: VectorLanes(pendulums(), [1, 2]), "Discrete actions from 0"),
        # Gymnasium's own draws for all its environments together, and resets all or none
        (lambda: VectorLanes(CartPoleVectorEnv(3), [3, 1, 4]), r"AutoresetMode\.NEXT_STEP.*SAME"),
    ],
)
def test_what_cannot_be_lanes_is_refused(make, message):
    with pytest.raises(UqbenchError, match=message):
        make()


def test_a_factory_that_makes_something_else_is_named():
    spec = EnvironmentSpec(name="odd", version="1", factory=lambda c, n: Masked(), vector=True)
    with pytest.raises(UqbenchError, match="'odd' says vector=True and made a Masked"):
        lanes_of(spec, None, [1], None, CPU)
    for two in (["vector", "lanes"], ["vector", "has_state_dict"], ["lanes", "has_state_dict"]):
        with pytest.raises(ValueError, match="one of lanes, vector and has_state_dict"):
            EnvironmentSpec(name="odd", version="1", factory=Masked, **dict.fromkeys(two, True))


def test_a_factory_that_takes_seeds_is_given_them_in_31_bits():
    given = []

    def make(config, count, seeds):
        given.append(list(seeds))
        return vectorized(count)

    spec = EnvironmentSpec(name="told", version="1", factory=make, vector=True)
    lanes_of(spec, None, [8, 2**31 + 9], None, CPU).reset()
    assert given == [[8, 9]]


def test_lanes_as_a_vector_environment_do_as_gymnasiums_own():
    ours = LaneVectorEnv(lambda seeds: GymnasiumLanes(Masked, seeds, None, ("bumps",)), 3)
    theirs = vectorized(3)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert ours.observation_space == theirs.observation_space
    (obs, infos), (expected, package) = ours.reset(seed=9), theirs.reset(seed=9)
    ends = 0
    for t in range(150):
        assert np.array_equal(obs, expected)
        masks = infos["action_mask"]
        assert np.array_equal(masks, package["action_mask"])
        actions = np.where(masks[:, 0], (np.arange(3) + t) % 2, 1)
        obs, reward, terminated, truncated, infos = ours.step(actions)
        expected, *wanted, package = theirs.step(actions)
        assert np.array_equal(reward, wanted[0].astype(np.float32))
        assert np.array_equal(terminated, wanted[1])
        assert np.array_equal(truncated, wanted[2])
        assert ("final_obs" in infos) == ("final_obs" in package)
        for lane in np.flatnonzero(terminated):
            ends += 1
            assert np.array_equal(infos["final_obs"][lane], package["final_obs"][lane])
            bumps = infos["final_info"]["events"]["bumps"][lane]
            assert bumps == package["final_info"]["events"]["bumps"][lane]
    assert ends > 10


def test_without_a_seed_episodes_differ_and_follow_from_the_last_seed():
    def seen() -> list[bytes]:
        env = LaneVectorEnv(lambda seeds: GymnasiumLanes(Masked, seeds, None, ("bumps",)), 4)
        found = []
        for seed in (5, None, None):
            env.reset(seed=seed)
            found.append(np.stack([env.step(np.ones(4, np.int64))[0] for _ in range(20)]).tobytes())
        return found

    first = seen()
    assert (len(set(first)), seen()) == (3, first)
