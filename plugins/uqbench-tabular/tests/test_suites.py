"""The numbers in the suites, recomputed from the exact models."""

import pytest
import torch
from uqbench_tabular.environments import config as worlds
from uqbench_tabular.environments.chain import chain_mdp
from uqbench_tabular.environments.deep_sea import deep_sea
from uqbench_tabular.environments.prior_mdp import prior_mdp
from uqbench_tabular.environments.wide_narrow import wide_narrow
from uqbench_tabular.planning import gain, optimal_gain, uniform_policy

from uqbench.registry import Host
from uqbench.suites import Plan, make_plan, read_suites

FIGURE_SUITES = ("deepsea", "widenarrow", "priormdp", "deepsea-deep")
WORLDS = {
    "deepsea": lambda config: deep_sea(worlds.DeepSeaConfig(**config)),
    "widenarrow": lambda config: wide_narrow(worlds.WideNarrowConfig(**config)),
    "priormdp": lambda config: prior_mdp(worlds.PriorMDPConfig(**config)),
}


@pytest.fixture
def paper(monkeypatch):
    """``paper(name)``: the plan of a suite at budget ``paper``."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "tabular")

    def plan(name: str) -> Plan:
        host = Host.load()
        return make_plan(read_suites(host, check=(name,)).suite(name), host, "paper", device="cpu")

    return plan


def test_the_chains_normalization_is_the_exact_gains(paper):
    suite = paper("five-state").suite
    [task] = suite.tasks
    assert worlds.ChainConfig(**task.config) == worlds.ChainConfig()
    constants = suite.normalization_constants(suite.metric("reward_per_step"))[task.name]
    chain = chain_mdp(worlds.ChainConfig())
    random = uniform_policy(chain)
    assert random.tolist() == [[0.5, 0.5]] * 4 + [[0.0, 1.0]]
    for exact in (gain(chain, random).item(), 36 / 175):
        assert constants.zero == pytest.approx(exact, abs=1e-12)
    for exact in (optimal_gain(chain).item(), 0.2 * 0.2 + 0.8**5):
        assert constants.one == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", [*FIGURE_SUITES, "five-state"])
def test_every_suite_has_a_floor_and_a_ceiling_that_know_the_tasks_config(name, paper):
    """The oracle's config is its environment's, task by task."""
    plan = paper(name)
    configs = {(cell.task.name, cell.method.name): cell.config for cell in plan.cells}
    for task in plan.suite.tasks:
        assert vars(configs[task.name, "oracle"]).items() >= task.config.items()
        assert (task.name, "uniform-random") in configs


def test_the_constant_action_of_a_priormdp_is_the_better_one(paper):
    for cell in paper("priormdp").cells:
        if cell.method.name == "constant-action":
            mdp = WORLDS["priormdp"](cell.task.config).mdp
            always = torch.eye(2).double()[:, None].expand(2, *mdp.available.shape)
            gains = [gain(mdp, policy).item() for policy in always]
            assert gains[cell.config.action] == max(gains)


@pytest.mark.parametrize("name", FIGURE_SUITES)
def test_the_numbers_in_the_suites_are_those_of_the_models(name, paper):
    """Horizons, planning intervals, R_max and normalization, from the tasks' config."""
    plan = paper(name)
    constants = plan.suite.normalization_constants(plan.suite.metric("regret"))
    configs = {(cell.task.name, cell.method.name): cell.config for cell in plan.cells}
    methods = {cell.method.name for cell in plan.cells}
    assert {"psrl", "ube", "mm"} <= methods
    seeds = 10 if name == "deepsea-deep" else 100
    assert (plan.budget.seeds, {task.discount for task in plan.suite.tasks}) == (seeds, {0.9})
    for task in plan.suite.tasks:
        world = WORLDS[str(task.environment)](task.config)
        assert constants[task.name].zero == pytest.approx(world.oracle_gain(), abs=1e-12)
        assert world.oracle_gain() == pytest.approx(optimal_gain(world.mdp).item(), abs=1e-12)
        states = len(world.mdp.available)
        wide = task.environment == "widenarrow"
        size = 1_000 * task.config["pairs"] * task.config["width"] if wide else 1_250 * states
        assert plan.budget.on(task).steps == size
        best = world.mdp.rewards[world.mdp.transitions > 0].max().item()
        for method in methods & {"psrl", "ube", "ube-zeta-1", "mm"}:
            config = configs[task.name, method]
            assert config.replan_every == (states if wide else states + 1)
            if method.startswith("ube"):
                assert config.r_max == pytest.approx(best, abs=1e-6)
