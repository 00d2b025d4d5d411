"""No invalid prediction and no faulty data set gets a score: a sentence ends its run."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_runs import first_batch, plan_of

import uqbench.estimator as est
from uqbench.errors import UqbenchError, see
from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import execute
from uqbench.runner.events import Failed, Finished
from uqbench.specs import DatasetSpec, EstimatorSpec, NoConfig, ScoreSpec
from uqbench.suites import read_suites
from uqbench.uncertainty.validity import Speaker, check_prediction

SUITE = Path(__file__).with_name("planted.toml")
C, M, S = 3, 4, 5


@pytest.fixture(autouse=True)
def no_other_plugin(monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin")


class Points(est.Dataset):
    """Points of three classes, or with values."""

    inputs, n_classes, members = (2,), C, S

    def __init__(self, config=None):
        pass

    def data(self, seeds):
        inputs = torch.arange(12.0).reshape(1, 6, 2).expand(len(seeds), -1, -1).clone()
        targets = torch.arange(6) % C if self.n_classes else torch.arange(6.0)
        return est.Data(inputs, targets.expand(len(seeds), -1).clone())

    def reference_model(self, seeds):
        return None

    def evaluation_sets(self, seeds):
        data = Points.data(self, seeds)
        return {"test": est.EvaluationSet(0.5 + data.inputs[:, :M], data.targets[:, :M])}

    def score(self, seeds, predictions):
        return {"own": torch.ones(len(seeds))}


class Values(Points):
    n_classes = 0


def honest(lanes: int, dtype: torch.dtype = torch.float64) -> est.PredictiveUncertainty:
    """An ensemble's, in setting (a); parts are computed in the same dtype."""
    drawn = torch.randn(S, lanes, M, C, generator=torch.Generator().manual_seed(0)) * 3
    members = drawn.to(dtype).softmax(-1)
    probs = members.mean(0)
    total, aleatoric = (torch.special.entr(p).sum(-1) for p in (probs, members))
    aleatoric = aleatoric.mean(0)
    return est.PredictiveUncertainty(
        total, aleatoric, total - aleatoric, probs, "nats", members=members, score=1 * total,
        highest=members.amax(0), classes=probs > 0.2)  # fmt: skip


def normal(lanes: int) -> est.PredictiveUncertainty:
    """A regression's."""
    one = torch.ones(lanes, M)
    return est.PredictiveUncertainty(
        2 * one, one, one, None, "variance", mean=0 * one, members=torch.zeros(S, lanes, M, 1),
        interval=torch.stack([-one, one], -1))  # fmt: skip


def spoiled(name, value):
    """From a prediction to one with a number of a field replaced: of the third point asked, 1."""

    def change(stated):
        tensor = getattr(stated, name).double()
        at = (0, 2) if name != "members" else (4, 0, 2)
        tensor[at if tensor.dim() == len(at) else (*at, 0)] = value
        return replace(stated, **{name: tensor})

    return change


def changed(**changes):
    """From a prediction to one whose fields are functions of what they were."""
    return lambda stated: replace(
        stated, **{name: change(getattr(stated, name)) for name, change in changes.items()}
    )


def reason(
    tmp_path, change=lambda x: x, kind=honest, problem=Points, score=lambda given: 1.0,
    predict=None, seeds=(0,), tell=lambda given: None,
):  # fmt: skip
    """Why the run of a planted estimator or data set fails; empty where it finishes."""

    class Planted(est.Estimator):
        def __init__(self, problem, seeds, config: NoConfig, device):
            tell(problem)

        def fit(self, data, reference_model, steps):
            pass

        def predict(self, inputs):
            return change(kind(len(inputs))) if predict is None else predict(inputs)

    host, batch = planted_batch(Planted, NoConfig, problem, score, seeds)
    told = []
    execute((batch,), Store(tmp_path / "results"), host, told.append)
    end, *_ = [event for event in told if isinstance(event, Failed | Finished)]
    return end.reason if isinstance(end, Failed) else ""


def planted_batch(made, config, problem, score, seeds):
    """Runs of an estimator on a data set, both planted, and the host that has them."""
    host = Host.load()
    plugin = host.register(
        name="p", distribution="p", version="1", load=lambda: None, local_digest="0" * 64
    )
    planted = {"name": "planted", "version": "1"}
    host.datasets.add([DatasetSpec(**planted, factory=problem, scores=("own",))], plugin)
    host.estimators.add([EstimatorSpec(**planted, factory=made, config=config)], plugin)
    host.scores.add([ScoreSpec(name="later", version="1", factory=score, direction="max")], plugin)
    host.suite_files.append((SUITE, plugin))
    suite = read_suites(host, check={"planted"}).suite("planted")
    return host, first_batch(plan_of(host, suite=suite, seeds=[*seeds]))


class TwoSets(Values):
    """The second set's inputs are far from the first one's."""

    def evaluation_sets(self, seeds):
        near = super().evaluation_sets(seeds)["test"].inputs
        return {"near": est.EvaluationSet(near, near[..., 0]), "far": est.EvaluationSet(40 + near)}


def distances(inputs):
    """A regression whose novelty is the input's size."""
    size = inputs.norm(dim=-1).double()
    one = torch.ones_like(size)
    return est.PredictiveUncertainty(2 * one, one, one, None, "variance", mean=0 * one, score=size)


def test_all_points_are_asked_about_once_in_an_order_of_each_lane(tmp_path):
    asked = []

    def predict(inputs):
        asked.append(inputs.clone())
        return distances(inputs)

    stored = {}

    def score(given):
        stored.update(given)
        return 1.0

    assert reason(tmp_path, problem=TwoSets, predict=predict, score=score, seeds=[0, 1]) == ""
    (inputs,) = asked
    own = TwoSets().evaluation_sets([0])
    every = torch.cat([one.inputs for one in own.values()], 1)[0]
    orders = [[every.tolist().index(point) for point in lane] for lane in inputs.tolist()]
    assert all(sorted(order) == list(range(2 * M)) for order in orders)
    assert orders[0] != orders[1]
    assert all(order != sorted(order) for order in orders)
    for name, one in own.items():  # what is said of a point is stored as that point's
        assert np.allclose(stored[name].predicted.score[0], distances(one.inputs).score[0])


def test_an_estimator_is_told_plain_values_and_holds_no_data_set(tmp_path):
    told = []
    assert reason(tmp_path, tell=told.append) == ""
    assert told == [est.Problem((2,), C, members=S)]
    assert all(isinstance(x, int | float | str | tuple | None) for x in vars(told[0]).values())


class Own(torch.Tensor):
    """A tensor that may compute with itself whatever it wants."""


def test_what_was_said_cannot_be_changed_after_it_was_checked(tmp_path):
    """The statement is kept and spoiled whenever its author runs again: when it is scored."""
    said = []

    def predict(inputs):
        said.append(honest(len(inputs)))
        return said[0]

    def score(given):
        said[0].probs.fill_(1.0)
        return float(given["test"].predicted.probs.max())

    assert reason(tmp_path, predict=predict, score=score) == ""


INVALID = {
    "a subclass": (changed(probs=lambda p: p.as_subclass(Own)), "is a Own; expected "),
    "sparse": (changed(probs=lambda p: p.to_sparse()), "is torch.float64 torch.sparse_coo; exp"),
    "meta": (changed(probs=lambda p: p.to("meta")), "is torch.float64 on meta; expected "),
    "complex": (changed(probs=lambda p: p + 0j), "is torch.complex128.*; expected "),
    "ones": (changed(probs=torch.ones_like), "probs do not sum to one .*'test': 3 in lane 0 at "),
    "one NaN": (spoiled("probs", math.nan), r"lane 0 at point 1, entry \[0\]; expected finite"),
    "negative": (spoiled("probs", -0.5), "probs are negative .*: -0.5 .* point 1"),
    "sums of 1.001": (changed(probs=lambda p: 1.001 * p), r"to one .*: 1.001 .*of 1, within 0.001"),
    "two classes": (changed(probs=lambda p: p[..., :2]), r"\(1, 4, 2\); expected floats .* 4, 3\)"),
    "integers": (changed(probs=lambda p: p.long()), "probs for all .* is torch.int64"),
    "no probabilities": (changed(probs=lambda p: None), "has no probs"),
    "another total": (changed(total=lambda x: 2 * x), "total is not aleatoric . epistemic"),
    "epistemic negative": (changed(epistemic=lambda x: -x - 0.1), "epistemic is negative"),
    "epistemic infinite": (changed(epistemic=lambda x: math.inf + x), "epistemic is not finite"),
    "too large for float32": (spoiled("score", 1e39), "score is not finite .*: inf in lane 0"),
    "unit bananas": (changed(unit=lambda unit: "bananas"), "unit .* is 'bananas'; expected 'nats'"),
    "unit variance": (changed(unit=lambda unit: "variance"), "'nats' of 3 classes"),
    "members of ones": (changed(members=torch.ones_like), "members do not sum to one"),
    "one member NaN": (spoiled("members", math.nan), "members is not finite .* point 1"),
    "members of others": (changed(members=lambda m: torch.eye(C)[0].expand(100, 1, M, C)),
        "members have another mean than its probs"),
    "members without lanes": (changed(members=lambda m: m[:, 0]), "members .* is torch.float64"),
    "highest of two": (changed(highest=lambda p: 2 + p), "highest are above one"),
    "highest below its probs": (changed(highest=lambda p: 0 * p, members=lambda m: None),
        "highest is below a model's probability .*: 0 in lane 0"),
    "highest below its members": (changed(highest=lambda p: 0.9 * p),
        "highest is below a model's probability"),
    "classes of halves": (changed(classes=lambda c: c * 0.5), "classes holds no truth value"),
    "a tensor": (lambda stated: stated.probs, "is a Tensor; expected a uqbench.estimator.Predict"),
    "no lanes": (lambda s: replace(s, total=s.total[0]), r"shape \(4,\); expected floats"),
}  # fmt: skip
INVALID_VALUES = {
    "reversed interval": (changed(interval=lambda i: i.flip(-1)), "interval ends below its start"),
    "variance negative": (changed(epistemic=lambda x: -x, total=lambda x: 0 * x),
        "epistemic is negative .*: -1 in lane 0 at point 0; expected variance, zero or more"),
    "probabilities of values": (changed(probs=lambda p: torch.ones(1, M, 1)),
        "has probs; expected None of a regression"),
    "members of another shape": (changed(members=lambda m: m[..., 0]), "members .* of shape"),
    "mean NaN": (spoiled("mean", math.nan), "mean is not finite .*lane 0 at point 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID | INVALID_VALUES)
def test_an_invalid_prediction_ends_its_run_with_a_sentence(name, tmp_path):
    change, sentence = (INVALID | INVALID_VALUES)[name]
    of_values = (normal, Values) if name in INVALID_VALUES else ()
    found = reason(tmp_path, change, *of_values)
    assert re.search(sentence, found), found
    where = r"the estimator's .*; expected .*\(Planted of .*\) \[docs/errors.md#wrong-pred"
    assert re.search(where, found), found


def kind(dtype=torch.float64, **changes):
    """An ensemble's predictions, of which some are changed."""
    return lambda lanes: changed(**changes)(honest(lanes, dtype))


HONEST = {
    "float64": honest,
    "float32": kind(torch.float32),
    "float16": kind(torch.float16),
    "sums of 1.0009": kind(probs=lambda p: 1.0009 * p),
    "log-probabilities": kind(probs=lambda p: p.float().log().exp()),
    "of NumPy in Fortran's order": kind(probs=lambda p: torch.from_numpy(np.asfortranarray(p))),
    "a drawn score": kind(score=torch.rand_like),
    "no members": lambda lanes: replace(honest(lanes), members=None, highest=None, classes=None),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_prediction_is_scored_in_any_precision(name, tmp_path):
    assert reason(tmp_path, kind=HONEST[name]) == ""


@pytest.mark.parametrize("unit", ["variance", "return"])
def test_an_honest_regression_is_scored(unit, tmp_path):
    assert reason(tmp_path, changed(unit=lambda _: unit), normal, Values) == ""


def test_a_lane_answers_for_itself_and_is_named_with_the_first_point():
    by = Speaker("estimator", "E of e", "for the set 'test'", see("wrong-prediction"))
    stated = honest(3)
    check_prediction(est.Predictions(stated), (3, M), C, by)
    stated.probs[2, 1] = 1.0
    with pytest.raises(UqbenchError, match="3 in lane 2 at point 1; expected"):
        check_prediction(est.Predictions(stated), (3, M), C, by)
    one, tiny = torch.ones(2, M), -1e-4 * torch.ones(2, M)
    large = torch.tensor([[1.0], [1e6]]).expand(2, M)
    variances = est.PredictiveUncertainty(large + tiny, large, tiny, None, "variance", mean=one)
    with pytest.raises(UqbenchError, match=r"epistemic is negative .*-0.0001 in lane 0 at point 0"):
        check_prediction(est.Predictions(variances), (2, M), 0, by)  # in lane 1 it is rounding


@pytest.mark.parametrize("count", [1, 20, 1000])
def test_members_that_are_drawn_from_a_posterior_agree_with_its_mean(count):
    """Of two models, one in a hundred is certain of the other class: 4,000 points, no alarm.

    A false alarm is rarer than one in 10¹² a probability.
    """
    drawn = torch.rand(count, 1, 4000, generator=torch.Generator().manual_seed(0)) < 0.01
    members = torch.nn.functional.one_hot(drawn.long(), 2).double()
    probs = torch.tensor([0.99, 0.01], dtype=torch.float64).expand(1, 4000, 2)
    own = torch.special.entr(probs).sum(-1)
    stated = est.PredictiveUncertainty(own, 0 * own, own, probs, "nats", members=members)
    by = Speaker("estimator", "E of e", "for the set 'test'", see("wrong-prediction"))
    check_prediction(est.Predictions(stated), (1, 4000), 2, by)


def problem(base=Points, **changes):
    """A data set one of whose methods returns something else."""

    def method(name, change):
        return lambda self, *given: change(getattr(base, name)(self, *given))

    own = {name: method(name, of) if callable(of) else of for name, of in changes.items()}
    return type("Faulty", (base,), {"__module__": __name__, **own})


def on_test(change):
    return lambda sets: {"test": change(sets["test"])}


FAULTY = {
    "NaN inputs": ({"data": lambda d: replace(d, inputs=d.inputs / (d.inputs - 4))},
        "inputs are not finite for training: inf in lane 0 at point 2, entry"),
    "classes beyond C": ({"data": lambda d: replace(d, targets=d.targets + 1)},
        "targets are no class for training: 3 in lane 0 at point 2; expected 0 to 2"),
    "float targets": ({"data": lambda d: replace(d, targets=d.targets.float())},
        "targets for training are torch.float32 .* expected torch.int64"),
    "fewer targets": ({"data": lambda d: replace(d, targets=d.targets[:, :3])},
        r"shape \(1, 3\); expected torch.int64 of shape \(1, 6\), one for each input"),
    "no lane dimension": ({"data": lambda d: est.Data(d.inputs[0], d.targets[0])},
        r"inputs for training are .*\(6, 2\); expected \(1, points, 2\)"),
    "other inputs": ({"inputs": (3,)}, r"one input is \(3,\)"),
    "NaN evaluation set": (
        {"evaluation_sets": on_test(lambda one: replace(one, inputs=math.nan * one.inputs))},
        "inputs are not finite of the set 'test': nan",
    ),
    "evaluation targets beyond C": (
        {"evaluation_sets": on_test(lambda one: replace(one, targets=one.targets - 1))},
        "targets are no class of the set 'test': -1 in lane 0",
    ),
    "no evaluation set": ({"evaluation_sets": lambda sets: {}}, "evaluation_sets are {}"),
    "validation": ({"data": lambda d: replace(d, validation=replace(d, targets=d.targets + 9))},
        "targets are no class for validation"),
    "nothing": ({"data": lambda d: None}, "data is a NoneType; expected a uqbench.estimator.Data"),
    "NaN score": ({"score": lambda s: {"own": math.nan * s["own"]}}, "score 'own' is nan in lane"),
    "99 scores": ({"score": lambda s: {"own": torch.ones(99)}}, r"\(99,\); expected a tensor of"),
    "other scores": ({"score": lambda s: {"mine": s["own"]}}, r"scores are \['mine'\]; expected"),
    "a complex score": ({"score": lambda s: {"own": s["own"] + 1j}}, "'own' is torch.complex64"),
    "a score of another class": ({"score": lambda s: {"own": s["own"].as_subclass(Own)}},
        "score 'own' is a Own"),
    "inputs of another class": ({"data": lambda d: replace(d, inputs=d.inputs.as_subclass(Own))},
        "inputs for training is a Own; expected a torch.Tensor itself"),
    "sparse targets of a set": (
        {"evaluation_sets": on_test(lambda one: replace(one, targets=one.targets.to_sparse()))},
        "targets of the set 'test' is torch.int64 torch.sparse_coo",
    ),
    "no number of classes": ({"n_classes": -2}, "n_classes is -2; expected 2 or more, or 0"),
    "one class": ({"n_classes": 1}, "n_classes is 1"),
    "a regression with classes": (
        {"n_classes": 0, "data": lambda d: replace(d, targets=d.targets.long())},
        "targets for training are torch.int64 .* expected torch.float32",
    ),
    "values not finite": ({"base": Values, "data": lambda d: replace(d, targets=d.targets.log())},
        "targets are not finite for training: -inf"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_data_set_ends_its_runs_with_a_sentence(name, tmp_path):
    changes, sentence = FAULTY[name]
    found = reason(tmp_path, problem=problem(**changes))
    assert re.search(sentence, found), found
    assert "the dataset's" in found
    assert found.endswith("(Faulty of tests) [docs/errors.md#wrong-data]")


class Reference:
    """A reference model that says the same of every input."""

    def __init__(self, change=lambda said: said, write=lambda inputs: None):
        self.change, self.write = change, write

    def log_probs(self, inputs):
        self.write(inputs)
        return self.change(torch.full((*inputs.shape[:2], C), -math.log(C)))


FAULTY_REFERENCES = [
    (lambda said: said[..., :1], r"log_probs for the set 'test' are .*\(1, 4, 1\); expected"),
    (lambda said: said * math.nan, "probabilities do not sum to one for the set 'test': nan"),
    (lambda said: said + 1, "expected a log_softmax over the classes"),
    (lambda said: said.as_subclass(Own), "log_probs for the set 'test' are a Own"),
]


@pytest.mark.parametrize(("change", "sentence"), FAULTY_REFERENCES)
def test_a_faulty_reference_model_ends_its_runs_with_a_sentence(change, sentence, tmp_path):
    found = reason(tmp_path, problem=problem(reference_model=lambda _: Reference(change)))
    assert re.search(sentence, found), found
    assert "the reference model's" in found


class Writes(Points):
    """Spoils, each time that it is called, all that it was given or has returned before."""

    def __init__(self, config=None):
        self.returned = []

    def spoil(self, seeds):
        for tensor in self.returned:
            tensor.zero_()
        seeds.append(seeds.pop(0) + 1)

    def data(self, seeds):
        data = super().data(seeds)
        self.spoil(seeds)
        self.returned += [data.inputs, data.targets]
        return data

    def evaluation_sets(self, seeds):
        sets = super().evaluation_sets(seeds)
        self.spoil(seeds)
        self.returned += [sets["test"].inputs, sets["test"].targets]
        return sets

    def reference_model(self, seeds):
        self.spoil(seeds)
        return Reference(write=torch.Tensor.zero_)

    def score(self, seeds, predictions):
        self.spoil(seeds)
        for of in vars(predictions["test"].predicted).values():
            if isinstance(of, torch.Tensor):
                of.zero_()
        return {"own": torch.ones(len(seeds))}


def test_a_data_set_that_writes_into_what_it_gave_or_was_given_changes_no_result(tmp_path):
    quiet, found = problem(reference_model=lambda _: Reference()), []
    for name, one in (("quiet", quiet), ("writes", Writes)):
        (tmp_path / name).mkdir()
        assert reason(tmp_path / name, problem=one) == ""
        ((_, stored),) = Store(tmp_path / name / "results").walk()
        found.append(stored.record.digests["results"])
    assert found[0] == found[1]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_an_infinite_score_fails_its_run_and_one_without_a_value_does_not(value, tmp_path):
    found = reason(tmp_path, score=lambda given: value)
    assert ("the score 'later' of what Planted of" in found) == math.isinf(value) == bool(found)
