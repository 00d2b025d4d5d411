"""A loop that its owner keeps is recorded as a run is; a trained agent is evaluated alone."""

import json

import gymnasium
import numpy as np
import pytest
import torch
from commands import toy_plugin

import uqbench
from uqbench.errors import UqbenchError

FORWARD = """\
from uqbench.contract.agent import LoopAgent

class Forward(LoopAgent):
    def __init__(self, info, config):
        self.run = info.runs[0]

    def metrics(self):
        return {"number": float(self.run)}

    def train(self, env, total_steps, seed):
        env.reset()
        while True:
            *_, terminated, truncated, _ = env.step(1)
            if terminated or truncated:
                env.reset()

    def policy(self, obs, valid=None):
        return 1
"""


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    toy_plugin(monkeypatch)


def corridor():
    from toy_uqbench import CorridorOptions
    from toy_uqbench.corridor import Corridor

    return Corridor(CorridorOptions(length=6))


def walked(env, steps: int | None = None) -> None:
    """Steps of a loop that always goes forward."""
    env.reset()
    for _ in range(steps or env.steps):
        *_, terminated, truncated, _ = env.step(1)
        if terminated or truncated:
            env.reset()
    env.close()


def record(tmp_path, seed: int = 0, env=None, task: str = "long", **options):
    given = {"policy": lambda obs: 1, "method": "mine", "out": tmp_path / "out"} | options
    return uqbench.record(env, "toy", task, seed, **given)


@pytest.mark.parametrize("own", [False, True])
def test_a_recorded_loop_is_the_run_that_uqbench_makes_of_it(tmp_path, own):
    env = record(tmp_path, 3, env=corridor() if own else None)
    walked(env, env.steps + 7)
    mine = uqbench.load(tmp_path / "out")
    (tmp_path / "forward.py").write_text(FORWARD)
    run = uqbench.run(
        "toy", methods=f"{tmp_path}/forward.py:Forward", tasks="long", seeds=[3], workers=1,
        out=tmp_path / "theirs", progress=False)  # fmt: skip
    for frame in (mine.episodes(), run.episodes()):
        assert frame["length"].sum() > 600
    columns = ["step", "phase", "end", "length", "return", "discounted_return"]
    assert mine.episodes()[columns].equals(run.episodes()[columns])
    assert (mine.scores["score"] == run.scores["score"]).all()
    assert set(run.metrics("number")["value"]) == {3.0}


def test_its_row_says_self_run_and_ranks_beside_runs_that_others_check(tmp_path):
    for seed in range(3):
        for task in ("short", "long"):
            walked(record(tmp_path, seed, task=task))
    uqbench.run("toy", methods="slow", seeds=3, workers=1, out=tmp_path / "out", progress=False)
    (board,) = uqbench.load(tmp_path / "out").boards
    assert board.origin["mine"] == {"self_run": "yes"}
    rows = {row["method"]: row for row in board.rows()}
    assert (rows["mine"]["self_run"], rows["slow"]["self_run"]) == ("yes", "no")
    assert {*board.places} == {"mine", "slow"}
    assert "(self-run)" in uqbench.load(tmp_path / "out")._repr_html_()
    (folder,) = uqbench.load(tmp_path / "out").write(tmp_path / "boards")
    page = (folder / "README.md").read_text("utf-8")
    assert "`mine` (self-run)" in page
    assert "who acted is not known" in page
    uqbench.write_report(tmp_path / "boards", tmp_path / "report.html")
    with pytest.raises(UqbenchError, match="a stored board has not"):
        uqbench.load(tmp_path / "boards").write(tmp_path)


def test_a_vector_environment_is_recorded_too(tmp_path):
    recorded = record(tmp_path, env=gymnasium.vector.SyncVectorEnv([corridor]))
    recorded.reset()
    for _ in range(recorded.steps):
        recorded.step(np.array([1]))
    recorded.close()
    walked(record(tmp_path, method="single"))
    episodes = uqbench.load(tmp_path / "out").episodes()
    assert episodes.groupby("method")["return"].sum().nunique() == 1


def test_what_a_loop_may_not_do_is_refused(tmp_path):
    env = record(tmp_path)
    env.reset()
    env.step(1)
    with pytest.raises(UqbenchError, match="reset in the middle of an episode"):
        env.reset()
    with pytest.raises(UqbenchError, match="has 1 of 600 steps"):
        env.close()
    walked(record(tmp_path))
    with pytest.raises(UqbenchError, match="is finished"):
        record(tmp_path)
    with pytest.raises(UqbenchError, match="has a method 'slow' already"):
        record(tmp_path, method="slow")
    envs = gymnasium.make_vec("CartPole-v1", num_envs=1, vectorization_mode="vector_entry_point")
    for env, said in (
        (gymnasium.make("CartPole-v1"), r"observations \(4,\) and 2 actions; expected"),
        (3, r"expected None, a gymnasium\.Env, or a VectorEnv"),
        (envs, r"has AutoresetMode\.NEXT_STEP: .* expected SAME_STEP"),
    ):
        with pytest.raises(UqbenchError, match=said):
            record(tmp_path, env=env, method="other")
    with pytest.raises(UqbenchError, match="give policy="):
        walked(record(tmp_path, policy=None, method="another"))


def test_a_trained_agent_is_evaluated_as_at_the_end_of_its_run(tmp_path):
    walked(record(tmp_path, task="short"))
    stored = uqbench.load(tmp_path / "out").scores["evaluation_return"].item()
    alone = uqbench.evaluate(lambda obs: 1, "toy", "short")
    assert alone["value"].to_dict() == {"evaluation_return": stored}
    assert alone["better"].to_dict() == {"evaluation_return": "max"}
    assert uqbench.evaluate(lambda obs: 0, "toy", "short")["value"]["evaluation_return"] < stored


class Model:
    """A model in the form of Stable-Baselines3's, which explores unless it is asked not to."""

    def predict(self, obs, state=None, episode_start=None, deterministic=False):
        return np.array(1 if deterministic else 0), state


def of_a_batch(obs):
    assert obs.ndim == 2  # one of these is asked: [1, *obs]
    return np.ones(len(obs), np.int64), "log-probability"


FORMS = {
    "function": lambda obs: 1, "model": Model(), "its predict": Model().predict,
    "batch": of_a_batch, "tensor": lambda obs: torch.ones(1, requires_grad=True).long(),
}  # fmt: skip


@pytest.mark.parametrize("policy", FORMS.values(), ids=FORMS)
def test_a_policy_of_any_usual_form_is_evaluated(policy):
    given = uqbench.evaluate(policy, "toy", "short")
    assert given.equals(uqbench.evaluate(lambda obs: 1, "toy", "short"))


NO_ACTION = [
    (lambda obs: 1.7, "policy chose 1.7 for one observation: expected one action, a whole"),
    (lambda obs: np.zeros(4), "expected one action, a whole number"),
    (lambda obs: "up", "expected one action, a whole number"),
    (lambda obs: float("nan"), "expected one action, a whole number"),
    (3, "policy is int: expected a function of obs, or a model that has predict"),
]


@pytest.mark.parametrize(("policy", "match"), NO_ACTION)
def test_a_policy_that_chooses_no_action_is_refused(policy, match):
    with pytest.raises(UqbenchError, match=match):
        uqbench.evaluate(policy, "toy", "short")


def test_a_belief_of_another_name_is_refused(tmp_path):
    from uqbench_record.self_run import Own

    with pytest.raises(UqbenchError, match=r"states 'value_sample'.* Did you mean 'value_samples'"):
        Own(None, lambda obs: {"value_sample": obs}).uncertainty(np.zeros((3, 2)))


def goes(env, action) -> None:
    for _ in range(10):
        env.step(action)


class Halved(gymnasium.RewardWrapper):
    def reward(self, reward):
        return reward / 2


@pytest.mark.parametrize("vector", [False, True])
def test_a_wrapper_that_changes_rewards_is_refused_and_one_around_a_record_not(tmp_path, vector):
    def made(wrapped: bool):
        env = gymnasium.wrappers.RecordEpisodeStatistics(corridor())
        return Halved(env) if wrapped else env

    def given(wrapped: bool):
        return gymnasium.vector.SyncVectorEnv([lambda: made(wrapped)]) if vector else made(wrapped)

    env = record(tmp_path, env=given(True))
    env.reset()
    with pytest.raises(UqbenchError, match=r"a wrapper changes rewards: .* wrap what record"):
        goes(env, np.array([1]) if vector else 1)
    if not vector:
        env = record(tmp_path, env=given(False))
        walked(Halved(env), env.steps)
        walked(record(tmp_path, method="plain"))
        episodes = uqbench.load(tmp_path / "out").episodes()
        assert episodes.groupby("method")["return"].sum().nunique() == 1


def test_a_call_that_is_made_again_takes_the_place_of_the_first(tmp_path):
    first = record(tmp_path)
    first.reset()
    first.step(1)
    again = record(tmp_path)
    with pytest.raises(UqbenchError, match="is recorded anew"):
        first.step(1)
    first.close()  # stores nothing
    walked(again)
    assert len(uqbench.load(tmp_path / "out").runs) == 1


def test_what_a_loop_raises_is_what_its_owner_sees(tmp_path):
    def loop():
        with record(tmp_path) as env:
            env.reset()
            env.step(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        loop()
    assert raised.value.__context__ is None
    walked(record(tmp_path))


def test_a_recorded_loop_proves_learning_by_its_optimizer_and_beside_others(tmp_path, monkeypatch):
    """A pole falls to one side: always the same push is worse than any, towards its fall better."""
    monkeypatch.delenv("UQBENCH_PLUGINS")
    network = torch.nn.Linear(4, 2)
    with torch.no_grad():
        network.weight.zero_()
        network.bias.copy_(torch.tensor([1.0, 0.0]))
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)

    def loop(method: str, learns: bool) -> dict[str, float]:
        env = uqbench.record(
            None, "cartpole", "cartpole", method=method, budget="smoke", out=tmp_path / "out",
            policy=lambda obs: int(network(torch.as_tensor(obs).float()).argmax()))  # fmt: skip
        env.reset()
        for t in range(env.steps):
            *_, terminated, truncated, _ = env.step(1)
            if learns and t == 0:
                network.weight.grad = torch.tensor([[0.0] * 4, [0.0, 0.0, -1.0, -1.0]])
                network.bias.grad = torch.tensor([1.0, 0.0])
                optimizer.step()
            if terminated or truncated:
                env.reset()
        env.close()
        (at,) = (tmp_path / "out").glob(f"cartpole/smoke/cartpole/{method}/*/run.json")
        return json.loads(at.read_text("utf-8"))["learning"]

    idle, proof = loop("idle", False), loop("mine", True)
    assert idle["trained"] == idle["untrained"]
    assert idle["gradient_steps"] == idle["moved"] == 0
    # √3 from a norm of 1
    assert (proof["gradient_steps"], proof["moved"]) == (1, pytest.approx(3**0.5))
    assert idle["trained"] < proof["random"] < proof["trained"]
    shown = uqbench.load(tmp_path / "out")._repr_html_()
    assert "mine: 1 gradient step, return" in shown
    assert "idle: no gradient step was seen" in shown
    assert shown.count("<td>–</td>") == 1  # the score of the one that learned nothing
