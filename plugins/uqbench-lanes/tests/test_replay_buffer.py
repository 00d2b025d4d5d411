"""The replay is a ring per lane: what was added last is found again, in its own lane."""

from itertools import product

import pytest
import torch
from torch import Tensor

from uqbench.lanes import Clock, ReplayBuffer
from uqbench.testing.conformance.agent_runs import through_a_file
from uqbench.testing.same_bits import same

LANES, CAPACITY = 3, 5
CPU = torch.device("cpu")
FIELDS = {"obs": ((2, 2), torch.uint8), "reward": ((), torch.float32), "mask": ((4,), torch.bool)}


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


@pytest.mark.parametrize("steps", [0, 1, 4, 5, 6, 10, 13])
def test_the_last_transitions_are_kept_and_the_oldest_overwritten(steps: int) -> None:
    replay = filled(steps)
    assert len(replay) == min(steps, CAPACITY)
    assert replay.stored == min(steps + 1, CAPACITY)  # with that of the step under way
    kept = range(max(0, steps - CAPACITY), steps)
    for lane, rewards in enumerate(whole(replay)["reward"]):
        expected = torch.tensor([t + lane / 10 for t in kept])
        torch.testing.assert_close(rewards.sort().values, expected)


def test_fields_of_a_transition_stay_together_with_their_type_and_shape() -> None:
    stored = whole(filled(13))
    for name, (shape, dtype) in FIELDS.items():
        assert (stored[name].dtype, stored[name].shape) == (dtype, (LANES, CAPACITY, *shape))
    for lane, slot, name in product(range(LANES), range(CAPACITY), FIELDS):
        expected = transition(int(stored["reward"][lane, slot]))
        assert torch.equal(stored[name][lane, slot], expected[name][lane, 0])


def test_the_replay_keeps_copies() -> None:
    replay, given = make(), transition(1)
    given = {name: value.clone() for name, value in given.items()}
    replay.add(**given)
    replay._clock.advance()
    given["reward"].fill_(-1.0)
    whole(replay)["reward"].fill_(-2.0)
    torch.testing.assert_close(whole(replay)["reward"], transition(1)["reward"])


OTHER_FIELDS = r"expected the fields \['mask', 'obs', 'reward'\], got"
OTHER_FORM = r"expected reward \(\d+, 1\) torch.float32, got"


REFUSED = [
    ({"mask": None}, OTHER_FIELDS),
    ({"weight": torch.zeros(LANES, 1)}, OTHER_FIELDS),
    ({"reward": torch.zeros(1, 1)}, OTHER_FORM),
    ({"reward": torch.zeros(LANES, 1, dtype=torch.int64)}, OTHER_FORM),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_fields_and_forms_other_than_declared_are_refused(change, message) -> None:
    replay, given = make(), transition(0) | change
    with pytest.raises(ValueError, match=message):
        replay.add(**{name: value for name, value in given.items() if value is not None})
    assert len(replay) == 0


@pytest.mark.parametrize("steps", [0, 3, 5, 12])
def test_a_replay_loaded_from_a_file_goes_on_like_the_saved_one(steps: int) -> None:
    replay, other = filled(steps), make()
    other._clock.load_state_dict(replay._clock.state_dict())
    other.load_state_dict(through_a_file(replay.state_dict()))
    for t in range(steps, steps + 3):
        add(replay, t)
        add(other, t)
    assert len(other) == len(replay)
    assert same(whole(other), whole(replay))


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
    expected = torch.tensor([20.0, 21.0, 22.0, 10.0, 11.0, 12.0])
    torch.testing.assert_close(stored, expected + torch.arange(LANES)[:, None] / 10)


def test_a_capacity_below_the_actors_is_refused() -> None:
    with pytest.raises(ValueError, match="a capacity of 2 has no room for 3 actors"):
        ReplayBuffer(LANES, 2, FIELDS, Clock(CPU, actors=3))
