"""The proof that a network learned: how far its weights went, in every lane, and in words."""

import pytest
import torch
from torch import nn

from uqbench.contract.config import CountsGradientSteps, warm_up_field
from uqbench.pages.learning import NONE, said
from uqbench.registry.plugins import Host
from uqbench.runner.train.agents import relative_change, weights
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites


class Holder:
    def __init__(self) -> None:
        self.network, self.settings = nn.Linear(2, 3), {"none": nn.Linear(1, 1)}


def test_weights_are_those_of_the_networks_that_an_agent_holds():
    assert [one.shape for one in weights(Holder())] == [(3, 2), (3,)]


def test_each_lane_has_its_own_change_and_one_that_stands_still_has_none():
    before = [torch.ones(3, 4), torch.full((3, 2, 2), 2.0)]
    after = [one.clone() for one in before]
    after[0][1] += 0.5
    after[1][2] *= 2
    # of lane 1: √(4 · .25) of √(4 + 16), of lane 2: √16 of the same
    assert relative_change(before, after, 3) == pytest.approx([0.0, 20**-0.5, (16 / 20) ** 0.5])


def test_the_least_of_the_runs_is_told_and_none_is_said_in_place_of_a_score():
    proofs = [
        {"gradient_steps": 300.0, "moved": 0.2, "trained": 3.0, "untrained": 1.0},
        {"gradient_steps": 300.0, "moved": 0.1, "trained": 5.0, "untrained": 1.0},
    ]
    assert said(proofs) == "300 gradient steps, weights moved by 10.0%, return 4, untrained 1"
    assert said([{"moved": 0.25}]) == "weights moved by 25.0%"
    assert NONE in said([*proofs, {"gradient_steps": 300.0, "moved": 0.0}])
    assert NONE in said([{"gradient_steps": 0.0, "moved": 0.1}])


@pytest.mark.parametrize("suite", ["windy-cliff", "minatar", "deepsea"])
def test_under_a_budget_that_ranks_nothing_every_network_learns_by_half_of_its_steps(suite):
    host = Host.load()
    plan = make_plan(read_suites(host, check=()).suite(suite), host, "smoke", device="cpu")
    for cell in plan.cells:
        if isinstance(cell.config, CountsGradientSteps):
            steps = plan.budget.on(cell.task).steps
            assert cell.config.gradient_steps(steps) > 0
            field = warm_up_field(cell.config)
            assert not field or getattr(cell.config, field) <= steps / 2


def test_whoever_sets_a_warm_up_has_it():
    host, chosen = Host.load(), {"learning_starts": 599}
    suite = read_suites(host, check=()).suite("windy-cliff")
    plan = make_plan(
        suite, host, "smoke", device="cpu", methods=["qr-dqn"], settings={"qr-dqn": chosen}
    )
    (cell,) = plan.cells
    assert cell.config.learning_starts == 599
