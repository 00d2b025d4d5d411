"""Planted agents against controls: a skill is what no control has.

Worlds of 32 states with six actions. Training came n times to a state, whose returns have a
standard deviation of s: the ignorance of Q is s/√(1 + n), and so are the errors of all agents'
means, but for a common bias of one tenth. 60 runs; an agent is above its controls in a skill where
the mean over runs of what is beyond the best of them is three standard errors above zero: chance
does so in one of 700.

| beyond the best control | proper | information | correlation |
| --- | ---: | ---: | ---: |
| s/√n | 0.03 | 0.03 | 0.22 |
| s/√n, ten times too sure | −0.12 | 0.03 | 0.22 |
| counts | 0.00 | 0.00 | 0.00 |
| constant | −0.02 | −0.02 | −0.43 |
| conformal | −0.03 | −0.02 | −0.43 |
| distance | −0.11 | −0.02 | −0.26 |
| gap | −0.38 | −0.06 | −0.39 |
| noise | −0.06 | −0.05 | −0.43 |
| negated | −0.40 | −0.05 | −1.08 |
| zero | −0.16 | −0.16 | −0.43 |
| silent | −0.16 | −0.16 | – |
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from uqbench.suites.controls import CONTROLS
from uqbench.uncertainty.controls import correlation, stored_scores
from uqbench.uncertainty.epistemic import Predictions, score_predictions

RUNS, STATES, ACTIONS = 60, 32, 6
SKILLS = ("proper", "information", "correlation")


def world(run: int) -> dict[str, np.ndarray]:
    """Columns of a run that its agent shares with all others."""
    rng = np.random.default_rng(run)
    visits = np.repeat(np.floor(10 ** rng.uniform(0, 2, STATES)), ACTIONS)
    noise = 10 ** rng.uniform(-0.5, 0.5, STATES * ACTIONS)
    truth = rng.standard_normal(len(visits))
    ignorance = noise / np.sqrt(1 + visits)
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


def conformal(of: dict[str, np.ndarray]) -> np.ndarray:
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
    "conformal": conformal,
    "distance": lambda of: np.abs(of["mean"] - of["mean"].mean()),
    "gap": gap,
    "negated": lambda of: of["ignorance"].max() - of["ignorance"],
    "noise": lambda of: np.random.default_rng(7).uniform(0, 1, len(of["mean"])),
    "zero": lambda of: np.zeros_like(of["mean"]),
    "silent": lambda of: np.full_like(of["mean"], np.nan),
}


def beyond(agent: str) -> dict[str, tuple[float, float]]:
    """By skill: the mean over runs of what it is worth beyond its best control, and its error."""
    own, controls = [], []
    for run in range(RUNS):
        of = world(run)
        of["std"] = AGENTS[agent](of)
        known = {name: torch.from_numpy(of[name]).double() for name in of if name in FIELDS}
        stated = Predictions(**known, deviation_se=known["truth_se"])
        scores = score_predictions(stated) | {"correlation": correlation(stated)}
        own.append([scores[name] for name in SKILLS])
        found = stored_scores(of)
        stored = found["queries/correlation"]
        assert (stored is None) == np.isnan(own[-1][2])
        assert stored is None or stored == pytest.approx(own[-1][2], rel=1e-5)
        controls.append(
            [
                [found.get(f"queries/{control}/{name}", -np.inf) for name in SKILLS]
                for control in CONTROLS
            ]
        )
    values, others = np.array(own), np.array(controls)
    best = others.mean(0).argmax(0)
    gain = values - others[:, best, range(len(SKILLS))]
    errors = gain.std(0, ddof=1) / RUNS**0.5
    return dict(zip(SKILLS, zip(gain.mean(0), errors, strict=True), strict=True))


FIELDS = set(Predictions.__dataclass_fields__)
ABOVE = {
    "s/√n": {*SKILLS},
    "s/√n, ten times too sure": {"information", "correlation"},
}
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


def test_half_of_the_states_say_the_bias_and_the_width_of_the_other_half():
    """With errors of the same law everywhere, of mean .1 and deviation .5, coverage is 90 %."""
    of = world(0)
    rng = np.random.default_rng(0)
    of["mean"] = of["truth"] + 0.1 + 0.5 * rng.standard_normal(len(of["truth"]))
    of["std"] = np.full_like(of["mean"], np.nan)
    found = stored_scores(of)
    assert found["queries/conformal/proper"] > found["queries/constant/proper"]
    assert found["queries/constant/coverage_90"] == pytest.approx(0.9, abs=0.06)
    assert found["queries/zero/coverage_90"] == 0
    assert found["queries/start_bias"] == pytest.approx(0.1, abs=0.1)
    assert found["queries/truth_error"] == 0


def test_controls_are_of_the_end_of_training_and_the_bias_is_that_of_the_start():
    early, late = world(1), world(2)
    early["step"] = early["step"] // 4
    early["mean"] = early["mean"] + 5
    for of in (early, late):
        of["std"] = of["ignorance"]
    both = {name: np.concatenate([early[name], late[name]]) for name in early}
    found, last = stored_scores(both), stored_scores(late)
    start = "queries/start_bias"
    assert found[start] == pytest.approx(5.1, abs=0.2)
    assert {**found, start: 0} == {**last, start: 0}
