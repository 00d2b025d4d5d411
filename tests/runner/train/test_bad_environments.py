"""An environment that returns what it should not ends its run with a sentence, and no other run."""

import re
from collections import UserDict
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from commands import toy_plugin
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from planted import after
from toy_runs import plan_of

from uqbench import EnvironmentSpec
from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.adapters.vector import VectorLanes
from uqbench.environment import LaneEnv, Outcome
from uqbench.errors import UqbenchError
from uqbench.registry import Added, Host
from uqbench.results import RunState, Store
from uqbench.runner import execute, make_batch_groups
from uqbench.runner.train.evaluation import evaluate
from uqbench.runner.train.guards import STRIDE, GuardedLanes
from uqbench.suites import read_suites

BOX = spaces.Box(-1, 1, (2,))
FIVE = np.zeros(2, np.float32), 0.5, False, False
"""What a good step returns, but for its info."""


class Good(gymnasium.Env):
    """Goes on and on. The bad ones override what they return, from the third step on."""

    observation_space = BOX
    action_space = spaces.Discrete(2)
    bad_seed: int | None = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.bad = 0, seed == self.bad_seed
        return self.begun() if self.bad else (FIVE[0].copy(), {})

    def step(self, action):
        self.t += 1
        return self.later() if self.bad and self.t == 3 else (*FIVE, {})

    def begun(self):
        return FIVE[0].copy(), {}

    def later(self):
        return *FIVE, {}


def returns(*values, **space):
    """An environment whose third step returns this."""
    return type("Bad", (Good,), {"later": lambda self: values, **space})


def begins(value, **space):
    """An environment whose reset returns this."""
    return type("Bad", (Good,), {"begun": lambda self: value, **space})


def sees(obs, **space):
    return returns(obs, *FIVE[1:], {}, **space)


STEP = r".*\(Bad of tests, lane 0, step 2"
EMPTY = {"action_mask": np.zeros(2, bool)}
PIXELS = {"observation_space": spaces.Box(0, 255, (2,), np.uint8)}
APART = {"observation_space": spaces.Box(np.array([-1, 0]), np.array([1, 9]), dtype=np.float32)}
BAD = {
    "NaN": (sees(np.array([0, np.nan])),
        r"returned nan in next_obs\[1\]; expected a finite" + STEP),
    "outside": (sees(np.array([0, 50])), r"returned 50 .* number from -1 to 1, as its obs" + STEP),
    "outside one of several": (sees(np.array([0, -1.0]), **APART), r"-1 in .* from 0 to 9" + STEP),
    "another shape": (sees(np.zeros(3)),
        r"of shape \(3,\); expected a number each, of shape \(2,\)" + STEP),
    "a shape that fits": (sees(0.0), r"the observation 0.0, a float; expected .* \(2,\)" + STEP),
    "several lengths": (sees([[1], [2, 3]]), r"a list; expected a number each, of shape" + STEP),
    "beyond a byte": (begins((np.array([0, 300]), {}), **PIXELS),
        r"of int64; expected values of Box\(0, 255.*lane 0, at its reset"),
    "reward '1'": (returns(FIVE[0], "1", False, False, {}), "the reward '1', a str; exp" + STEP),
    "two rewards": (returns(FIVE[0], np.ones(2), False, False, {}),
        r"float64 of shape \(2,\)" + STEP),
    "terminated 1": (returns(FIVE[0], 0.0, 1, False, {}),
        "1, a int; expected True or False" + STEP),
    "truncated None": (returns(FIVE[0], 0.0, False, None, {}), "the truncated None" + STEP),
    "four values": (returns(FIVE[0], 0.0, False, {}), "a tuple of 4 values; expected 5" + STEP),
    "no info": (returns(*FIVE, None), "a NoneType as info; expected a dictionary" + STEP),
    "reset without info": (begins(FIVE[0]), r"a ndarray; expected 2 values, \(obs, info\)"),
    "an empty mask": (returns(*FIVE, EMPTY),
        r"environment returned a valid that allows no action.*Bad of .*lane 0, step 2\)"),
    "a mask of three": (returns(*FIVE, {"action_mask": [1, 1, 1]}),
        r"mask as int64 of shape \(3,\)"),
    "dictionaries": (begins(({}, {}), observation_space=spaces.Dict(at=spaces.Discrete(2))),
        "observation space of Bad is Dict.*expected a Box.*FlattenObservation"),
}  # fmt: skip


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """``stored(made)``: the stored runs of two seeds in an environment, interleaved."""
    toy_plugin(monkeypatch)

    def stored(made):
        host = Host.load()
        spec = EnvironmentSpec(name="bad", version="1", factory=lambda config: made())
        added, of = Added({"environment": [spec]}), {"distribution": "bad", "package": "uqbench"}
        host.register(name="bad", version="1", load=lambda: added, **of)
        suite = read_suites(host, check=()).suite("toy")
        task = suite.tasks[0].model_copy(update={"environment": "bad", "config": {}})
        suite = suite.model_copy(update={"tasks": (task,)})
        plan = plan_of(host, "smoke", suite=suite, methods=["slow"], seeds=[0, 1], steps=100)
        monkeypatch.setattr(made, "bad_seed", plan.runs[0].actor_seed(0))
        [[first], [second]] = make_batch_groups(plan, plan.runs, "cpu", lanes=1)
        store = Store(tmp_path)
        execute((first, second), store, host, lambda event: None)
        return [store.find(run) for run in plan.runs]

    return stored


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_environment_ends_its_run_with_a_sentence_and_not_its_neighbor(bad, stored):
    made, said = BAD[bad]
    ended, neighbor = stored(made)
    assert ended.state is RunState.FAILED
    assert re.search(f"UqbenchError: .*{said}.*wrong-outcome", ended.reason, re.DOTALL)
    if made.observation_space.shape is not None:
        assert neighbor.state is RunState.FINISHED


def test_a_good_environment_is_let_pass(stored):
    assert {one.state for one in stored(Good)} == {RunState.FINISHED}


def test_a_terminal_state_needs_no_valid_action():
    made = type("Ends", (Good,), {"later": lambda self: (*FIVE[:2], True, False, EMPTY)})
    guarded = GuardedLanes(GymnasiumLanes(made, [None]))
    guarded.reset()
    ended = []
    for t in range(2 * STRIDE):
        outcome = guarded.step(torch.zeros(1, dtype=torch.int64), t)
        guarded.look(outcome, t)
        ended += outcome.terminated.tolist()
    assert ended[:3] == [False, False, True]


class Lanes(LaneEnv):
    """Lanes that return one thing in another form or of another value."""

    observation_space, n_actions = BOX, 2

    def __init__(self, **changes):
        self.changes = changes

    def reset(self):
        return torch.zeros(4, 2), None

    def step(self, action):
        good = {"reward": torch.zeros(4), "next_obs": torch.zeros(4, 2), "obs": torch.zeros(4, 2)}
        never = torch.zeros(4, dtype=torch.bool)
        return Outcome(**{**good, "terminated": never, "truncated": never, **self.changes})


HERE = torch.tensor([[0, 0], [0, 0], [0, 7], [0, 0]]).float()
NONE = torch.tensor([[True, False]] * 3 + [[False, False]])


BAD_LANES = [
    ({"obs": HERE}, r"returned 7 in obs\[1\]; .*\(Lanes of tests, lane 1, step 0"),
    ({"next_obs": HERE.log()}, r"returned -inf in next_obs\[0\]"),
    ({"next_obs": HERE.bool()}, "returned next_obs as torch.bool"),
    ({"obs": HERE[:, :1]}, r"returned obs as torch.float32 of shape \(4, 1\)"),
    ({"reward": None}, "returned reward as a NoneType"),
    ({"reward": torch.zeros(1)}, r"returned reward as torch.float32 of shape \(1,\)"),
    ({"terminated": None}, r"returned terminated as a NoneType; expected torch.bool of shape"),
    ({"truncated": torch.zeros(4)}, "returned truncated as torch.float32"),
    ({"valid": NONE}, r"returned a valid that allows no action; .*lane 1, step 0"),
    ({"next_valid": NONE}, r"returned a next_valid that allows no action"),
    ({"valid": NONE[:, :1]}, r"returned valid as torch.bool of shape \(4, 1\)"),
]


@pytest.mark.parametrize(("changes", "said"), BAD_LANES)
def test_lanes_are_checked_and_the_run_is_named_not_its_actor(changes, said):
    guarded = GuardedLanes(Lanes(**changes), actors=2)
    guarded.reset()
    with pytest.raises(UqbenchError, match=said):
        guarded.look(guarded.step(ZERO, 0), 0)


class Own(torch.Tensor):
    """A tensor that may compute with itself whatever it wants."""


COUNTS = torch.tensor(7.0), torch.zeros(4) + 1j, torch.zeros(4).as_subclass(Own), 1.0
ZERO = torch.zeros(4, dtype=torch.int64)


@pytest.mark.parametrize("count", COUNTS, ids=["one number", "complex", "another class", "none"])
def test_an_event_is_a_count_for_each_lane(count):
    made = after(Lanes, step=lambda outcome: replace(outcome, events={"bumps": count}))
    with pytest.raises(UqbenchError, match=r"returned event 'bumps' as .*; expected counts \(4,\)"):
        GuardedLanes(made(), ["bumps"]).step(ZERO, 0)


BAD_EVENTS = [
    ({"fals": 1}, r"has 'fals', which .* Did you mean 'falls'\?"),
    *(({"falls": n}, "returned the falls .*; expected a num") for n in ([1.0], 10**400, "1", 1j)),
]


@pytest.mark.parametrize(("events", "said"), BAD_EVENTS)
def test_an_event_of_a_single_environment_is_declared_and_a_number(events, said):
    lanes = GymnasiumLanes(returns(*FIVE, {"events": events}, bad_seed=0), [0], events=("falls",))
    lanes.reset()
    for _ in range(2):
        lanes.step(torch.zeros(1, dtype=torch.int64))
    with pytest.raises(UqbenchError, match=said):
        lanes.step(torch.zeros(1, dtype=torch.int64))


def test_events_that_another_look_would_change_are_looked_at_once():
    class Growing(UserDict):
        looks = 0

        def __getitem__(self, name):
            Growing.looks += 1
            return torch.full((4,), float(Growing.looks))

    made = after(Lanes, step=lambda outcome: replace(outcome, events=Growing(bumps=0)))
    outcome = GuardedLanes(made(), ["bumps"]).step(ZERO, 0)
    assert [outcome.events["bumps"].tolist() for _ in range(2)] == [[1.0] * 4] * 2


class Growing(Outcome):
    """Another look might change it."""


def test_what_is_no_outcome_itself_is_named():
    for change, kind in ((lambda of: Growing(**vars(of)), "Growing"), (lambda of: (), "tuple")):
        with pytest.raises(UqbenchError, match=f"returned a {kind}; expected an Outcome"):
            GuardedLanes(after(Lanes, step=change)()).step(ZERO, 0)


@pytest.mark.parametrize("name", ["valid", "next_valid"])
def test_a_mask_is_looked_at_in_every_step(name):
    for mask, said in ((torch.ones(4, 2), "as torch.float32"), (NONE, "that allows no action")):
        guarded = GuardedLanes(Lanes(**{name: mask}))
        with pytest.raises(UqbenchError, match=rf"returned .*{name} {said}.* step 7"):
            guarded.step(ZERO, 7)


def test_an_evaluation_is_checked_too():
    class Stays:
        def policy(self, obs, valid=None):
            return torch.zeros(obs.shape[:2], dtype=torch.int64)

    with pytest.raises(UqbenchError, match=r"returned 7 in obs.*lane 1, step 0"):
        evaluate(Stays(), Lanes(obs=HERE), 2, 2, 10)


class Together(VectorEnv):
    """Two environments that return what they are told to."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, returned, num_envs=2, begun=None):
        self.num_envs, self.returned = num_envs, returned
        self.begun = (np.zeros((num_envs, 2), np.float32), {}) if begun is None else begun
        self.single_observation_space, self.single_action_space = BOX, Good.action_space

    def reset(self, *, seed=None, options=None):
        return self.begun

    def step(self, actions):
        return self.returned


OBS, REWARDS, NO = np.zeros((2, 2), np.float32), np.zeros(2), np.zeros(2, bool)


BAD_VECTORS = [
    ((OBS, np.array(["1", "2"]), NO, NO, {}), r"the rewards as <U1 of shape \(2,\)"),
    ((OBS, REWARDS, np.array(["yes", "no"]), NO, {}), "terminated as <U3"),
    ((OBS, REWARDS, NO, None, {}), "the truncated None, a NoneType"),
    ((OBS, REWARDS, NO, {}), "a tuple of 4 values; expected 5"),
    ((OBS[:, :1], REWARDS, NO, NO, {}), r"returned obs as .* \(2, 1\)|next_obs"),
    ((OBS + 2, REWARDS, NO, NO, {}), r"returned 2 in next_obs\[0\].*\(Together of"),
]


@pytest.mark.parametrize(("returned", "said"), BAD_VECTORS)
def test_a_vector_environment_is_checked(returned, said):
    guarded = GuardedLanes(VectorLanes(Together(returned), [1, 2]))
    guarded.reset()
    with pytest.raises(UqbenchError, match=said):
        guarded.step(torch.zeros(2, dtype=torch.int64), 0)


def test_a_vector_environment_that_is_reset_without_info_is_named():
    with pytest.raises(UqbenchError, match=r"reset returned a ndarray; expected 2 values"):
        VectorLanes(Together(None, begun=OBS), [1, 2]).reset()
