"""What a plugin returns is refused with a sentence: what, by whom, where, what was expected."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import Agent, Uncertainty
from uqbench.errors import UqbenchError
from uqbench.runner.train.evaluation import evaluate
from uqbench.runner.train.guards import STRIDE, Checked, GuardedLanes, check_metrics
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")
ONES = torch.ones(2, 1, 4)


class Acts(Agent):
    """Returns what it is told to."""

    def __init__(self, action=None, policy=None, said=None, metrics=None):
        zeros = torch.zeros(2, 1, dtype=torch.int64)
        self.action = zeros if action is None else action
        self.chosen, self.said, self.reported = policy, said, metrics or {}

    def act(self, obs, valid=None):
        return self.action

    def observe(self, step): ...

    def policy(self, obs, valid=None):
        return self.chosen

    def uncertainty(self, obs):
        return self.said

    def metrics(self):
        return self.reported


def run(agent, env):
    for _ in interact(agent, env, 3, Recorder(2, 3, (), CPU)):
        pass


class Wrong(RotatingPixels):
    """Returns one thing in another form."""

    def __init__(self, **changes):
        super().__init__(2)
        self.changes = changes

    def step(self, action):
        outcome = super().step(action)
        for name, change in self.changes.items():
            object.__setattr__(outcome, name, change(getattr(outcome, name)))
        return outcome


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (torch.zeros(2, dtype=torch.int64), r"shape \(2,\); expected torch.int64 of shape"),
        (torch.zeros(2, 1), r"torch.float32 of shape \(2, 1\).*\(Acts of "),
        (0, "returned a int; expected torch.int64 of shape"),
        (
            torch.tensor([[0], [4]]),
            r"chose action 4; expected a valid one of 0 to 3 \(lane 1, step 0",
        ),
    ],
)
def test_a_wrong_action_is_named_with_its_lane_step_and_class(action, said):
    with pytest.raises(UqbenchError, match=said):
        run(Acts(action), RotatingPixels(2))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward": lambda x: x[:1]}, r"returned reward as torch.float32 of shape \(1,\)"),
        ({"terminated": lambda x: x.float()}, "returned terminated as torch.float32"),
        ({"next_obs": lambda x: x.float()}, r"expected torch.bool of shape .*\(Wrong of"),
        ({"obs": lambda x: x[:, :1]}, r"returned obs as torch.bool of shape \(2, 1, 10, 10\)"),
    ],
)
def test_a_wrong_outcome_is_named_with_its_class_and_step(changes, said):
    with pytest.raises(UqbenchError, match=said):
        run(Acts(), Wrong(**changes))


def test_a_declared_event_that_is_not_counted_is_named():
    with pytest.raises(UqbenchError, match="did not count the event 'falls'"):
        for _ in interact(Acts(), RotatingPixels(2), 3, Recorder(2, 3, ("falls",), CPU)):
            pass


def test_a_counted_event_that_is_not_declared_is_named_with_the_nearest():
    class Falls(gymnasium.Env):
        observation_space, action_space = spaces.Box(0, 1, (1,)), spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(1, np.float32), {}

        def step(self, action):
            return np.zeros(1, np.float32), 0.0, False, False, {"events": {"fals": 1}}

    env = GymnasiumLanes(Falls, [1, 2], events=("falls",))
    env.reset()
    with pytest.raises(UqbenchError, match=r"has 'fals', which .* Did you mean 'falls'\?"):
        env.step(torch.zeros(2, dtype=torch.int64))


def test_a_wrong_policy_is_named():
    flat = torch.zeros(6, dtype=torch.int64)
    with pytest.raises(UqbenchError, match=r"policy returned .* expected torch.int64 of shape \(2"):
        evaluate(Acts(policy=flat), RotatingPixels(6), 2, 3, 5)


def test_a_wrong_metric_is_named():
    agent = Acts(metrics={"loss": torch.zeros(())})
    with pytest.raises(UqbenchError, match=r"metric 'loss' is \(\); expected a tensor of shape"):
        check_metrics(agent, agent.metrics(), 2)


@pytest.mark.parametrize(
    ("predicted", "said"),
    [
        ({"mean": torch.full((2, 1, 4), torch.nan)}, "Q-values are not finite after 7 steps"),
        (
            {"mean": torch.zeros(2, 4)},
            r"a mean of torch.float32 of shape \(2, 4\) .* expected floats of shape \(2, 1, 4\)",
        ),
        ({"mean": torch.zeros(2, 1, 4).long()}, "a mean of torch.int64"),
        ({"epistemic_var": -ONES}, r"epistemic_var is negative after 7 steps: -1 in lane 0 at poi"),
        ({"epistemic_var": -torch.inf * ONES}, "epistemic_var is negative after 7 steps: -inf"),
        ({"aleatoric_var": torch.inf * ONES}, "aleatoric_var is not finite"),
        ({"mean": 1e39 * ONES.double()}, "Q-values are not finite"),  # in float32, as it is stored
        ({"epistemic_dof": 0 * ONES}, "epistemic_dof is not positive"),
        ({"value_samples": torch.full((2, 1, 4, 5), torch.nan)}, "value_samples is not finite"),
        ({"return_probs": torch.full((2, 1, 4, 2), 0.5)}, "no return_atoms beside its return_p"),
        (
            {"return_probs": torch.ones(2, 1, 4, 3), "return_atoms": torch.ones(2, 1, 4, 3)},
            r"return_probs do not sum to one after 7 steps: 3 in lane 0 .*; expected a sum of 1",
        ),
        (
            {
                "return_probs": torch.tensor([2.0, -1.0]).expand(2, 1, 4, 2),
                "return_atoms": torch.ones(2, 1, 4, 2),
            },
            "return_probs are negative",
        ),
    ],
)
def test_a_wrong_prediction_is_named_with_its_lanes(predicted, said):
    obs, _ = RotatingPixels(2).reset()
    with pytest.raises(UqbenchError, match=said):
        Checked(Acts(said=Uncertainty(**predicted)), 4, 7).uncertainty(obs[:, None])


class Scribbler(Agent):
    """Writes into all that it is given, and later into all that it gave."""

    def act(self, obs, valid=None): ...

    def observe(self, step): ...

    def policy(self, obs, valid=None):
        obs.zero_()
        valid.zero_()
        self.given = [torch.ones(2, 1, dtype=torch.int64)]
        return self.given[0]

    def uncertainty(self, obs):
        obs.zero_()
        self.given = [torch.ones(2, 1, 4), torch.ones(2, 1, 4)]
        return Uncertainty(*self.given)

    def scribble(self):
        for tensor in self.given:
            tensor.fill_(7)


def test_an_agent_has_its_hands_off_the_states_that_it_is_asked_about_and_off_its_answers():
    agent = Scribbler()
    obs, valid = torch.ones(2, 1, 3), torch.ones(2, 1, 4, dtype=torch.bool)
    actions = Checked(agent, 4, 0).policy(obs, valid)
    agent.scribble()
    stated = Checked(agent, 4, 0).uncertainty(obs)
    agent.scribble()
    assert obs.all()
    assert valid.all()
    assert actions.tolist() == [[1], [1]]
    assert stated is not None
    assert [x.unique().tolist() for x in vars(stated).values() if x is not None] == [[1], [1]]


@pytest.mark.parametrize("ended", [True, False])
def test_only_a_terminal_state_may_be_without_actions(ended):
    lanes = GuardedLanes(RotatingPixels(2))
    lanes.reset()
    outcome = lanes.step(torch.zeros(2, dtype=torch.int64), 0)
    mask = torch.tensor([[True] * 4, [False] * 4])
    end = torch.tensor([False, ended])
    last = replace(outcome, terminated=end, valid=torch.ones_like(mask), next_valid=mask)
    lanes.look(last, STRIDE - 1)  # nothing is looked at
    if ended:
        lanes.look(last, STRIDE)
    else:
        with pytest.raises(
            UqbenchError, match=r"next_valid that allows no action.*\(.*lane 1, step"
        ):
            lanes.look(last, STRIDE)
