"""What a plugin returns is refused with a sentence: what, by whom, where, what was expected."""

import pytest
import torch

from uqbench.agent import Agent, Uncertainty
from uqbench.errors import UqbenchError
from uqbench.runner.train.evaluation import evaluate
from uqbench.runner.train.guards import Checked, check_metrics, chosen
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")
ONES, TWO = torch.ones(2, 1, 4), torch.ones(2, 1, 4, 2)
ACTION, LAST = torch.zeros(2, 1, dtype=torch.int64), torch.tensor([[0], [1]])


class Acts(Agent):
    """Returns what it is told to."""

    def __init__(self, action=None, policy=None, said=None, metrics=None):
        self.action = ACTION if action is None else action
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


class Computes(torch.Tensor):
    """A tensor that may compute with itself whatever it wants."""


WRONG_ACTIONS = [
    (torch.zeros(2, dtype=torch.int64), r"shape \(2,\); expected torch.int64 of shape"),
    (torch.zeros(2, 1), r"torch.float32 of shape \(2, 1\).*\(Acts of "),
    (0, "returned a int; expected torch.int64 of shape"),
    (ACTION.as_subclass(Computes), "returned a Computes; expected torch.int64 of shape"),
    (ACTION - 9, "chose action -9; expected a valid one of 0 to 3"),
    (4 * LAST, r"chose action 4; expected a valid one of 0 to 3 \(lane 1, step 0"),
]


@pytest.mark.parametrize(("action", "said"), WRONG_ACTIONS)
def test_a_wrong_action_is_named_with_its_lane_step_and_class(action, said):
    with pytest.raises(UqbenchError, match=said):
        run(Acts(action), RotatingPixels(2))


def test_a_declared_event_that_is_not_counted_is_named():
    with pytest.raises(UqbenchError, match="did not count the event 'falls'"):
        for _ in interact(Acts(), RotatingPixels(2), 3, Recorder(2, 3, ("falls",), CPU)):
            pass


WRONG_POLICIES = [
    (ACTION[:, 0], r"policy returned .* expected torch.int64 of shape \(2"),
    (ACTION.as_subclass(Computes), "returned a Computes; expected torch.int64 of shape"),
    (ACTION - 9, "chose action -9; expected a valid one of 0 to"),
    (ACTION + 99, "chose action 99; expected a valid one of"),
]


@pytest.mark.parametrize(("policy", "said"), WRONG_POLICIES)
def test_a_wrong_policy_is_named(policy, said):
    with pytest.raises(UqbenchError, match=said):
        evaluate(Acts(policy=policy), RotatingPixels(2), 2, 1, 5)


def test_an_action_that_its_mask_forbids_is_refused_in_words():
    obs, valid = torch.zeros(2, 1, 3), torch.tensor([[[True, True]], [[False, True]]])
    with pytest.raises(UqbenchError, match=r"0, which its mask forbids; expected one of \[1\]"):
        chosen(Acts(policy=ACTION), obs, valid, 2, 7)
    assert chosen(Acts(policy=LAST), obs, valid, 2, 7).equal(LAST)


def test_a_wrong_metric_is_named():
    agent = Acts(metrics={"loss": torch.zeros(())})
    with pytest.raises(UqbenchError, match=r"metric 'loss' is \(\); expected a tensor of shape"):
        check_metrics(agent, agent.metrics(), 2)


WRONG_PREDICTIONS = [
    ({"mean": torch.full((2, 1, 4), torch.nan)}, "Q-values are not finite after 7 steps"),
    ({"mean": ONES[:, 0]}, r"a mean of torch.float32 of .*\(2, 4\) .* floats of .*\(2, 1, 4\)"),
    ({"mean": torch.zeros(2, 1, 4).long()}, "a mean of torch.int64"),
    ({"epistemic_var": -ONES}, r"epistemic_var is negative after 7 steps: -1 in lane 0 at poi"),
    ({"epistemic_var": -torch.inf * ONES}, "epistemic_var is negative after 7 steps: -inf"),
    ({"aleatoric_var": torch.inf * ONES}, "aleatoric_var is not finite"),
    ({"mean": 1e39 * ONES.double()}, "Q-values are not finite"),  # in float32, as it is stored
    ({"epistemic_dof": 0 * ONES}, "epistemic_dof is not positive"),
    ({"value_samples": torch.full((2, 1, 4, 5), torch.nan)}, "value_samples is not finite"),
    ({"return_probs": torch.full((2, 1, 4, 2), 0.5)}, "no return_atoms beside its return_p"),
    ({"return_probs": TWO, "return_atoms": TWO}, r"do not sum to one after 7 steps: 2 in lane 0"),
    ({"return_probs": TWO - 2, "return_atoms": TWO}, "return_probs are negative"),
]


@pytest.mark.parametrize(("predicted", "said"), WRONG_PREDICTIONS)
def test_a_wrong_prediction_is_named_with_its_lanes(predicted, said):
    obs, _ = RotatingPixels(2).reset()
    with pytest.raises(UqbenchError, match=said):
        Checked(Acts(said=Uncertainty(**predicted)), 4, 7).uncertainty(obs[:, None])


class Scribbles(Acts):
    """Writes into all that it is asked about."""

    def policy(self, obs, valid=None):
        obs.zero_()
        valid.zero_()
        return self.chosen

    def uncertainty(self, obs):
        obs.zero_()
        return self.said


def test_an_agent_has_its_hands_off_the_states_that_it_is_asked_about_and_off_its_answers():
    agent = Scribbles(policy=LAST.clone(), said=Uncertainty(mean=ONES.clone()))
    obs, valid = torch.ones(2, 1, 3), torch.ones(2, 1, 4, dtype=torch.bool)
    asked = Checked(agent, 4, 0)
    actions, stated = asked.policy(obs, valid), asked.uncertainty(obs)
    agent.chosen.fill_(7)
    agent.said.mean.fill_(7)
    assert obs.all()
    assert valid.all()
    assert actions.equal(LAST)
    assert stated.mean.equal(ONES)
