"""Planted agents against controls: a skill is what no control has.

Worlds of 32 states with six actions. Training came n times to a state, whose returns have a
standard deviation of s: the ignorance of Q is s/√(1 + n), and so are the errors of all agents'
means, but for a common bias of one tenth. 60 runs; an agent is above its controls in a skill where
the mean over runs of what is beyond the best of them is three standard errors above zero: chance
does so in one of 700.

| beyond the best control | proper | information | correlation |
| --- | ---: | ---: | ---: |
| s/√n | 0.03 | 0.03 | 0.22 |
| s/√n, ten times too sure | −0.11 | 0.03 | 0.22 |
| counts | 0.00 | 0.00 | 0.00 |
| constant | −0.02 | −0.02 | −0.43 |
| one width, known | −0.03 | −0.02 | −0.43 |
| distance | −0.11 | −0.02 | −0.26 |
| gap | −0.37 | −0.06 | −0.39 |
| noise | −0.06 | −0.05 | −0.43 |
| negated | −0.40 | −0.05 | −1.08 |
| zero | −0.16 | −0.16 | −0.43 |
| silent | −0.16 | −0.16 | – |
"""

import numpy as np
import pytest
import torch

from uqbench.suites import Metric
from uqbench.suites.controls import CONTROLS
from uqbench.uncertainty.controls import correlation, of_sizes, stored_scores
from uqbench.uncertainty.epistemic import Predictions, score_predictions

RUNS, STATES, ACTIONS = 60, 32, 6
SKILLS = ("proper", "information", "correlation")


def world(run: int) -> dict[str, np.ndarray]:
    """Columns of a run that its agent shares with all others."""
    rng = np.random.default_rng(run)
    visits = np.repeat(np.floor(10 ** rng.uniform(0, 2, STATES)), ACTIONS)
    noise = 10 ** rng.uniform(-0.5, 0.5, STATES * ACTIONS)
    truth, ignorance = rng.standard_normal(len(visits)), noise / np.sqrt(1 + visits)
    return {
        "step": np.full(len(visits), 100),
        "state": np.repeat(np.arange(STATES), ACTIONS),
        "action": np.tile(np.arange(ACTIONS), STATES),
        "mean": truth + 0.1 + ignorance * rng.standard_normal(len(visits)),
        "truth": truth,
        "truth_se": np.zeros(len(visits)),
        "climatology_mean": np.zeros(len(visits)),
        "climatology_std": np.ones(len(visits)),
        "difference_std": np.full(len(visits), np.nan),
        "visits": visits,
        "ignorance": ignorance,
    }


def one_width(of: dict[str, np.ndarray]) -> np.ndarray:
    """One width, known from a run of its own: that of the 90 % quantile of errors."""
    other = world(1_000 + int(of["visits"].sum()))
    error = np.abs(other["mean"] - other["truth"])
    return np.full_like(of["mean"], np.quantile(error, 0.9) / 1.6448536)


def gap(of: dict[str, np.ndarray]) -> np.ndarray:
    """How much a mean is below its state's greatest."""
    mean = of["mean"].reshape(STATES, ACTIONS)
    return (mean.max(1, keepdims=True) - mean).ravel()


AGENTS = {
    "s/√n": lambda of: of["ignorance"],
    "s/√n, ten times too sure": lambda of: of["ignorance"] / 10,
    "counts": lambda of: 1 / np.sqrt(1 + of["visits"]),
    "constant": lambda of: np.full_like(of["mean"], 0.3),
    "one width, known": one_width,
    "distance": lambda of: np.abs(of["mean"] - of["mean"].mean()),
    "gap": gap,
    "negated": lambda of: of["ignorance"].max() - of["ignorance"],
    "noise": lambda of: np.random.default_rng(7).uniform(0, 1, len(of["mean"])),
    "zero": lambda of: np.zeros_like(of["mean"]),
    "silent": lambda of: np.full_like(of["mean"], np.nan),
}


def beyond(agent: str) -> dict[str, tuple[float, float]]:
    """By skill: the mean over runs of what it is worth beyond its best control, and its error."""
    own, runs = [], []
    for run in range(RUNS):
        of = world(run)
        of["std"] = AGENTS[agent](of)
        stated = stated_in(of)
        scores = score_predictions(stated) | {"correlation": correlation(stated)}
        own.append([scores[name] for name in SKILLS])
        runs.append(of)
    every = stored_scores(runs)
    for found, scores in zip(every, own, strict=True):
        stored = found["queries/correlation"]
        assert (stored is None) == np.isnan(scores[2])
        assert stored is None or stored == pytest.approx(scores[2], rel=1e-5)
    names = [[f"queries/{control}/{name}" for name in SKILLS] for control in CONTROLS]
    others = np.array([[[of.get(x, -np.inf) for x in row] for row in names] for of in every], float)
    best = others.mean(0).argmax(0)
    gain = np.array(own) - others[:, best, range(len(SKILLS))]
    errors = gain.std(0, ddof=1) / RUNS**0.5
    return dict(zip(SKILLS, zip(gain.mean(0), errors, strict=True), strict=True))


def stated_in(of: dict[str, np.ndarray]) -> Predictions:
    fields = Predictions.__dataclass_fields__
    known = {name: torch.from_numpy(of[name]).double() for name in of if name in fields}
    return Predictions(**known, deviation_se=known["truth_se"])


ABOVE = {"s/√n": {*SKILLS}, "s/√n, ten times too sure": {"information", "correlation"}}
"""Skills of the agents that know more than a control."""


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_above_its_controls_where_it_knows_more_than_they_do(agent):
    found = beyond(agent)
    above = {name for name, (mean, error) in found.items() if mean > 3 * error}
    assert above == ABOVE.get(agent, set()), found
    row = " | ".join(_cell(*found[name]) for name in SKILLS)
    assert f"| {agent} | {row} |" in (__doc__ or "")


def _cell(mean: float, error: float) -> str:
    return "–" if np.isnan(mean) else f"{mean:.2f}".replace("-", "−").replace("−0.00", "0.00")


def errors_of(size: float, run: int, bias: float = 0.0) -> dict[str, np.ndarray]:
    """A world in which all errors have one law; no width is stated."""
    of, rng = world(run), np.random.default_rng(1_000 + run)
    of["mean"] = of["truth"] + bias + size * rng.standard_normal(len(of["truth"]))
    of["std"] = np.full_like(of["mean"], np.nan)
    return of


def test_the_size_of_a_control_is_that_of_the_other_runs():
    """With errors of deviation ½ in all runs coverage is 90 %; of a run with 50 it is next to none.

    A control that saw that run's own truth would cover nine in ten there, too.
    """
    found = stored_scores([errors_of(0.5, run, 0.1) for run in range(8)])
    covered = [of["queries/constant/coverage_90"] for of in found]
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)
    assert found[0]["queries/zero/coverage_90"] == 0
    assert found[0]["queries/start_bias"] == pytest.approx(0.1, abs=0.1)
    assert found[0]["queries/truth_error"] == 0
    one = stored_scores([errors_of(50.0, 0), *(errors_of(0.5, run) for run in range(1, 9))])
    assert one[0]["queries/constant/coverage_90"] < 0.1
    changed = errors_of(0.5, 0)
    changed["truth"] = changed["truth"] + 100
    another = stored_scores([changed, *(errors_of(0.5, run) for run in range(1, 9))])
    assert another[0]["queries/constant/epistemic_std"] == one[0]["queries/constant/epistemic_std"]


def test_a_method_s_own_widths_are_worth_the_same_at_every_size_once_others_chose_it():
    """Ten times too sure, or too wide: after the factor both are s/√n; alone, as it is stated."""
    said = {}
    for factor in (0.1, 1.0, 10.0):
        runs = [world(run) for run in range(6)]
        for of in runs:
            of["std"] = factor * of["ignorance"]
        said[factor] = [of["queries/sized/proper"] for of in stored_scores(runs)]
        (alone,) = stored_scores(runs[:1])
        own = score_predictions(stated_in(runs[0]))
        assert alone["queries/sized/proper"] == pytest.approx(own["proper"], rel=1e-5)
    assert said[0.1] == pytest.approx(said[1.0], abs=1e-4)
    assert said[10.0] == pytest.approx(said[1.0], abs=1e-4)


def test_widths_that_are_zero_in_all_other_runs_leave_a_run_s_own_as_they_are_stated():
    """Their losses are the same at every size: rounding would choose, of 1/1000 to 1000."""
    for seed in range(5):
        runs = [world(10 * seed + run) for run in range(5)]
        for of in runs:
            of["std"] = np.zeros_like(of["mean"])
        runs[2]["std"] = runs[2]["ignorance"]
        own = score_predictions(stated_in(runs[2]))
        sized = stored_scores(runs)[2]["queries/sized/proper"]
        assert sized == pytest.approx(own["proper"], rel=1e-5)


def test_a_world_s_own_score_is_taken_at_the_size_that_is_best_in_the_other_runs():
    """By NumPy; whatever a run's own scores by size are, they do not choose."""
    rng = np.random.default_rng(0)
    curves = rng.standard_normal((6, 41))
    metric = Metric(name="sized", summary="", kind="queries", statistic="queries/sized/gain")

    def found(of: np.ndarray) -> dict[int, float]:
        names = np.array([f"queries/gain@{k}" for k in range(41)])
        return of_sizes(metric, [{"metric": names, "value": values} for values in of])

    places = [np.delete(curves, run, 0).mean(0).argmax() for run in range(6)]
    assert found(curves) == {run: curves[run, place] for run, place in enumerate(places)}
    other = curves.copy()
    other[3] = 100 * rng.standard_normal(41)
    assert found(other)[3] == other[3, places[3]]


def test_controls_are_of_the_end_of_training_and_the_bias_is_that_of_the_start():
    early, late = world(1), world(2)
    early["step"] = early["step"] // 4
    early["mean"] = early["mean"] + 5
    for of in (early, late):
        of["std"] = of["ignorance"]
    both = {name: np.concatenate([early[name], late[name]]) for name in early}
    (found,), (last,) = stored_scores([both]), stored_scores([late])
    start = "queries/start_bias"
    assert found[start] == pytest.approx(5.1, abs=0.2)
    assert {**found, start: 0} == {**last, start: 0}
