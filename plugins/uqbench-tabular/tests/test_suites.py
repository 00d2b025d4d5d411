"""The numbers in the suites, recomputed from the exact models."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from uqbench_tabular.environments.chain import chain_mdp
from uqbench_tabular.environments.config import (
    ChainConfig,
    DeepSeaConfig,
    PriorMDPConfig,
    WideNarrowConfig,
)
from uqbench_tabular.environments.deep_sea import deep_sea
from uqbench_tabular.environments.prior_mdp import prior_mdp
from uqbench_tabular.environments.wide_narrow import wide_narrow
from uqbench_tabular.planning import gain, optimal_gain, uniform_policy

FIGURE_SUITES = ("deepsea", "widenarrow", "priormdp", "deepsea-deep")
WORLDS = {
    "deepsea": lambda config: deep_sea(DeepSeaConfig(**config)),
    "widenarrow": lambda config: wide_narrow(WideNarrowConfig(**config)),
    "priormdp": lambda config: prior_mdp(PriorMDPConfig(**config)),
}


def suite(name: str) -> dict:
    return tomllib.loads((files("uqbench_tabular") / "suites" / f"{name}.toml").read_text())


def test_the_chains_normalization_is_the_exact_gains():
    given = suite("five-state")
    task = given["tasks"][0]
    assert ChainConfig(**task["options"]) == ChainConfig()
    stated = given["normalisation"]["reward_per_step"]["references"][task["name"]]
    chain = chain_mdp(ChainConfig())
    random = uniform_policy(chain)
    assert random.tolist() == [[0.5, 0.5]] * 4 + [[0.0, 1.0]]
    for exact in (gain(chain, random).item(), 36 / 175):
        assert stated["zero"] == pytest.approx(exact, abs=1e-12)
    for exact in (optimal_gain(chain).item(), 0.2 * 0.2 + 0.8**5):
        assert stated["one"] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", FIGURE_SUITES)
def test_the_numbers_in_the_suites_are_those_of_the_models(name):
    """Horizons, refresh rules, R_max and normalization, recomputed from the tasks' config."""
    given = suite(name)
    paper = given["budgets"]["paper"]
    constants = given["normalisation"]["regret"]["references"]
    configs = {method["name"]: method for method in given["methods"]}
    assert (paper["seeds"], {task["discount"] for task in given["tasks"]}) == (10, {0.9})
    for task in given["tasks"]:
        config, where = task["options"], task["name"]
        world = WORLDS[task["environment"]](config)
        assert constants[where]["zero"] == pytest.approx(world.oracle_gain(), abs=1e-12)
        assert world.oracle_gain() == pytest.approx(optimal_gain(world.mdp).item(), abs=1e-12)
        states = len(world.mdp.available)
        steps = paper.get("task_steps", {}).get(where, paper["steps"])
        wide = task["environment"] == "widenarrow"
        assert steps == (1_000 * config["pairs"] * config["width"] if wide else 1_250 * states)
        ube = configs["ube"]["config"] | configs["ube"].get("tasks", {}).get(where, {})
        best = world.mdp.rewards[world.mdp.transitions > 0].max().item()
        assert ube["r_max"] == pytest.approx(best, abs=1e-6)
        assert ube.get("replan_every", 5) == (states if wide else states + 1)
        for method in ("psrl", "mm"):
            settings = configs[method].get("config", {}) | configs[method].get("tasks", {}).get(
                where, {}
            )
            assert settings.get("replan_every", 5) == ube.get("replan_every", 5)
