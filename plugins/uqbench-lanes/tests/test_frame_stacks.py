"""Stacked frames are kept once; what is sampled is what a plain buffer gives, bit for bit."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import FrameStackObservation

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import EnvironmentInfo
from uqbench.lanes import Clock, TransitionBuffer
from uqbench.testing.same_bits import same
from uqbench.testing.worlds import as_step

LANES, CAPACITY, STEPS, FRAMES = 3, 100, 370, 4


class Film(gymnasium.Env):
    """Every frame is another one; episodes last a random number of steps, some only one."""

    observation_space = gymnasium.spaces.Box(0, 255, (2, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, ends: float) -> None:
        self.ends = ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._frame(), {}

    def step(self, action):
        ended, cut = self.np_random.random(2) < (self.ends, self.ends / 2)
        return self._frame(), float(action), bool(ended), bool(cut and not ended), {}

    def _frame(self):
        return self.np_random.integers(0, 255, (2, 3), np.uint8)


def lanes(ends: float, padding: str = "reset") -> GymnasiumLanes:
    def make() -> gymnasium.Env:
        return FrameStackObservation(Film(ends), FRAMES, padding_type=padding)

    return GymnasiumLanes(make, range(LANES))


def buffer(env: GymnasiumLanes, *, stacked: bool) -> tuple[TransitionBuffer, Clock]:
    clock = Clock(torch.device("cpu"))
    info = EnvironmentInfo(env.observation_space, env.n_actions, 0.9, STEPS, env.stacks_frames)
    assert info.stacks_frames
    return TransitionBuffer(LANES, CAPACITY, replace(info, stacks_frames=stacked), clock), clock


def play(env: GymnasiumLanes, buffers: list[tuple[TransitionBuffer, Clock]], steps: int) -> None:
    """Random play from the environment's first observation on, stored in every buffer."""
    obs, _ = env.reset()
    for t in range(steps):
        action = torch.tensor([t % 2] * LANES)
        outcome = env.step(action)
        step = as_step(obs, action, outcome)
        for held, clock in buffers:
            held.store(step, step.reward)
            clock.advance()
        obs = outcome.obs


@pytest.mark.parametrize("steps", [1, 5, CAPACITY, CAPACITY + 1, STEPS])
@pytest.mark.parametrize("ends", [0.0, 0.04])
def test_every_transition_is_that_of_a_plain_buffer(steps: int, ends: float) -> None:
    env = lanes(ends)
    plain, once = buffer(env, stacked=False), buffer(env, stacked=True)
    play(env, [plain, once], steps)
    index = torch.arange(len(plain[0])).repeat(LANES, 1)
    expected, found = plain[0].gather(index), once[0].gather(index)
    assert expected.keys() == found.keys()
    assert same(expected, {name: found[name] for name in expected})
    assert once[0]._stacks._frames.shape[0] <= CAPACITY + 64 + FRAMES  # plain: 8 × CAPACITY


def test_a_restored_buffer_continues_as_an_uninterrupted_one() -> None:
    whole_env, env = lanes(0.04), lanes(0.04)
    whole, half = buffer(whole_env, stacked=True), buffer(env, stacked=True)
    play(whole_env, [whole], 170)
    play(env, [half], 170)
    restored = buffer(env, stacked=True)
    restored[1].load_state_dict(half[1].state_dict())
    restored[0].load_state_dict(half[0].state_dict())
    for held in (whole, restored):
        play(lanes(0.04), [held], 90)
    index = torch.arange(CAPACITY).repeat(LANES, 1)
    assert same(whole[0].gather(index), restored[0].gather(index))


def test_episodes_too_short_for_the_room_are_an_error_not_wrong_frames() -> None:
    env = lanes(0.99)
    once = buffer(env, stacked=True)
    with pytest.raises(ValueError, match="episodes of 16 steps and more on average"):
        play(env, [once], STEPS)


def test_other_paddings_are_stored_whole() -> None:
    assert not lanes(0.1, padding="zero").stacks_frames
    assert not GymnasiumLanes(lambda: Film(0.1), [0]).stacks_frames
