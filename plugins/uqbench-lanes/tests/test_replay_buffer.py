"""The replay is a ring per lane: what was added last is found again, in its own lane."""

from __future__ import annotations

import io

import pytest
import torch
from torch import Tensor

from uqbench.lanes import Clock, ReplayBuffer

LANES, CAPACITY = 3, 5
CPU = torch.device("cpu")
FIELDS = {
    "obs": ((2, 2), torch.uint8),
    "reward": ((), torch.float32),
    "mask": ((4,), torch.bool),
}


def make(capacity: int = CAPACITY) -> ReplayBuffer:
    return ReplayBuffer(LANES, capacity, FIELDS, Clock(CPU))


def add(replay: ReplayBuffer, t: int) -> None:
    replay.add(**transition(t))
    replay._clock.advance()


def transition(t: int) -> dict[str, Tensor]:
    """Every entry tells its step and lane: step 12 of lane 1 has reward 12.1."""
    lane = torch.arange(LANES)[:, None]
    return {
        "obs": (10 * t + lane).to(torch.uint8)[..., None, None].expand(LANES, 1, 2, 2),
        "reward": t + lane / 10,
        "mask": (torch.tensor([[t % 2, (t // 2) % 2, 1, 0]]) > 0).expand(LANES, 1, 4),
    }


def filled(steps: int) -> ReplayBuffer:
    replay = make()
    for t in range(steps):
        add(replay, t)
    return replay


def whole(replay: ReplayBuffer) -> dict[str, Tensor]:
    return replay.gather(torch.arange(len(replay)).repeat(LANES, 1))


@pytest.mark.parametrize("steps", [0, 1, 4, 5, 6, 13])
def test_length_is_what_was_added_up_to_the_capacity(steps: int) -> None:
    replay = filled(steps)
    assert len(replay) == min(steps, CAPACITY)
    assert replay.stored == min(steps + 1, CAPACITY)  # with that of the step under way


@pytest.mark.parametrize("steps", [1, 4, 5, 6, 10, 13])
def test_the_last_transitions_are_kept_and_the_oldest_overwritten(steps: int) -> None:
    stored = whole(filled(steps))
    kept = range(max(0, steps - CAPACITY), steps)
    for lane in range(LANES):
        found = stored["reward"][lane].sort().values
        torch.testing.assert_close(found, torch.tensor([t + lane / 10 for t in kept]))


def test_fields_of_a_transition_stay_together_with_their_type_and_shape() -> None:
    stored = whole(filled(13))
    for name, (shape, dtype) in FIELDS.items():
        assert stored[name].dtype == dtype
        assert stored[name].shape == (LANES, CAPACITY, *shape)
    for lane in range(LANES):
        for slot in range(CAPACITY):
            expected = transition(int(stored["reward"][lane, slot]))
            for name, values in stored.items():
                assert torch.equal(values[lane, slot], expected[name][lane, 0])


def test_every_lane_gathers_its_own_slots() -> None:
    index = torch.tensor([[0, 3], [3, 3], [4, 1]])
    batch = filled(CAPACITY).gather(index)
    expected = index + torch.arange(LANES)[:, None] / 10
    torch.testing.assert_close(batch["reward"], expected)


def test_the_replay_keeps_copies() -> None:
    replay, given = make(), transition(1)
    given = {name: value.clone() for name, value in given.items()}
    replay.add(**given)
    replay._clock.advance()
    given["reward"].fill_(-1.0)
    batch = whole(replay)
    batch["reward"].fill_(-2.0)
    torch.testing.assert_close(whole(replay)["reward"], transition(1)["reward"])


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_other_fields_than_declared_are_refused(change: str) -> None:
    replay, given = make(), transition(0)
    if change == "missing":
        del given["mask"]
    else:
        given["weight"] = torch.zeros(LANES, 1)
    with pytest.raises(ValueError, match=r"expected the fields \['mask', 'obs', 'reward'\], got"):
        replay.add(**given)
    assert len(replay) == 0


@pytest.mark.parametrize("wrong", [torch.zeros(1, 1), torch.zeros(LANES, 1, dtype=torch.int64)])
def test_values_of_another_shape_or_dtype_are_refused_rather_than_spread_or_cast(
    wrong: Tensor,
) -> None:
    replay = make()
    with pytest.raises(ValueError, match=r"expected reward \(\d+, 1\) torch.float32, got"):
        replay.add(**transition(0) | {"reward": wrong})
    assert len(replay) == 0


@pytest.mark.parametrize("steps", [0, 3, 5, 12])
def test_a_replay_loaded_from_a_file_goes_on_like_the_saved_one(steps: int) -> None:
    replay, file = filled(steps), io.BytesIO()
    torch.save(replay.state_dict(), file)
    file.seek(0)
    other = make()
    other._clock.load_state_dict(replay._clock.state_dict())
    other.load_state_dict(torch.load(file, weights_only=True))
    for t in range(steps, steps + 3):
        add(replay, t)
        add(other, t)
    assert len(other) == len(replay)
    stored, expected = whole(other), whole(replay)
    assert all(torch.equal(stored[name], expected[name]) for name in FIELDS)


def test_a_state_is_a_snapshot_without_unused_slots() -> None:
    replay = make(capacity=1000)
    add(replay, 0)
    state = replay.state_dict()
    assert state["obs"].untyped_storage().nbytes() == LANES * 4
    replay._ring["reward"].fill_(7.0)
    torch.testing.assert_close(state["reward"], transition(0)["reward"][None])


def test_booleans_take_a_bit_each() -> None:
    clock = Clock(CPU)
    bits = ReplayBuffer(LANES, 1000, {"obs": ((3, 5), torch.bool)}, clock)
    for _ in range(64):
        bits.add(obs=torch.ones(LANES, 1, 3, 5, dtype=torch.bool))
        clock.advance()
    assert bits.state_dict()["obs"].untyped_storage().nbytes() == LANES * 64 * 15 // 8


def test_with_actors_slots_go_time_by_time_and_actor_by_actor() -> None:
    clock = Clock(CPU, actors=3)
    replay = ReplayBuffer(LANES, 8, {"reward": ((), torch.float32)}, clock)
    assert replay.capacity == 6  # two times of three actors
    for time in range(3):
        assert len(replay) == min(3 * time, 6)
        actor = torch.arange(3.0).expand(LANES, 3)
        replay.add(reward=10 * time + actor + torch.arange(LANES)[:, None] / 10)
        clock.advance()
    stored = replay.gather(torch.arange(6).expand(LANES, 6))["reward"]
    for lane in range(LANES):
        expected = torch.tensor([20.0, 21.0, 22.0, 10.0, 11.0, 12.0]) + lane / 10
        torch.testing.assert_close(stored[lane], expected)


def test_a_capacity_below_the_actors_is_refused() -> None:
    with pytest.raises(ValueError, match="a capacity of 2 has no room for 3 actors"):
        ReplayBuffer(LANES, 2, FIELDS, Clock(CPU, actors=3))
