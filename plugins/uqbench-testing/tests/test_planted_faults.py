"""Faults that readers planted in sound pieces are found by the check that names them."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from planted import after, given
from uqbench_dqn.config import DQNConfig, RandomizedPriorConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.randomized_prior import RandomizedPriorDQN
from uqbench_testing.conformance.agent_runs import AgentSubject
from uqbench_testing.conformance.estimators import DatasetSubject, EstimatorSubject
from uqbench_testing.conformance.loop_agents import LoopAgentSubject
from uqbench_testing.conformance.risks import RiskSubject
from uqbench_testing.results import results
from uqbench_testing.worlds import DrawnPoints

from uqbench.agent import LoopAgent, Uncertainty
from uqbench.estimator import Data, Dataset, Estimator, EvaluationSet, PredictiveUncertainty
from uqbench.risk import MeanStd
from uqbench.specs import NoConfig


def outcome(subject, check) -> tuple[str, str]:
    (result,) = results([subject], only=check)
    return result.status, result.message


class Table(LoopAgent):
    """Q-learning in a table; variances are mean squared TD errors over their number."""

    def __init__(self, info, config):
        self.n, self.discount, self.rows = info.n_actions, info.discount, {}

    def row(self, obs):
        return self.rows.setdefault(np.asarray(obs).tobytes(), np.array([[0.0, 0.0, 0]] * self.n))

    def train(self, env, total_steps, seed):
        rng = np.random.default_rng(seed)
        obs, _ = env.reset()
        while True:
            action = int(rng.integers(self.n))
            following, reward, terminated, truncated, _ = env.step(action)
            best = 0.0 if terminated else self.row(following)[:, 0].max()
            row = self.row(obs)[action]
            error = reward + self.discount * best - row[0]
            row += (error / (1 + row[2]) ** 0.7, error**2, 1)
            obs = env.reset()[0] if terminated or truncated else following

    def known(self, obs):
        blank = np.array([[0.0, 1.0, 0]] * self.n)
        return np.stack([self.rows.get(np.asarray(one).tobytes(), blank) for one in obs])

    def policy(self, obs, valid=None):
        return int(self.known([obs])[0, :, 0].argmax())

    def uncertainty(self, obs):
        q, squares, counts = torch.tensor(self.known(obs)).unbind(-1)
        n = 1 + counts
        return Uncertainty(mean=q[None].float(), epistemic_var=(squares / n**2)[None].float())


def stated(**changes: Any) -> Any:
    """A method whose predictions are changed."""

    def change(said: Uncertainty) -> Uncertainty:
        return replace(said, **{name: to(getattr(said, name)) for name, to in changes.items()})

    return after(Table, uncertainty=change)


def next_reward(kind: Any) -> Any:
    """Its mean is of the next reward."""
    return given(kind, __init__=lambda info, *told: (replace(info, discount=0.0), *told))


class Draws(Table):
    """As sb3's ``predict(deterministic=False)`` does."""

    rng = np.random.default_rng(0)

    def policy(self, obs, valid=None):
        return int(self.rng.integers(self.n)) if self.rng.random() < 0.1 else super().policy(obs)


class OneOverN(Table):
    def uncertainty(self, obs):
        said = super().uncertainty(obs)
        counts = torch.tensor(self.known(obs))[..., 2]
        return replace(said, epistemic_var=(1 / (1 + counts))[None].float())


def loop(kind: type[LoopAgent]) -> LoopAgentSubject:
    return LoopAgentSubject(name="table", factory=kind, config=NoConfig())


def test_a_sound_method_with_a_loop_of_its_own_passes_the_same_checks_of_uncertainty():
    made = {r.check.id: r for r in results([loop(Table)])}
    assert [str(r) for r in made.values() if not r.ok] == []
    for name in ("forms", "values", "scale"):
        assert made[f"uncertainty-{name}"].status == "passed", str(made[f"uncertainty-{name}"])


OF_LOOPS = [
    (stated(mean=lambda x: x[0], epistemic_var=lambda x: x[0]), "uncertainty-forms"),
    (stated(epistemic_var=lambda x: x - 1e3), "uncertainty-forms"),
    (stated(epistemic_var=torch.ones_like), "uncertainty-values"),
    (stated(epistemic_var=torch.sqrt), "uncertainty-scale"),
    (OneOverN, "uncertainty-scale"),
    (next_reward(Table), "uncertainty-values"),
    (Draws, "loop-agent-policy"),
]


@pytest.mark.parametrize(("kind", "check"), OF_LOOPS)
def test_a_fault_of_a_method_with_a_loop_of_its_own_is_found(kind, check):
    status, message = outcome(loop(kind), check)
    assert status == "failed", message


def root(said: Any) -> Any:
    """A standard deviation in the place of epistemic variance."""
    if isinstance(said, Uncertainty):
        return Uncertainty(mean=said.mean, epistemic_var=said.epistemic_var.sqrt())
    epistemic = said.epistemic.sqrt()
    return replace(said, epistemic=epistemic, total=said.aleatoric + epistemic)


DEEP = [
    (RandomizedPriorDQN, "uncertainty-scale", "passed"),
    (after(RandomizedPriorDQN, uncertainty=root), "uncertainty-scale", "failed"),
    (next_reward(RandomizedPriorDQN), "uncertainty-values", "failed"),
]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "check", "status"), DEEP)
def test_a_deep_agent_that_learns_slowly_is_judged_too(kind, check, status):
    config = RandomizedPriorConfig(hidden=(32,), learning_starts=20, batch_size=16, channels=4)
    assert outcome(AgentSubject(name="deep", factory=kind, config=config), check)[0] == status


class Residuals(Estimator):
    """Least squares; its variances are of the residuals, so that they have units."""

    def __init__(self, task, seeds, config, device):
        self.size = task.inputs[0]

    def fit(self, data, reference_model, steps):
        x, y = data.inputs.double(), data.targets.double()[..., None]
        self.inverse = torch.linalg.inv(x.mT @ x)
        self.weights = self.inverse @ x.mT @ y
        self.noise = (y - x @ self.weights).square().mean((1, 2))

    def predict(self, inputs):
        x, noise = inputs.double(), self.noise[:, None].expand(inputs.shape[:2])
        epistemic = noise * (x @ self.inverse * x).sum(-1)
        parts = noise + epistemic, noise, epistemic
        return PredictiveUncertainty(*parts, None, "variance", (x @ self.weights)[..., 0])


class Members(Residuals):
    """Ten draws of the weights' posterior are stated."""

    def predict(self, inputs):
        said = super().predict(inputs)
        draws = torch.randn(10, 1, 1, generator=torch.Generator().manual_seed(0)).double()
        members = said.mean + (draws - draws.mean()) / draws.std() * said.epistemic.sqrt()
        return replace(said, members=members[..., None])


def signs(data, *told):
    """Of the size of targets nothing is learned, so that nothing is seen of its variance."""
    return Data(data.inputs, data.targets.sign()), *told


class OfBoth(Residuals):
    """Classes, too, of which it states the shares, and how far these are known."""

    def fit(self, data, reference_model, steps):
        self.classes = not data.targets.is_floating_point()
        if self.classes:
            self.n = data.targets.shape[1]
            self.shares = torch.nn.functional.one_hot(data.targets, 3).double().mean(1)
        else:
            super().fit(data, reference_model, steps)

    def predict(self, inputs):
        if self.classes:
            probs = self.shares[:, None].expand(-1, inputs.shape[1], -1)
            total = torch.special.entr(probs).sum(-1)
            epistemic = total / self.n
            return PredictiveUncertainty(total, total - epistemic, epistemic, probs, "nats")
        return super().predict(inputs)


def of(classes, change):
    """A change of what is stated of classes, or of values."""
    return after(OfBoth, predict=lambda p: change(p) if classes == (p.probs is not None) else p)


def swapped(said):
    return replace(said, aleatoric=said.epistemic, epistemic=said.aleatoric)


class OnlyClasses(OfBoth):
    """It ignores the values that it is given."""

    def fit(self, data, reference_model, steps):
        values = data.targets.is_floating_point()
        targets = data.inputs.sum(-1) if values else data.targets
        super().fit(Data(data.inputs, targets), reference_model, steps)


class OfTheFirstLane(Residuals):
    """Targets of every lane are centred by the first one's mean."""

    def fit(self, data, reference_model, steps):
        self.centre = data.targets[0].mean()
        super().fit(Data(data.inputs, data.targets - self.centre), reference_model, steps)

    def predict(self, inputs):
        said = super().predict(inputs)
        return replace(said, mean=said.mean + self.centre)


def constant(said):
    return replace(said, mean=torch.zeros_like(said.mean))


def estimator(kind: Any, classes: int = 0) -> EstimatorSubject:
    def make(problem, seeds):
        return kind(problem, list(seeds), NoConfig(), torch.device("cpu"))

    return EstimatorSubject(name="mine", make=make, dataset=DrawnPoints(classes))


OF_ESTIMATORS = [
    (Residuals, "", None),
    (OfBoth, "estimator-", None),
    (Members, "estimator-", None),
    (of(False, root), "estimator-scale", "multiplied by 10, for ten times .*; expected 1"),
    (after(Members, predict=root), "estimator-scale", "times that of its members; expected 1"),
    (given(Residuals, fit=signs), "estimator-scale", "learn too little .* it states no members"),
    (of(False, constant), "estimator-data", "its means are the same at all inputs"),
    (OnlyClasses, "estimator-data", "its fit ignores them"),
    (of(True, swapped), "estimator-more-data", "they are swapped"),
    (OfTheFirstLane, "estimator-lanes", ""),
]


@pytest.mark.parametrize(("kind", "check", "message"), OF_ESTIMATORS)
def test_an_estimator_is_tried_on_values_and_on_classes(kind, check, message):
    for classes in (0, 3) if issubclass(kind, OfBoth) else (0,):
        made = results([estimator(kind, classes)], check)
        if message is None:
            assert [str(one) for one in made if not one.ok] == []
        else:
            assert [one.status for one in made] == ["failed"]
            assert re.search(message, made[0].message)


SMALL = DQNConfig(hidden=(8,), learning_starts=20, batch_size=8, channels=2)


def test_what_the_device_rule_reads_is_first_of_the_right_form():
    tensor = after(DQN, uncertainty=lambda _: torch.zeros(3))
    subject = AgentSubject(name="tensor", factory=tensor, config=SMALL)
    assert outcome(subject, "uncertainty-forms")[0] == "failed"
    assert outcome(subject, "agent-device") == ("blocked", "uncertainty-forms")


def cut(step):
    """The end of a time limit is taken for the end of an episode."""
    ended, never = step.terminated | step.truncated, torch.zeros_like(step.truncated)
    return (replace(step, terminated=ended, truncated=never),)


@pytest.mark.parametrize(("kind", "status"), [(DQN, "passed"), (given(DQN, observe=cut), "failed")])
def test_a_slow_learner_that_bootstraps_is_not_refused(kind, status):
    """It learns in the last bits of its weights."""
    subject = AgentSubject(name="slow", factory=kind, config=replace(SMALL, learning_rate=1e-7))
    assert outcome(subject, "agent-truncation")[0] == status


class Scored(DrawnPoints):
    """The mean squared error of a lane."""

    def score(self, seeds, predictions):
        given = predictions["test"]
        return {"error": (given.predicted.mean - given.targets).square().mean(1)}


def averaged(scores):
    return {"error": scores["error"].mean().expand(len(scores["error"]))}


class ValidatesOnTraining(Scored):
    def data(self, seeds):
        data = super().data(seeds)
        return Data(data.inputs, data.targets, Data(data.inputs[:, :20], data.targets[:, :20]))


class ByPlace(Scored):
    """Test inputs depend on a lane's place among the lanes."""

    def evaluation_sets(self, seeds):
        own, place = super().evaluation_sets(seeds)["test"], torch.arange(len(seeds))
        return {"test": EvaluationSet(own.inputs + 0.01 * place[:, None, None], own.targets)}


OF_DATA = [
    (Scored, "", "passed"),
    (after(Scored, score=averaged), "dataset-scores", "failed"),
    (ValidatesOnTraining, "dataset-apart", "failed"),
    (ByPlace, "dataset-seeds", "failed"),
]


@pytest.mark.parametrize(("kind", "check", "status"), OF_DATA)
def test_a_fault_of_a_data_set_is_found(kind, check, status):
    dataset: Dataset = kind(0)
    made = results([DatasetSubject(name="points", dataset=dataset, scores=("error",))], check)
    assert {result.status for result in made} == {status}, list(map(str, made))


class ByTheLargest(MeanStd):
    """Its deviation is relative to the largest value of all distributions."""

    def __call__(self, values, probabilities, dim=-1):
        mean = (probabilities * values).sum(dim) / probabilities.sum(dim)
        deviation = super().__call__(values, probabilities, dim) - mean
        return mean + deviation * values.abs().max() / (1 + values.abs().max())


OF_MEASURES = [
    (MeanStd, "risk-", "passed"),
    (given(MeanStd, __call__=lambda x, p, dim=-1: (-x, p, dim)), "risk-averse", "failed"),
    (ByTheLargest, "risk-forms", "failed"),
    (given(MeanStd, __call__=lambda x, p, dim=-1: (x, p * 0 + 1, dim)), "risk-law", "failed"),
]


@pytest.mark.parametrize(("kind", "check", "status"), OF_MEASURES)
def test_a_fault_of_a_risk_measure_is_found(kind, check, status):
    made = results([RiskSubject(name="mine", measure=kind(0.5))], check)
    assert {one.status for one in made} - {"skipped"} == {status}, list(map(str, made))
