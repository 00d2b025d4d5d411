"""Kept agents: cut out of their batch, restored, and evaluated."""

import io
import shutil

import pytest
import torch
from commands import toy_plugin

import uqbench
from uqbench.agent import Agent
from uqbench.errors import CannotSaveError, UqbenchError
from uqbench.runner.train.exported_agents import exported_agent


class Counter(Agent):
    """Acts by a number of its own in each lane, which ``observe`` raises."""

    shared_by_lanes = ("shared",)

    def __init__(self, seeds: list[int], spoiled: bool = False) -> None:
        self.numbers = torch.tensor(seeds)[:, None].expand(-1, 3).clone()
        self.shared = torch.arange(3)
        self.steps = 0
        if spoiled:
            self.spoiled = torch.zeros(len(seeds) + 1)

    def act(self, obs, valid=None):
        return self.policy(obs)

    def observe(self, step):
        self.numbers += 1
        self.steps += 1

    def policy(self, obs, valid=None):
        return (self.numbers.sum(-1, keepdim=True) + self.steps).expand(obs.shape[:2])


@pytest.mark.parametrize("lane", [0, 1, 2])
def test_a_lane_of_a_batch_is_an_agent_of_its_own(lane):
    seeds = [5, 7, 11]
    agent = Counter(seeds)
    for _ in range(4):
        agent.observe(None)
    obs, single = torch.zeros(3, 1, 2), Counter([seeds[lane]])
    state = torch.load(io.BytesIO(exported_agent(agent, single, lane, 3, obs)), weights_only=True)
    restored = Counter([0])
    restored.load_state_dict(state)
    assert restored.numbers.tolist() == [[seeds[lane] + 4] * 3]
    assert (restored.shared.tolist(), restored.steps) == ([0, 1, 2], 4)


def test_a_state_that_has_no_part_for_each_lane_is_refused():
    agent = Counter([1, 2, 3], spoiled=True)
    with pytest.raises(CannotSaveError, match=r"spoiled is \(4,\) for 3 lanes"):
        exported_agent(agent, Counter([1], spoiled=True), 0, 3, torch.zeros(3, 1, 2))


def test_what_all_lanes_share_is_declared():
    class Undeclared(Counter):
        shared_by_lanes = ()

    with pytest.raises(CannotSaveError, match=r"lanes first, or 'shared' in its shared_by_lanes"):
        exported_agent(Undeclared([1, 2, 3]), Undeclared([1]), 0, 3, torch.zeros(3, 1, 2))


def test_a_part_may_have_grown_since_the_start():
    agent, single = Counter([4, 6]), Counter([6])
    agent.numbers = agent.numbers[..., None].expand(-1, -1, 2).clone()
    agent.policy = single.policy = lambda obs, valid=None: torch.zeros(len(obs), 1)
    exported_agent(agent, single, 1, 2, torch.zeros(2, 1, 2))
    assert single.numbers.tolist() == [[[6, 6]] * 3]


def test_an_agent_that_acts_otherwise_alone_is_refused():
    class Crowd(Counter):
        def policy(self, obs, valid=None):
            return torch.full(obs.shape[:2], len(self.numbers))

    with pytest.raises(CannotSaveError, match="alone in a batch, acts otherwise"):
        exported_agent(Crowd([1, 2]), Crowd([1]), 0, 2, torch.zeros(2, 1, 2))


RUNS = {"methods": ["fast", "slow[forward=0.5]"], "tasks": "short", "seeds": 1}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        toy_plugin(patch)
        own = {"keep_agents": True, "progress": False, "out": tmp_path_factory.mktemp("keep")}
        yield uqbench.run("toy", **RUNS, workers=1, **own)


def test_keeping_changes_no_identity(results):
    assert set(uqbench.plan("toy", **RUNS, out=results.origin).runs["state"]) == {"finished"}


def test_an_exported_agent_evaluates_as_its_run_did(results):
    scores = results.scores.set_index("run")["evaluation_return"]
    for folder in results.runs["run"]:
        agent = results.agent(folder).agent

        def policy(obs, agent=agent):
            return agent.policy(torch.from_numpy(obs)[None, None]).item()

        (value,) = uqbench.evaluate(policy, "toy", "short")["value"]
        assert value == scores[folder]


def test_a_variant_is_restored_with_its_values(results):
    (folder,) = [name for name in results.runs["run"] if "slow" in name]
    assert results.agent(folder).batch.cell.config.forward == 0.5


def test_a_state_that_was_edited_is_not_read(results, tmp_path):
    copied = tmp_path / "copy"
    shutil.copytree(results.origin, copied)
    folder = results.runs["run"][0]
    path = copied / folder / "agent.pt"
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(UqbenchError, match="does not match its digest"):
        uqbench.load(copied).agent(folder)
    path.unlink()
    with pytest.raises(UqbenchError, match=r"agent\.pt is damaged"):
        uqbench.load(copied).agent(folder)
