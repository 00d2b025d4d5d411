"""Vector environments of each autoreset mode are lanes as any other, or refused by name."""

from pathlib import Path

import gymnasium
import numpy as np
import pandas
import pytest
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import uqbench
from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import LaneEnv, TimeLimit
from uqbench.errors import UqbenchError
from uqbench.runner.train.environments import lanes_of
from uqbench.specs import EnvironmentSpec

CPU = torch.device("cpu")
SEEDS = [3, 1, 4]
N = 300
"""Transitions of each lane."""


def pole() -> gymnasium.Env:
    return gymnasium.make("CartPole-v1", max_episode_steps=20)


def action_of(seed: int, n: int) -> int:
    """The action of a lane's transition ``n``: half of the episodes fall, half are cut off."""
    return n % 2 if (n // 40 + seed) % 2 else int(n % 5 > 0)


def by_hand(mode: AutoresetMode) -> list[list[tuple]]:
    """Each lane's transitions in Gymnasium's own vector environment, as its manual says."""
    env = SyncVectorEnv([pole] * 3, autoreset_mode=mode)
    obs, _ = env.reset(seed=SEEDS)
    obs, over = obs.copy(), np.zeros(3, bool)
    met: list[list[tuple]] = [[], [], []]
    while min(map(len, met)) < N:
        actions = np.array([action_of(*at) for at in zip(SEEDS, map(len, met), strict=True)])
        seen, reward, terminated, truncated, infos = env.step(actions)
        for i in range(3):
            if over[i] and mode is AutoresetMode.NEXT_STEP:
                continue  # that was no transition: the action was ignored
            ended = terminated[i] or truncated[i]
            same = ended and mode is AutoresetMode.SAME_STEP
            final = infos["final_obs"][i] if same else seen[i].copy()
            ends = bool(terminated[i]), bool(truncated[i])
            met[i].append((*obs[i], actions[i], reward[i], *ends, *final))
        over, obs = terminated | truncated, seen.copy()
    return [lane[:N] for lane in met]


def played(lanes: LaneEnv, seeds: list[int]) -> list[list[tuple]]:
    """The same of lanes."""
    obs, met = lanes.reset()[0], [[] for _ in seeds]
    for n in range(N):
        action = torch.tensor([action_of(seed, n) for seed in seeds])
        out = lanes.step(action)
        for i, lane in enumerate(met):
            rest = (out.reward[i].item(), out.terminated[i].item(), out.truncated[i].item())
            final = out.next_obs[i].tolist()
            lane.append((*obs[i].tolist(), action[i].item(), *rest, *final))
        obs = out.obs
    return met


def sync(mode: AutoresetMode):
    """A factory of Gymnasium's own: it begins the next episode of one lane in each mode."""
    return lambda config, count: SyncVectorEnv([pole] * count, autoreset_mode=mode)


def lanes(make, seeds: list[int] = SEEDS) -> LaneEnv:
    spec = EnvironmentSpec(name="walk", version="1", vector=True, factory=make, events=("bumps",))
    return lanes_of(spec, None, seeds, None, CPU)


def test_transitions_are_those_of_the_same_game_by_hand():
    expected = by_hand(AutoresetMode.NEXT_STEP)
    assert by_hand(AutoresetMode.SAME_STEP) == expected
    assert played(lanes(sync(AutoresetMode.NEXT_STEP)), SEEDS) == expected
    ends = [row[6:8] for row in expected[0]]
    assert ends.count((True, False)) > 5
    assert ends.count((False, True)) > 5


def test_a_lane_is_the_same_alone_and_beside_others():
    factory = sync(AutoresetMode.NEXT_STEP)
    together = played(lanes(factory), SEEDS)
    for seed, lane in zip(SEEDS, together, strict=True):
        assert played(lanes(factory, [seed]), [seed]) == [lane]


def test_one_that_begins_the_next_episode_a_step_later_is_refused_by_name():
    """Gymnasium's own draws for all its environments together, and resets all or none."""
    with pytest.raises(UqbenchError, match=r"CartPoleVectorEnv has AutoresetMode\.NEXT_STEP.*SAME"):
        lanes(lambda config, count: CartPoleVectorEnv(count, max_episode_steps=20))


class Walk(gymnasium.Env):
    """Five to the right in nine steps, with slips; there is no way back from the near wall."""

    observation_space = gymnasium.spaces.Box(0, 5, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def _now(self, bumps: int) -> tuple:
        mask = np.array([self.at > 0, True])
        return np.array([self.at], np.float32), {"action_mask": mask, "events": {"bumps": bumps}}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.left = int(self.np_random.integers(3)), 9
        return self._now(0)

    def step(self, action):
        assert action or self.at > 0
        moved = action if self.np_random.random() < 0.8 else 1 - action
        before, self.at = self.at, max(0, self.at + 2 * moved - 1)
        self.left -= 1
        obs, info = self._now(int(before == self.at))
        return obs, float(self.at), self.at == 5, self.left == 0, info


@pytest.mark.parametrize("limit", [None, TimeLimit(7, "truncation"), TimeLimit(7, "terminal")])
def test_masks_events_and_time_limits_are_those_of_single_environments(limit):
    spec = EnvironmentSpec(
        name="walk", version="1", vector=True, events=("bumps",),
        factory=lambda config, count: SyncVectorEnv([Walk] * count),
    )  # fmt: skip
    ours = lanes_of(spec, None, SEEDS, limit, CPU)
    theirs = GymnasiumLanes(Walk, SEEDS, limit, ("bumps",))
    (obs, valid), (expected, masks) = ours.reset(), theirs.reset()
    assert torch.equal(obs, expected)
    assert torch.equal(valid, masks)
    ends, bumps = 0, 0.0
    for t in range(300):
        action = torch.where(valid[:, 0], (torch.arange(3) + t) % 3 > 0, True).long()
        mine, other = ours.step(action), theirs.step(action)
        for name, value in vars(other).items():
            if name != "events":
                assert torch.equal(getattr(mine, name), value), (t, name)
        assert torch.equal(mine.events["bumps"], other.events["bumps"])
        ends += int((mine.terminated | mine.truncated).sum())
        bumps += mine.events["bumps"].sum().item()
        valid = mine.valid
    assert ends > 20
    assert bumps > 20


def test_a_factory_that_takes_seeds_is_given_them_in_31_bits():
    seeds = [8, 2**31 + 9]
    both = lanes(lambda config, count, seeds: SyncVectorEnv([lambda: Told(seeds)] * count), seeds)
    assert both.reset()[0].tolist() == [[8, 9]] * 2


class Told(Walk):
    observation_space = gymnasium.spaces.Box(0, 99, (2,), np.float32)

    def __init__(self, seeds: list[int]) -> None:
        self.seeds = seeds

    def _now(self, bumps: int) -> tuple:
        return np.array(self.seeds, np.float32), {}


def test_what_is_no_vector_environment_is_named():
    with pytest.raises(UqbenchError, match="'walk' says vector=True and made a Walk"):
        lanes(lambda config, count: Walk())


SUITE = """
name = "poles"
version = "1"
summary = "poles"
primary = "return"
baseline = "witness"
default_budget = "smoke"
tasks = [{ name = "poles", environment = "poles", discount = 0.99 }]
methods = [{ name = "witness", agent = "witness" }]

[budgets.smoke]
summary = "one actor"
steps = 600
seeds = 2
ranks = false
step_ms = 0.1

[budgets.paper]
summary = "three actors"
steps = 600
actors = 3
seeds = 2
ranks = false
step_ms = 0.1

[[metrics]]
name = "return"
summary = "mean return"
kind = "online"

[normalization.return]
version = "1"
zero = "none"
one = "twenty"
[normalization.return.constants]
poles = { zero = 0.0, one = 20.0 }
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "poles.toml").write_text(SUITE)

    def called(way: str, budget: str) -> uqbench.Results:
        monkeypatch.setenv("POLES", way)
        files = [Path(__file__).with_name("poles.py"), tmp_path / "poles.toml"]
        return uqbench.run(
            "poles", budget, plugins=files, workers=1, out=tmp_path / way, progress=False
        )

    return called


@pytest.mark.parametrize("budget", ["smoke", pytest.param("paper", marks=pytest.mark.long)])
def test_a_run_is_the_same_whenever_the_next_episode_begins(run, budget):
    made = {way: run(way, budget) for way in ("SameStep", "NextStep", "Disabled")}
    digests = {way: list(results.runs["results_digest"]) for way, results in made.items()}
    assert len(set(map(tuple, digests.values()))) == 1, digests
    theirs, ours = made["SameStep"], made["NextStep"]
    episodes = ours.episodes()
    pandas.testing.assert_frame_equal(episodes, theirs.episodes())
    assert (episodes["return"] == episodes["length"]).all()  # no step is without its reward of one
    assert set(episodes["end"]) == {"terminated", "truncated", "unfinished"}
    told = ours.metrics("told")
    assert told["value"].nunique() > 2  # the agent was told different things by different seeds
    assert (ours.metrics("lost")["value"] == 0).all()
