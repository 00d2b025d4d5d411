"""Native steps compute what the agents' classes define, and the same bits everywhere."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("numba")

from uqbench_dqn.config import DQNConfig, QRDQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.native import products
from uqbench_dqn.native.agents import Steps
from uqbench_dqn.native.exploring import NativeExploration
from uqbench_dqn.qr_dqn import QRDQN

from uqbench.errors import UqbenchError
from uqbench.lanes import Clock, EpsilonGreedy, ReplayBuffer
from uqbench.registry import Host
from uqbench.runner import Batch
from uqbench.runner.executors.local import ENVIRONMENT
from uqbench.runner.train.agents import Training
from uqbench.runner.train.compiling import execute_as, initial_weights
from uqbench.runner.train.measurements import Measurements
from uqbench.suites import make_plan, read_suites
from uqbench.testing.same_bits import difference, train
from uqbench.testing.worlds import RotatingPixels

METHODS = [
    "dqn", "qr-dqn", "c51-support", "ua-dqn", "ube-dqn", "quam-dqn", "bdqn", "epinet-dqn",
    "bootstrapped-dqn-masks", "randomized-prior-dqn-centered", "sentinel-4-support"]  # fmt: skip
GAMES = ["asterix", "breakout", "freeway", "seaquest", "space_invaders"]  # 4, 4, 7, 10, 6 planes
STATES = 20
WARM_UP = 20
"""Updates after which states are compared: Adam's first steps have the sign of a gradient, however
small, and that of one that is nearly zero is its rounding's."""
CPU = torch.device("cpu")


@cache
def known() -> tuple[Host, Any]:
    """The plugins, and MinAtar's suite."""
    host = Host.load()
    return host, read_suites(host, check=()).suite("minatar")


def training(
    method: str, numerics: str = "native", *, game: str = "breakout", seeds: Any = (0,),
    actors: int = 64, updates: int = 30, saved: Any = None, start: str = "zero",
) -> Training:  # fmt: skip
    """Runs as of MinAtar's night, short, on any game: learning starts with the third vector step.

    Output layers start at zero, or at random: where units cancel in pairs, gradients of the layers
    below are roundings at first, and Adam makes them steps.
    """
    host, suite = known()
    night = suite.budget("night").model_dump() | {"tasks": None}
    changed = {"steps": actors * updates + 192, "actors": actors, "numerics": numerics}
    short = {"learn_period": actors, "target_sync_period": 12 * actors, "batch_size": 128}
    night |= {"tuned": None, "evaluation": None, "queries": None, "schedule": 1.0, **changed}
    night["config"] = short | {"learning_starts": 130, "learning_rate": 1e-3}
    budget = type(suite.budget("night")).model_validate(night)
    own = {"start": start, "update_period": actors, "target_sync_updates": 12}
    methods = tuple(at_night(one, own) if one.name == method else one for one in suite.methods)
    budgets = {**suite.budgets, "night": budget}
    suite = suite.model_copy(update={"budgets": budgets, "methods": methods})
    chosen = {"methods": [method], "tasks": [game], "seeds": list(seeds)}
    plan = make_plan(suite, host, "night", device="cpu", **chosen)
    batch = Batch(plan.cells[0], budget, suite.metrics, "cpu")
    notices: list[str] = []
    made = Training(batch, host, Measurements(batch, host, CPU), saved, notices.append)
    assert notices == []
    return made


def at_night(method: Any, changed: dict[str, Any]) -> Any:
    """``method`` at budget ``night``, also one of ``night-heads``, with other values."""
    found = method.budget_config.get("night", method.budget_config.get("night-heads", {}))
    found, own = ({**each} for each in (found, method.config))
    for config in (found, own):
        config |= {name: value for name, value in changed.items() if name in config}
    return method.model_copy(update={"config": own, "budget_config": {"night": found}})


def learned(training: Training) -> list[Tensor]:
    """All parameters that the runs' agent learns."""
    agent: Any = training._agent
    return [parameter.detach() for parameter in agent.optimizer.parameters]


def finish(runs: Training) -> None:
    for _ in runs.steps():
        pass


def updates_compared(method: str, game: str, actors: int, seeds: Any) -> Iterator[float]:
    """At states of a run: how far apart eager's next update and the native one end.

    Native steps lead to the first of them, eager ones from there on.
    """
    updates = WARM_UP + 2 * STATES
    # from zero, actions are equal up to roundings for long
    runs = training(method, game=game, actors=actors, seeds=seeds, updates=updates, start="random")
    agent: Any = runs._agent
    native, optimizer, taken, found = agent.learn, agent.optimizer, 0, []

    def learn_both(index: Tensor) -> Tensor:
        nonlocal taken
        taken += 1
        clear = decided(agent, index) if taken > WARM_UP else None
        if clear is None:
            return native(index)
        before = deepcopy(learned(runs)), optimizer.state_dict()
        mean = native(clear).mean(-1)
        after, steps = deepcopy(learned(runs)), int(optimizer.state_dict()["step"])
        for parameter, old in zip(learned(runs), before[0], strict=True):
            parameter.copy_(old)
        optimizer.load_state_dict(before[1])
        objective = type(agent).learn(agent, clear)
        torch.testing.assert_close(mean, objective.mean(-1), rtol=1e-5, atol=1e-6)
        assert steps == optimizer.state_dict()["step"]
        pairs = zip(after, learned(runs), strict=True)
        found.append(max((one - two).abs().max().item() for one, two in pairs))
        return objective

    agent.learn = learn_both
    for _ in runs.steps():
        yield from found
        found.clear()


def decided(agent: Any, index: Tensor) -> Tensor | None:
    """The transitions, each in whose target a rounding would decide replaced by one with none.

    None where all transitions of a lane are of that kind.

    Distributions of two actions with nearly the same mean are not nearly the same, and the gradient
    of a quantile's loss jumps where a target crosses it.
    """
    if hasattr(agent, "directions"):
        return index  # the highest values, of a network each index, have no jumps
    best = next_values(agent, index).topk(2).values
    gap = best[..., 0] - best[..., 1]
    clear = gap > 1e-5
    if not (hasattr(agent, "levels") or hasattr(agent, "support")):
        clear |= gap == 0  # of two values that are equal either will do
    for errors in errors_of_quantiles(agent, index):
        clear &= errors.abs().amin((-2, -1)).unflatten(0, (len(clear), -1)).amin(1) > 3e-6
    clear = clear.view_as(index)
    if not clear.any(-1).all():
        return None
    first = index.gather(-1, clear.to(torch.uint8).argmax(-1, keepdim=True))
    return torch.where(clear, index, first)


@torch.no_grad()
def next_values(agent: Any, index: Tensor) -> Tensor:
    """Values ``[L, B, A]`` that the next action of transitions is chosen by."""
    obs = agent.replay.gather(index.flatten(1))["next_obs"]
    if hasattr(agent, "bootstrap"):
        laws = agent.target(obs[:, None]).softmax(-1)  # [L, K, A, B, N]
        return (laws @ agent.support).mean(1).mT
    return agent.q_values(agent.target(obs))


def errors_of_quantiles(agent: Any, index: Tensor) -> list[Tensor]:
    """Targets less predictions, all pairs, ``[lanes · networks, B, N, N]``, where there are any."""
    found: list[Tensor] = []

    def loss(predicted: Tensor, target: Tensor) -> Tensor:
        pairs = target[..., None, :] - predicted[..., None]
        found.append(pairs.flatten(0, -4))
        return type(agent).loss(agent, predicted, target)

    if hasattr(agent, "levels"):
        agent.loss = loss
        with torch.no_grad():
            agent.objective(agent.minibatch(index))
        del agent.loss
    return found


FIVE = (0, 1, 2, 3, 4)
NIGHTS = [(game, *of) for game in GAMES for of in ((64, FIVE), (1, (0,)))]
COMPARED = [("breakout", 64, (0,)), ("seaquest", 1, FIVE)]
COMPARED += [pytest.param(*of, marks=pytest.mark.long) for of in NIGHTS]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("game", "actors", "seeds"), COMPARED)
def test_an_update_is_the_one_that_the_class_defines(method, game, actors, seeds):
    apart = list(islice(updates_compared(method, game, actors, seeds), STATES))
    assert len(apart) == STATES
    assert max(apart) < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_a_lane_has_the_same_bits_alone_and_among_five(method):
    alone, among = (training(method, seeds=s, updates=10) for s in ([3], [0, 1, 2, 3, 4]))
    finish(alone)
    finish(among)
    for one, five in zip(learned(alone), learned(among), strict=True):
        assert torch.equal(one, five.unflatten(0, (5, -1))[3])


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(method):
    whole = training(method, game="seaquest", updates=6)
    state: Any = None
    for step, _ in whole.steps():
        if step == 64 * 6:
            state = deepcopy(whole.state())  # the next step overwrites its observations
    again = training(method, game="seaquest", updates=6, saved=lambda: state)
    finish(again)
    assert difference(whole.state(), again.state()) is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_what_is_no_number_shows_as_it_does_in_eager(method, value):
    """In the loss of the next gradient step, or as predictions that the guards refuse."""
    for numerics in ("eager", "native"):
        runs = training(method, numerics, start="random")
        steps = runs.steps()
        agent: Any = runs._agent
        while agent.metrics()["loss"].isnan().any():
            next(steps)
        with torch.no_grad():
            network = getattr(agent.online, "base", agent.online)
            network.layers[0].weight[0, ..., 7] = value  # of a unit, from all inputs
        shown = ""
        for _ in range(4):
            try:
                next(steps)
            except UqbenchError as error:
                shown = str(error)
                break
        assert "not finite" in shown or not agent.metrics()["loss"].isfinite().all()


def test_all_that_learns_in_the_night_of_several_networks_is_native():
    host, suite = known()
    plan = make_plan(suite, host, "night-heads", device="cpu", tasks=["breakout"], seeds=[0])
    said = {}
    for cell in plan.cells:
        batch, notices = Batch(cell, suite.budget("night-heads"), suite.metrics, "cpu"), []
        made = Training(batch, host, Measurements(batch, host, CPU), None, notices.append)
        if hasattr(made._agent, "optimizer"):
            said[cell.method.name] = notices
    assert (len(said), any(said.values())) == (5, False)


DIGESTS = {
    "dqn": "95e5ce71a5df7721", "qr-dqn": "a897effc4dcd8945", "c51-support": "25c4c89ccfeca646",
    "ua-dqn": "34362b6c2ee47627", "sentinel-4-support": "90b5fff0373802e8",
    "epinet-dqn": "08626a7599918fa4", "randomized-prior-dqn-centered": "d6014e9bcc031a13",
}  # fmt: skip
"""Weights after a run of 30 updates, on every processor with fused multiply-add.

UBE-DQN's counts and BDQN's posterior are torch's, and so are their last bits.
"""


def digest_of(method: str) -> str:
    runs = training(method, game="asterix")
    finish(runs)
    return hashlib.sha256(b"".join(x.numpy().tobytes() for x in learned(runs))).hexdigest()[:16]


@pytest.mark.parametrize(("lanes", "actors"), [(1, 1), (1, 64), (5, 1), (5, 64)])
def test_rows_of_the_ring_are_those_of_the_buffer(lanes, actors):
    clock = Clock(CPU, actors)
    buffer = ReplayBuffer(lanes, 1_000, {"reward": ((), torch.float32)}, clock)
    index = torch.randint(buffer.capacity, (lanes, 128), generator=torch.manual_seed(0))
    steps: Any = SimpleNamespace(agent=SimpleNamespace(clock=clock))
    assert np.array_equal(Steps.rows(steps, index), buffer.rows(index).numpy())


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("random_until", [0, 1_280])
def test_native_exploration_chooses_the_actions_that_torch_does(masked, random_until):
    clock = Clock(CPU, 64)
    decay = {"initial": 0.9, "final": 0.07, "start": 640, "decay_steps": 6_400}
    torchs = EpsilonGreedy([3, 4], 6, clock, **decay, random_until=random_until)
    native, drawn, changed = NativeExploration(torchs, 6), torch.manual_seed(0), 0
    for _ in range(150):
        assert torchs.epsilon_now == np.float32(torchs.epsilon.item())
        action = torch.randint(6, (2, 64), generator=drawn)
        valid = torch.rand(2, 64, 6, generator=drawn) < 0.5 if masked else None
        own, right = (one.explore(action, torchs.noise(), valid) for one in (native, torchs))
        assert torch.equal(own, right)
        changed += int((own != action).sum())
        clock.advance()
    assert 0 < changed < 150 * 128


@pytest.mark.parametrize("method", DIGESTS)
def test_a_run_has_the_bits_that_it_always_had(method):
    assert digest_of(method) == DIGESTS[method]


AVX2 = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "", "ATEN_CPU_CAPABILITY": "avx2"}
OTHER_MKL = pytest.param({"MKL_CBWR": "COMPATIBLE"}, marks=pytest.mark.long)


@pytest.mark.parametrize("processor", [AVX2, OTHER_MKL])
def test_the_bits_are_those_of_other_processors(processor):
    """Of one with AVX2 alone, to Numba, to torch's loops and to MKL."""
    command = "from test_native import *; print(*map(digest_of, DIGESTS))"
    environment = {**os.environ, **ENVIRONMENT, "MKL_CBWR": "AVX2", **processor}
    environment["PYTHONPATH"] = os.path.dirname(__file__)  # noqa: PTH120
    told = {"env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", command], **told)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(DIGESTS.values())


@pytest.mark.parametrize(
    ("rows", "inputs", "width"), [(1, 32, 32), (13, 288, 64), (128, 1024, 128)]
)
def test_products_are_those_of_float64_within_rounding(rows, inputs, width):
    drawn, many = np.random.default_rng(0), products.whole(rows)
    h = np.zeros((many, products.H_STEP), np.float32)
    d = np.zeros((many, products.Z_STEP), np.float32)
    h[:rows, :inputs] = drawn.standard_normal((rows, inputs)) * (drawn.random((rows, inputs)) < 0.5)
    d[:rows, :width] = drawn.standard_normal((rows, width))
    w = drawn.standard_normal((inputs, width)).astype(np.float32)
    z, dh, pack = np.zeros_like(d), np.zeros_like(h), np.zeros((many + 256) * 144, np.float32)
    dw = np.zeros((inputs, width), np.float32)
    arrays = [x.reshape(-1) for x in (h, w, d, z, dh, dw)]
    products.mark_rows(arrays[0], rows, inputs, products.MOST_INPUTS)
    products.mark_rows(arrays[2], rows, width, products.MOST_OUTPUTS)
    products.forward(arrays[0], rows, inputs, arrays[1], width, arrays[3])
    products.to_weights(arrays[0], rows, inputs, arrays[2], width, arrays[5], pack)
    products.to_inputs(arrays[2], rows, arrays[1], inputs, width, arrays[4], pack)
    x, y = h[:rows, :inputs].astype(float), d[:rows, :width].astype(float)
    pairs = (z[:rows, :width], x @ w), (dw, x.T @ y), (dh[:rows, :inputs], y @ w.T)
    for made, right in pairs:
        assert np.abs(made - right).max() < 2e-6 * np.abs(right).max() + 1e-5


def small(kind: Any, config: Any) -> Any:
    with initial_weights("native"):
        return kind(RotatingPixels.info(), [3], config, CPU)


UNFIT = [
    (DQN, DQNConfig(channels=8), "not one convolution with 16 filters"),
    (DQN, DQNConfig(hidden=(32, 32)), "not one hidden layer"),
    (DQN, DQNConfig(hidden=(129,)), "not one hidden layer"),
    (DQN, DQNConfig(optimizer="rmsprop"), "not Adam"),
    (QRDQN, QRDQNConfig(kappa=1.0), "κ is not 0"),
    (type("Child", (DQN,), {}), DQNConfig(), "Child has no native step"),
]


@pytest.mark.parametrize(("kind", "config", "reason"), UNFIT)
def test_what_does_not_fit_is_compiled_and_said(kind, config, reason, monkeypatch):
    compiled: list[Any] = []
    monkeypatch.setattr("uqbench.runner.train.compiling.compile_agent", compiled.append)
    agent, notices = small(kind, config), []
    execute_as(agent, "native", notices.append)
    assert compiled == [agent]
    [said] = notices
    assert said.startswith("numerics = 'native': compiled instead: ")
    assert reason in said


@pytest.mark.parametrize(("kernel", "stride", "hidden", "batch"), [(3, 1, 32, 6), (4, 2, 96, 33)])
def test_other_kernels_strides_and_sizes_fit(kernel, stride, hidden, batch):
    sizes = {"kernel": kernel, "stride": stride, "hidden": (hidden,), "batch_size": batch}
    config = DQNConfig(**sizes, learning_starts=40)
    eager, native = small(DQN, config), small(DQN, config)
    execute_as(native, "native", pytest.fail)
    list(train(eager, RotatingPixels(1), 60))
    native.load_state_dict(eager.state_dict())
    index = torch.arange(batch)[None]
    torch.testing.assert_close(native.learn(index).mean(-1), eager.learn(index).mean(-1))
    for one, two in zip(native.optimizer.parameters, eager.optimizer.parameters, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-5)


def test_native_weights_are_those_of_torch_but_for_rounding():
    native, torchs = small(DQN, DQNConfig()), DQN(RotatingPixels.info(), [3], DQNConfig(), CPU)
    for one, two in zip(native.online.parameters(), torchs.online.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=2e-6)
