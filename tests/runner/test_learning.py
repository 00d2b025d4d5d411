"""The proof that a network learned: how far its weights went, in every lane, and in words."""

import random
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from toy_runs import first_batch, plan_of, planted

from uqbench.agent import LoopAgent
from uqbench.config import CountsGradientSteps, warm_up_field
from uqbench.pages.learning import NONE, said
from uqbench.registry import Host
from uqbench.results import RunRecord, Store
from uqbench.runner import Batch, execute
from uqbench.runner.events import Failed, Notice
from uqbench.runner.train.agents import Training
from uqbench.runner.train.proof import LoopProof, relative_change, weights
from uqbench.suites import read_suites
from uqbench.suites.tables import Evaluation


def test_weights_are_those_of_the_networks_that_an_agent_holds():
    agent = SimpleNamespace(network=nn.Linear(2, 3), settings={"none": nn.Linear(1, 1)})
    assert [one.shape for one in weights(agent)] == [(3, 2), (3,)]


def test_each_lane_has_its_own_change_and_one_that_stands_still_has_none():
    before = [torch.ones(3, 4), torch.full((3, 2, 2), 2.0)]
    after = [one.clone() for one in before]
    after[0][1] += 0.5
    after[1][2] *= 2
    # of lane 1: √(4 · .25) of √(4 + 16), of lane 2: √16 of the same
    assert relative_change(before, after, 3) == pytest.approx([0.0, 20**-0.5, (16 / 20) ** 0.5])


def test_a_table_that_begins_at_zero_moved_by_all_that_it_is_and_scalars_are_all_lanes():
    before = [torch.zeros(2, 3), torch.tensor(2.0)]
    after = [torch.tensor([[1.0, 0, 0], [0, 0, 0]]), torch.tensor(2.0)]
    # of lane 0: 1 of √(0 + 4); lane 1 stands still
    assert relative_change(before, after, 2) == pytest.approx([0.5, 0.0])
    assert relative_change(before[:1], after[:1], 2) == [1.0, 0.0]


def test_the_least_of_the_runs_is_told_and_none_is_said_in_place_of_a_score():
    beside = {"gradient_steps": 300.0, "untrained": 1.0, "random": 0.5}
    proofs = [beside | {"moved": 0.2, "trained": 3.0}, beside | {"moved": 0.1, "trained": 5.0}]
    told = "300 gradient steps, return 4, untrained 1, random 0.5"
    assert (said(proofs), said([{"moved": 0.25}])) == (told, "")
    assert said([{"trained": 2.0, "random": 1.0}]) == "return 2, random 1"
    one = {"gradient_steps": 300.0, "moved": 0.0}  # a log without a reward, from a network of zeros
    assert said([*proofs, one]).endswith(", 1 of 3 runs moved no parameter")
    assert NONE in said([one, one])
    assert NONE in said([{"gradient_steps": 0.0, "moved": 0.1}])
    assert NONE in said([{"gradient_steps": 0.0, "moved": 0.0, "trained": 2.0, "untrained": 2.0}])
    assert said([{"gradient_steps": 0.0}]) == "no optimizer of PyTorch was seen"


class Unmeasured:
    """Measurements under a budget that ranks: nothing stands beside."""

    compares, returned = False, None


def test_the_optimizer_of_a_loop_is_seen_from_its_first_step_on_and_no_longer_than_asked():
    assert LoopProof(Unmeasured()).found(lambda: None) == {"gradient_steps": 0.0}
    proof, network = LoopProof(Unmeasured()), nn.Linear(2, 1, bias=False)
    nn.init.constant_(network.weight, 1.0)
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    for _ in range(3):
        network.weight.grad = torch.full((1, 2), -1.0)
        optimizer.step()
    # from 1 to 4 in both: √(2 · 9) of √2
    assert proof.found(lambda: None) == {"moved": pytest.approx(3.0), "gradient_steps": 3.0}
    optimizer.step()
    assert proof.found(lambda: None)["gradient_steps"] == 3.0


class Drawn(Unmeasured):
    """Episodes of a policy that draws from global generators."""

    compares = True

    def episodes(self, agent):
        return drawn(agent)


def drawn(device: str) -> list[float]:
    legacy = np.random.random()  # noqa: NPY002
    return [random.random(), legacy, torch.rand(1).item(), torch.rand(1, device=device).item()]


GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
def test_a_proof_begins_without_a_draw_from_global_generators(device):
    drawn(device)  # CUDA is initialized by the loop that is watched
    expected = []
    for watched in (False, True):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        if watched:
            proof = LoopProof(Drawn())
            proof.begin(device)
            proof.stop()
            assert proof._untrained == expected[0]
        expected.append(drawn(device))
    assert expected[0] == expected[1]


class Forward(LoopAgent):
    """A method that owns its loop, and walks on."""

    def __init__(self, info, config):
        pass

    def train(self, env, total_steps, seed):
        env.reset()
        while True:
            *_, terminated, truncated, _ = env.step(1)
            if terminated or truncated:
                env.reset()

    def policy(self, obs, valid=None):
        return 1

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def ranked(host: Host, loop: bool) -> Batch:
    """Runs of a budget that ranks, evaluated in the middle and at the end."""
    suite = read_suites(host, check=()).suite("toy")
    if loop:
        suite = planted(host, suite, Forward, loop=True)
    chosen = {"methods": [suite.methods[-1].name], "tasks": ["long"], "seeds": [0]}
    plan = plan_of(host, suite=suite, **chosen)
    assert plan.budget.ranks
    return first_batch(plan)


def executed(batch: Batch, host: Host, folder: Path, stage: Any = None) -> tuple[RunRecord, list]:
    told: list[Any] = []
    execute((replace(batch, stage=stage),), Store(folder), host, told.append, 60)
    return Store(folder).find(batch.runs[0]).record, told


@pytest.mark.parametrize(("loop", "beside"), [(False, {"untrained", "random"}), (True, {"random"})])
def test_a_ranked_run_stands_beside_others_at_no_cost(loop, beside, host, tmp_path, monkeypatch):
    where, name = (LoopProof, "found") if loop else (Training, "learning")
    proved, began = getattr(where, name), time.process_time()
    worked = []

    def slowly(*args):
        worked.append(time.process_time() - began)
        while time.process_time() - began < 2 * worked[0]:
            pass
        return proved(*args)

    monkeypatch.setattr(where, name, slowly)
    record, _ = executed(ranked(host, loop), host, tmp_path)
    assert {"trained", "untrained", "random"} & record.learning.keys() == {"trained"} | beside
    assert record.learning["random"] < record.learning["trained"]
    assert 0 < record.timing.cpu_seconds <= worked[0]


@pytest.mark.parametrize("loop", [False, True])
def test_what_is_trained_to_be_judged_later_is_not_proved(loop, host, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("proved by an evaluation in the middle")

    monkeypatch.setattr(*((LoopProof, "found") if loop else (Training, "learning")), never)
    record, told = executed(ranked(host, loop), host, tmp_path, "train")
    assert (record.trained, record.learning) == (True, {})
    assert [one for one in told if isinstance(one, Notice | Failed)] == []


def tensors(agent: object) -> list[Tensor]:
    """The weights of an agent, and what its parts hold, such as its replay buffer."""
    parts = [part for part in vars(agent).values() if hasattr(part, "__dict__")]
    held = [one for part in parts for one in vars(part).values() if isinstance(one, Tensor)]
    networks = [part for part in parts if isinstance(part, nn.Module)]
    held += [weight for network in networks for weight in network.parameters()]
    return [one for one in held if one.dim()]  # not the clock


@pytest.mark.parametrize("numerics", ["eager", "native"])
def test_an_untrained_agent_is_made_once_the_trained_one_is_gone(numerics, tmp_path, monkeypatch):
    """Replay buffers and optimizers of two would be twice the memory, once all is trained."""
    host, making = Host.load(), Training._make
    plan = plan_of(host, "smoke", suite="windy-cliff", methods=["qr-dqn"], seeds=[0])
    how = {"numerics": numerics, "evaluation": Evaluation(episodes=2, max_steps=50)}
    batch = replace(first_batch(plan), budget=plan.budget.model_copy(update=how))
    made, alive = list[ref[Tensor]](), list[int]()

    def make(self, of):
        whole = of is self._batch  # others have one lane's, to be stored
        alive.extend([sum(one() is not None for one in made)] * whole)
        agent = making(self, of)
        made.extend(map(ref, tensors(agent)) if whole else ())
        return agent

    monkeypatch.setattr(Training, "_make", make)
    record, _ = executed(batch, host, tmp_path)
    assert record.learning.keys() == {"moved", "gradient_steps", "trained", "untrained", "random"}
    assert len(made) > 10
    assert alive == [0, 0]


def test_without_memory_for_a_second_agent_the_proof_is_without_it(host, tmp_path, monkeypatch):
    proved = Training.learning

    def learning(self):
        def full(batch):
            raise torch.OutOfMemoryError("CUDA out of memory")

        self._make = full
        return proved(self)

    monkeypatch.setattr(Training, "learning", learning)
    record, told = executed(ranked(host, False), host, tmp_path)
    assert record.learning.keys() == {"moved", "trained", "random"}
    (notice,) = [one for one in told if isinstance(one, Notice)]
    assert "no memory for a second one" in notice.text


@pytest.mark.parametrize("suite", ["windy-cliff", "minatar", "deepsea"])
def test_under_a_budget_that_ranks_nothing_every_network_learns_by_half_of_its_steps(suite):
    plan = plan_of(Host.load(), "smoke", suite=suite)
    for cell in plan.cells:
        if isinstance(cell.config, CountsGradientSteps):
            steps = plan.budget.on(cell.task).steps
            assert cell.config.gradient_steps(steps) > 0
            field = warm_up_field(cell.config)
            assert not field or getattr(cell.config, field) <= steps / 2


def test_whoever_sets_a_warm_up_has_it():
    chosen = {"methods": ["qr-dqn"], "settings": {"qr-dqn": {"learning_starts": 599}}}
    (cell,) = plan_of(Host.load(), "smoke", suite="windy-cliff", **chosen).cells
    assert cell.config.learning_starts == 599
