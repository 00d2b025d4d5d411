"""UBE-DQN and the intrinsic-motivation baseline: Algorithm 1 step by step, lanes, capture."""

import io
import math
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_ube.chain.agents import BonusDecisionConfig, UBEDecisionConfig
from uqbench_ube.chain.config import ChainConfig
from uqbench_ube.deep.config import IntrinsicDQNConfig, UBEDQNConfig
from uqbench_ube.deep.intrinsic import IntrinsicDQN
from uqbench_ube.deep.ube_dqn import UBEDQN
from uqbench_ube.deep.windows import Windows

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.lanes import Normal
from uqbench.runner.train.compiling import compile_agent
from uqbench.runner.train.exported_agents import exported_agent
from uqbench.testing.same_bits import same, train
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors, transitions

CPU = torch.device("cpu")
SMALL = {
    "learning_starts": 40, "target_sync_period": 45, "replay_capacity": 150, "hidden": (16,),
    "channels": 4}  # fmt: skip
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)


def make(kind: str) -> UBEDQN | IntrinsicDQN:
    if kind == "intrinsic":
        return IntrinsicDQN(RotatingPixels.info(), (3, 5), IntrinsicDQNConfig(**SMALL), CPU)
    config = UBEDQNConfig(horizon=1 if kind == "one-step" else 7, beta=0.5, **SMALL)
    return UBEDQN(RotatingPixels.info(), (3, 5), config, CPU)


def flat_agent(seeds: Sequence[int] = (0, 1), **changes: Any) -> UBEDQN:
    settings = {"hidden": (6,), "learning_starts": 500, "batch_size": 8} | changes
    return UBEDQN(FLAT, seeds, UBEDQNConfig(**settings), CPU)


def observations(steps: int, lanes: int = 2, seed: int = 0) -> Tensor:
    return torch.randn(steps, lanes, 3, generator=torch.Generator().manual_seed(seed))


def drive(agent: Agent, obs: Tensor, terminated: Sequence[int] = (), truncated: Sequence[int] = ()):
    """Walk along ``obs`` ``[T + 1, L, 3]``; returns the actions. Endings are steps of all lanes.

    Where an episode ended, the observation that ended it is the next one plus 10.
    """
    actions = []
    for t in range(len(obs) - 1):
        actions.append(act(agent, obs[t]))
        ends, cut = (torch.full((obs.shape[1],), t in of) for of in (terminated, truncated))
        last = obs[t + 1] + 10.0 * (ends | cut)[:, None]
        paid = torch.ones(obs.shape[1])
        agent.observe(step_of_actors(obs[t], actions[-1], paid, ends, cut, last))
    return actions


# -- Algorithm 1 ---------------------------------------------------------------------------------


def reference_targets(local, u, u_last, ends, horizon):
    """The sweep of the paper's n-step method, backwards over each finished window.

    Args:
        local: ν of each step.
        u: of the action that was taken at each step.
        u_last: of the action that would have been, where an episode ended before that step.
        ends: by step, whether the episode's end was terminal.
        horizon: n.
    """
    targets: list[float] = []
    window: list[float] = []
    for k, nu in enumerate(local):
        window.append(nu)
        if k in ends or len(window) == horizon:
            follows = u[k + 1] if k not in ends else 0.0 if ends[k] else u_last[k + 1]
            swept = []
            for nu_i in reversed(window):
                follows = nu_i + 0.9**2 * follows
                swept.append(follows)
            targets += reversed(swept)
            window = []
    return targets


def kept(owner: Any, name: str) -> list[Any]:
    """The values that a method returns from now on."""
    method, returned = getattr(owner, name), []
    setattr(owner, name, lambda *given: returned.append(method(*given)) or returned[-1])
    return returned


@pytest.mark.parametrize("horizon", [1, 4])
def test_targets_are_those_of_the_sweep_and_every_step_is_learned_once(horizon):
    """ν and u as they were when the agent acted, endings of both kinds, more steps than a ring."""
    agent = flat_agent(horizon=horizon, uncertainty_hidden=5, beta=0.7)
    learned: list[tuple[Tensor, ...]] = []
    samples, locals_ = kept(agent, "thompson_sample"), kept(agent.counts, "update")
    learn = agent.learn_uncertainty

    def spy_learn(*example):
        learned.append(tuple(part[:, 0].clone() for part in example))  # of the one actor
        return learn(*example)

    agent.learn_uncertainty = spy_learn
    steps, ends = 40, {5: True, 13: False, 14: True, 30: False}
    terminated, truncated = ([t for t in ends if ends[t] is kind] for kind in (True, False))
    actions = drive(agent, observations(steps + 1), terminated, truncated)
    for lane in range(2):
        local = [nu[lane, 0].item() for nu in locals_[1:]]
        u, u_last = ([seen.u[lane, k].item() for seen in samples] for k in (0, 1))
        expected = reference_targets(local, u, u_last, ends, horizon)
        taken = [e for e in learned if e[3][lane]]
        assert len(taken) >= max(len(expected) - horizon, steps - 2 * horizon)
        for i, (trunk, action, target, _) in enumerate(taken):
            assert target[lane].item() == pytest.approx(expected[i], rel=1e-4)
            assert action[lane] == actions[i][lane]
            assert torch.equal(trunk[lane], samples[i].trunk[lane, 0])


def local_uncertainties(features: Tensor, actions: list[Tensor], steps: int, prior: float):
    """``φᵀ Σ_a φ`` by lane and step, of features ``[L, T, 6]``, where Σ counts the steps before."""
    for lane in range(2):
        gram = (torch.eye(6) / prior).double().repeat(4, 1, 1)
        for t in range(steps):
            phi, a = features[lane, t].double(), int(actions[t][lane])
            yield lane, t, (phi @ torch.linalg.inv(gram[a]) @ phi).item()
            gram[a] += torch.outer(phi, phi)


def test_the_local_uncertainty_is_that_of_the_executed_action_before_its_update():
    agent = flat_agent(prior=0.5)
    obs, found = observations(30), kept(agent.counts, "update")
    actions = drive(agent, obs)
    features = torch.cat([agent.online.features(agent.online.trunk(x[:, None])) for x in obs], 1)
    for lane, t, local in local_uncertainties(features.detach(), actions, 28, prior=0.5):
        assert found[t + 1][lane].item() == pytest.approx(local, rel=1e-5, abs=1e-9)


def test_actions_follow_equation_3():
    agent, obs = flat_agent(beta=3.0), observations(2)
    chosen, predicted = act(agent, obs[0]), agent.uncertainty(obs[0][:, None])
    zeta = Normal((0, 1), "thompson", (4,)).at(0)
    # one step has been taken in: none, so that the head is what it was
    score = predicted.mean[:, 0] + zeta * predicted.epistemic_var[:, 0].sqrt()
    assert torch.equal(chosen, score.argmax(-1))
    only = torch.tensor([[False, False, True, False], [True, False, False, False]])
    assert act(flat_agent(beta=3.0), obs[0], only).tolist() == [2, 0]


@pytest.mark.parametrize(("stated", "factor"), [("scaled", 4.0), ("u", 1.0)])
@pytest.mark.parametrize("initial", [None, 4.0])
def test_uncertainty_begins_at_the_priors_solution_and_beta_may_scale_it(initial, stated, factor):
    agent = flat_agent(initial_uncertainty=initial, prior=0.5, beta=2.0, stated=stated)
    obs = observations(2)
    act(agent, obs[0])
    phi = agent.online.features(agent.online.trunk(obs[0][:, None]))[:, 0]
    expected = phi.square().sum(-1) * 0.5 / (1 - 0.81) if initial is None else torch.full((2,), 4.0)
    predicted = agent.uncertainty(obs[0][:, None]).epistemic_var[:, 0]
    torch.testing.assert_close(predicted, factor * expected[:, None].expand(2, 4).detach())


def test_an_undiscounted_task_needs_an_initial_uncertainty():
    info = EnvironmentInfo(FLAT.observation_space, 4, 1.0, 1000)
    with pytest.raises(ValueError, match="give the agent an initial_uncertainty"):
        UBEDQN(info, [0], UBEDQNConfig(), CPU)
    UBEDQN(info, [0], UBEDQNConfig(initial_uncertainty=1.0), CPU)


def test_the_heads_gradients_never_reach_the_trunk_nor_the_q_values_the_head():
    """Before Q-learning starts the network stays; then the head's step does not touch it."""
    agent = flat_agent()
    before, head = deepcopy([*agent.online.parameters()]), deepcopy([*agent.head.parameters()])
    drive(agent, observations(30))
    assert same([*agent.online.parameters()], before)
    assert not any(map(torch.equal, agent.head.parameters(), head))
    learners = agent.optimizer.parameters, agent.head.parameters()
    assert not set.intersection(*({id(p) for p in owned} for owned in learners))
    learning = flat_agent(learning_starts=8)
    drive(learning, observations(8))
    head = deepcopy([*learning.head.parameters()])
    learning.learn(torch.arange(8).repeat(2, 1))
    assert same([*learning.head.parameters()], head)


def test_q_learning_is_dqns():
    """The same transitions and batches give the same network: only actions are chosen otherwise."""
    settings = {"hidden": (6,), "learning_starts": 8, "batch_size": 8, "target_sync_period": 10}
    ube, dqn = flat_agent(**settings), DQN(FLAT, [0, 1], DQNConfig(**settings), CPU)
    for step in transitions([0, 1], (3,), 4, 40):
        ube.act(step.obs)
        ube.observe(step)
        dqn.observe(step)
    assert same([*ube.online.parameters()], [*dqn.online.parameters()])


@pytest.mark.parametrize("horizon", [1, 2, 5, 150])
def test_a_queue_never_holds_more_than_a_window_and_loses_nothing(horizon):
    lanes, steps = 4, 700
    windows = Windows(lanes, 1, horizon, 0.9, CPU)
    ended = torch.rand(steps, lanes, generator=torch.Generator().manual_seed(1))
    ended = ended < torch.tensor([0.0, 0.02, 0.3, 1.0])
    seen: list[list[float]] = [[] for _ in range(lanes)]
    none, zero = torch.zeros(lanes, dtype=torch.bool), torch.zeros(lanes)
    for k in range(steps):
        number = torch.full((lanes, 1), float(k))
        windows.add(torch.tensor(k), number, zero.long(), zero, zero, none, ended[k])
        assert (windows._first - windows._taken <= horizon).all()
        example = windows.take()
        for lane in range(lanes):
            if example.ready[lane]:
                seen[lane].append(example.trunk[lane, 0].item())
    for lane in range(lanes):
        assert seen[lane] == [float(k) for k in range(len(seen[lane]))]
        assert len(seen[lane]) > steps - 2 * horizon


# -- the baseline --------------------------------------------------------------------------------


def test_the_bonus_is_the_root_of_the_local_uncertainty():
    settings = {"hidden": (6,), "learning_starts": 500, "batch_size": 8}
    agent = IntrinsicDQN(FLAT, [0, 1], IntrinsicDQNConfig(bonus=0.3, prior=2.0, **settings), CPU)
    obs = observations(21)
    actions = drive(agent, obs)
    stored = agent.replay.gather(torch.arange(20).repeat(2, 1))
    features = torch.cat([agent.features(x[:, None]) for x in obs], 1)
    for lane, t, local in local_uncertainties(features, actions, 20, prior=2.0):
        expected = 1 + 0.3 * math.sqrt(local)
        assert stored["reward"][lane, t].item() == pytest.approx(expected, rel=1e-5)


# -- lanes, resuming, capture, compilation ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["n-step", pytest.param("intrinsic", marks=pytest.mark.long)])
def test_it_conforms(kind, conforms):
    """Learning, synced targets, windows of both kinds of ending, a buffer that is overwritten."""
    agent = make(kind)
    conforms(type(agent), agent.config)


@pytest.mark.parametrize("actors", [1, 3])
def test_an_agent_is_cut_out_of_its_batch_whatever_its_window(actors):
    """The windows `[2 n, L · K, …]`, which no policy needs, are left out."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000, actors=actors)
    config = UBEDQNConfig(hidden=(8,), horizon=4, batch_size=4)
    agent = UBEDQN(info, [1, 2], config, CPU)
    for step in transitions([1, 2], (3,), 4, 6 * actors, actors):
        agent.act(step.obs)
        agent.observe(step)
    obs = torch.randn(2, 5, 3)
    kept = exported_agent(agent, UBEDQN(info, [2], config, CPU), 1, 2, obs)
    restored = UBEDQN(info, [9], config, CPU)
    restored.load_state_dict(torch.load(io.BytesIO(kept), weights_only=True))
    assert torch.equal(restored.uncertainty(obs[1:]).mean, agent.uncertainty(obs).mean[1:])


def test_compiled_steps_agree_with_eager_ones(monkeypatch):
    """Traced whole, gradients with it; what is generated from the traces is torch's own."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    eager, compiled = flat_agent(horizon=3), flat_agent(horizon=3)
    drive(eager, observations(20))
    compile_agent(compiled)
    compiled.load_state_dict(eager.state_dict())
    obs, noise = observations(2).movedim(0, 1), torch.randn(2, 1, 4).expand(-1, 2, -1)
    with torch.no_grad():
        samples = [agent.thompson_sample(obs, noise, None) for agent in (eager, compiled)]
        torch.testing.assert_close(tuple(samples[1]), tuple(samples[0]), rtol=1e-4, atol=1e-5)
        example = (samples[0].trunk[:, :1], samples[0].action[:, :1], torch.ones(2, 1))
        ready = torch.tensor([[True], [False]])
        errors = [agent.learn_uncertainty(*example, ready) for agent in (eager, compiled)]
    torch.testing.assert_close(errors[1], errors[0], rtol=1e-4, atol=1e-5, equal_nan=True)
    states = [agent.head_optimizer.state_dict()["squares"] for agent in (eager, compiled)]
    torch.testing.assert_close(states[1], states[0], rtol=1e-3, atol=1e-9)


PINNED = {
    "one-step": (0.122495, 0.108844),
    "n-step": (0.122445, 0.575813),
    "intrinsic": (0.176153, 0.0407731),
}


@pytest.mark.parametrize("kind", PINNED)
def test_a_short_run_ends_with_the_numbers_that_it_always_had(kind):
    """Whoever changes these numbers has changed the algorithm, not its speed."""
    agent = make(kind)
    list(train(agent, RotatingPixels(2), 120))
    last = agent.metrics()
    found = last["loss"][0].item(), last["bonus" if kind == "intrinsic" else "u"][0].item()
    assert found == pytest.approx(PINNED[kind], rel=1e-3)


REFUSED = [
    (UBEDQNConfig, {"horizon": 0}), (UBEDQNConfig, {"beta": -0.1}),
    (UBEDQNConfig, {"prior": 0.0}), (UBEDQNConfig, {"uncertainty_hidden": 0}),
    (UBEDQNConfig, {"initial_uncertainty": 0.0}), (IntrinsicDQNConfig, {"bonus": -1.0}),
    (ChainConfig, {"discount": 1.0}), (ChainConfig, {"sigma": 0.0}),
    (BonusDecisionConfig, {"beta": 0.0}), (UBEDecisionConfig, {"sigma": 0.0}),
]  # fmt: skip


@pytest.mark.parametrize(("config", "settings"), REFUSED)
def test_impossible_settings_are_refused(config, settings):
    with pytest.raises(ValueError, match="got"):
        config(**settings)
