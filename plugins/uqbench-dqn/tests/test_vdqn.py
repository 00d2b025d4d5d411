"""C51 and VDQN: what they compute, against plain formulas; lanes alone; resuming."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.c51 import C51
from uqbench_dqn.config import C51Config, EpsilonVDQNConfig, VDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.variational import VariationalLinear
from uqbench_dqn.vdqn import VDQN, EpsilonVDQN

from uqbench.agent import EnvSpec, Step
from uqbench.config import resolve
from uqbench.errors import UqbenchError
from uqbench.lanes import lane_generators
from uqbench.risk import CVaR

CPU = torch.device("cpu")
SPEC = EnvSpec(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SHARED: dict[str, Any] = {
    "hidden": (9, 7),
    "batch_size": 6,
    "replay_start": 10,
    "target_period": 25,
    "replay_capacity": 50,
    "learning_rate": 1e-2,
}
KINDS: list[tuple[type[DeepQ], Any, dict[str, Any]]] = [
    (C51, C51Config, {"epsilon_steps": 60, "atoms": 11}),
    (VDQN, VDQNConfig, {"samples": 4}),
    (VDQN, VDQNConfig, {"samples": 4, "risk": "cvar(0.25)"}),
    (EpsilonVDQN, EpsilonVDQNConfig, {"samples": 4, "epsilon_steps": 60}),
]
every_agent = pytest.mark.parametrize(
    ("kind", "config", "own"), KINDS, ids=["c51", "vdqn", "vdqn-cvar", "vdqn-epsilon"]
)


def make(kind: Any, config: Any, own: dict[str, Any], seeds: Sequence[int]) -> Any:
    return kind(SPEC, seeds, config(**SHARED | own), CPU)


def steps(seeds: Sequence[int], count: int) -> list[dict[str, Tensor]]:
    """Transitions of every lane, a function of its seed."""
    lanes = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        lanes.append(
            [
                {
                    "obs": torch.rand(5, generator=generator),
                    "next_obs": torch.rand(5, generator=generator),
                    "reward": torch.rand((), generator=generator),
                    "terminated": torch.rand((), generator=generator) < 0.2,
                }
                for _ in range(count)
            ]
        )
    return [
        {name: torch.stack([lane[t][name] for lane in lanes]) for name in lanes[0][0]}
        for t in range(count)
    ]


def train(agent: Any, seeds: Sequence[int], first: int, last: int) -> list[Tensor]:
    actions = []
    for t, given in enumerate(steps(seeds, last)):
        if t >= first:
            action = agent.act(given["obs"])
            truncated = torch.zeros(len(seeds), dtype=torch.bool)
            agent.observe(Step(t=t, action=action, truncated=truncated, **given))
            actions.append(action)
    return actions


def parameters(agent: Any) -> list[Tensor]:
    networks = [*agent.online.parameters(), *agent.target.parameters()]
    return networks + agent.optimiser._means + agent.optimiser._squares


@every_agent
def test_a_lane_does_the_same_alone_and_among_others_bit_for_bit(
    kind: Any, config: Any, own: dict[str, Any]
) -> None:
    alone = make(kind, config, own, [5])
    before = [p.clone() for p in alone.online.parameters()]
    actions = torch.stack(train(alone, [5], 0, 120))
    assert not any(
        torch.equal(*pair) for pair in zip(before, alone.online.parameters(), strict=True)
    )
    for seeds, lane in (([5, 2], 0), ([1, 2, 3, 4, 5, 6, 7], 4)):
        among = make(kind, config, own, seeds)
        assert torch.equal(torch.stack(train(among, seeds, 0, 120))[:, lane], actions[:, 0])
        for given, expected in zip(parameters(among), parameters(alone), strict=True):
            assert torch.equal(given[lane], expected[0])


@every_agent
@pytest.mark.parametrize("stop", [15, 47, 90])
def test_a_resumed_agent_goes_on_like_an_unbroken_one_bit_for_bit(
    kind: Any, config: Any, own: dict[str, Any], stop: int
) -> None:
    unbroken = make(kind, config, own, [5, 2])
    train(unbroken, [5, 2], 0, stop)
    file = io.BytesIO()
    torch.save(unbroken.state_dict(), file)
    file.seek(0)
    resumed = make(kind, config, own, [5, 2])
    resumed.load_state_dict(torch.load(file, weights_only=True))
    expected = train(unbroken, [5, 2], stop, 120)
    assert torch.equal(torch.stack(train(resumed, [5, 2], stop, 120)), torch.stack(expected))
    for given, other in zip(parameters(resumed), parameters(unbroken), strict=True):
        assert torch.equal(given, other)


@every_agent
def test_what_is_asked_changes_nothing_and_has_one_answer(
    kind: Any, config: Any, own: dict[str, Any]
) -> None:
    agent, twin = (make(kind, config, own, [5]) for _ in range(2))
    obs = torch.rand(1, 7, 5, generator=torch.Generator().manual_seed(0))
    answers = agent.policy(obs)
    assert torch.equal(agent.policy(obs), answers)
    torch.testing.assert_close(agent.policy(obs[:, 2:3]), answers[:, 2:3])
    stated = agent.uncertainty(obs)
    assert stated.mean.shape == (1, 7, 3)
    assert torch.equal(agent.act(obs[:, 0]), twin.act(obs[:, 0]))
    assert (agent.policy(obs, torch.tensor([False, True, False]).expand(1, 7, 3)) == 1).all()


# --- C51 -----------------------------------------------------------------------------------------


def c51_batch() -> tuple[C51, dict[str, Tensor]]:
    agent = make(*KINDS[0], [5, 2])
    train(agent, [5, 2], 0, 40)
    batch = agent.replay.gather(torch.arange(12).expand(2, -1))
    assert batch["terminated"].any()
    return agent, batch


def test_c51s_target_is_algorithm_1_by_hand() -> None:
    agent, batch = c51_batch()
    given = agent.bellman_target(batch)
    z, width = agent.support, agent.support[1] - agent.support[0]
    laws = agent.target(batch["next_obs"]).softmax(-1)
    for lane in range(2):
        for b in range(12):
            best = (laws[lane, b] * z).sum(-1).argmax()
            keeps = 0.0 if batch["terminated"][lane, b] else 0.9
            expected = torch.zeros(11)
            for probability, atom in zip(laws[lane, b, best], z, strict=True):
                moved = (batch["reward"][lane, b] + keeps * atom).clamp(z[0], z[-1])
                place = ((moved - z[0]) / width).item()
                low = min(math.floor(place), 9)
                expected[low] += probability * (low + 1 - place)
                expected[low + 1] += probability * (place - low)
            torch.testing.assert_close(given[lane, b], expected, atol=1e-5, rtol=1e-4)


def test_c51_states_the_law_of_the_return() -> None:
    agent, batch = c51_batch()
    stated = agent.uncertainty(batch["obs"])
    assert stated.return_probs is not None
    torch.testing.assert_close(stated.return_probs.sum(-1), torch.ones(2, 12, 3))
    mean = (stated.return_probs * stated.return_atoms).sum(-1)
    square = (stated.return_probs * stated.return_atoms.square()).sum(-1)
    torch.testing.assert_close(stated.mean, mean)
    torch.testing.assert_close(stated.aleatoric_var, square - mean**2, rtol=1e-3, atol=1e-3)
    assert stated.epistemic_var is None


def test_c51_learns_the_law_of_a_reward() -> None:
    """One step, reward 0 or 4 with probabilities ¾ and ¼: the masses come within 0.07."""
    spec = EnvSpec(spaces.Box(-1, 1, (1,)), 1, 0.9, total_steps=2_000)
    config = C51Config(
        hidden=(8,),
        atoms=5,
        v_min=0,
        v_max=4,
        replay_start=32,
        learning_rate=3e-3,
        target_period=50,
    )
    agent = C51(spec, [0, 1], config, CPU)
    obs, ends = torch.ones(2, 1), torch.ones(2, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    for t in range(1_200):
        reward = 4.0 * (torch.rand(2, generator=generator) < 0.25)
        agent.observe(Step(t, obs, agent.act(obs), reward, ends, ~ends, obs))
    probs = agent.uncertainty(obs[:, None]).return_probs[:, 0, 0]
    expected = torch.tensor([0.75, 0, 0, 0, 0.25]).expand(2, -1)
    torch.testing.assert_close(probs, expected, atol=0.07, rtol=0)


# --- VDQN ----------------------------------------------------------------------------------------


def test_a_layers_draw_has_the_law_of_drawn_weights() -> None:
    """Mean and variance of 40,000 draws of weights, within six standard errors."""
    layer = VariationalLinear(4, 3, 0.5, lane_generators([0]))
    x = torch.tensor([0.5, -1.0, 2.0, 0.1])
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(40_000, 4, 3, generator=generator)
    bias_noise = torch.randn(40_000, 3, generator=generator)
    drawn = (x[:, None] * (layer.mean[0] + 0.5 * noise)).sum(1) + 0.5 * bias_noise
    own = torch.randn(1, 40_000, 3, generator=generator)
    given = layer(x.expand(1, 40_000, -1), own)[0]
    std = 0.5 * (1 + x.square().sum()).sqrt()
    torch.testing.assert_close(given.std(0), std.expand(3), rtol=6 / 280, atol=0)
    torch.testing.assert_close(drawn.std(0), std.expand(3), rtol=6 / 280, atol=0)
    assert (given.mean(0) - drawn.mean(0)).abs().max() < 6 * std * (2 / 40_000) ** 0.5
    pairs = torch.corrcoef(given.T.detach()) - torch.eye(3)
    assert pairs.abs().max() < 6 / 200  # units are independent


def test_the_posterior_starts_as_the_released_code_has_it() -> None:
    agent = make(VDQN, VDQNConfig, {}, [0])
    for layer, inputs in zip(agent.online.layers, (5, 9, 7), strict=True):
        bound = math.sqrt(3 / inputs)
        assert layer.mean.abs().max() <= bound
        assert layer.mean.abs().max() > 0.8 * bound
        assert not layer.bias_mean.any()
        stds = torch.nn.functional.softplus(layer.rho)
        torch.testing.assert_close(stds, torch.full_like(stds, 0.017), rtol=1e-4, atol=0)


def test_the_objective_is_the_evidence_bound_by_hand() -> None:
    agent = make(VDQN, VDQNConfig, {"likelihood_std": 0.3}, [5, 2])
    train(agent, [5, 2], 0, 40)
    batch = agent.replay.gather(torch.arange(6).expand(2, -1))
    batch["terminated"] = torch.tensor([True, False, False]).repeat(2, 2)
    given = agent.objective(batch).mean(-1)
    noise, target_noise = agent._learning.at(agent.clock).unbind(1)
    for lane in range(2):
        total = torch.zeros(())
        for b in range(6):
            q = forward(agent.online, lane, batch["obs"][lane, b], noise[lane, b])
            after = forward(agent.target, lane, batch["next_obs"][lane, b], target_noise[lane, b])
            keeps = 0.0 if batch["terminated"][lane, b] else 0.9
            d = batch["reward"][lane, b] + keeps * after.max()
            total = total + (d - q[batch["action"][lane, b]]) ** 2 / (2 * 0.3**2)
        for layer in agent.online.layers:
            for rho in (layer.rho[lane], layer.bias_rho[lane]):
                total = total - (1 + rho.exp()).log().log().sum()
        torch.testing.assert_close(given[lane], total, rtol=1e-4, atol=1e-3)


def forward(network: Any, lane: int, obs: Tensor, noise: Tensor) -> Tensor:
    x = obs
    for number, layer in enumerate(network.layers):
        width = layer.mean.shape[-1]
        own, noise = noise[:width], noise[width:]
        std, bias_std = (1 + layer.rho[lane].exp()).log(), (1 + layer.bias_rho[lane].exp()).log()
        mean = x @ layer.mean[lane] + layer.bias_mean[lane, 0]
        x = mean + ((x**2) @ std**2 + bias_std[0] ** 2).sqrt() * own
        x = x.relu() if number < len(network.layers) - 1 else x
    return x


def test_the_risk_measure_decides_over_the_draws() -> None:
    agent = make(VDQN, VDQNConfig, {"samples": 8, "risk": "cvar(0.25)", "posterior_std": 2.0}, [5])
    obs = torch.rand(1, 200, 5, generator=torch.Generator().manual_seed(0))
    values = agent.uncertainty(obs).value_samples
    assert values.shape == (1, 200, 3, 8)
    assert torch.equal(agent.policy(obs), CVaR(0.25).of_quantiles(values).argmax(-1))
    neutral = make(VDQN, VDQNConfig, {"samples": 8, "posterior_std": 2.0}, [5])
    assert torch.equal(neutral.policy(obs), values.mean(-1).argmax(-1))
    assert not torch.equal(agent.policy(obs), neutral.policy(obs))


def test_thompson_sampling_draws_anew_every_step() -> None:
    agent = make(VDQN, VDQNConfig, {"posterior_std": 2.0, "replay_start": 900}, [5])
    actions = torch.stack(train(agent, [5], 0, 40))
    assert len(actions.unique()) == 3


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (C51Config, {"v_min": 2.0, "v_max": 1.0}, "v_min < v_max"),
        (VDQNConfig, {"likelihood_std": 0.0}, "likelihood_std must be positive"),
        (VDQNConfig, {"samples": 1}, "at least 2 samples"),
        (VDQNConfig, {"risk": "cvarr"}, "Did you mean 'cvar'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    config: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UqbenchError, match=message):
        resolve(config, settings, where="x")


@pytest.mark.parametrize("risk", [None, "cvar(0.25)"])
def test_without_epsilon_vdqn_with_it_is_vdqn_bit_for_bit(risk: str | None) -> None:
    own = {"samples": 4, "risk": risk}
    never = {"epsilon_first": 0.0, "epsilon_last": 0.0}
    plain = make(VDQN, VDQNConfig, own, [5, 2])
    with_it = make(EpsilonVDQN, EpsilonVDQNConfig, own | never, [5, 2])
    expected = train(plain, [5, 2], 0, 80)
    assert torch.equal(torch.stack(train(with_it, [5, 2], 0, 80)), torch.stack(expected))


def test_epsilon_falls_and_its_actions_are_random_among_the_valid() -> None:
    own = {"epsilon_first": 1.0, "epsilon_last": 0.25, "epsilon_steps": 60}
    agent = make(EpsilonVDQN, EpsilonVDQNConfig, own, range(400))
    assert agent.epsilon == 1
    obs, valid = torch.zeros(400, 5), torch.tensor([True, False, True]).expand(400, 3)
    counts = torch.bincount(agent.act(obs, valid), minlength=3)
    assert counts[1] == 0
    # 400 fair draws: outside of 200 ± 60 with a probability below 3e-9
    assert abs(counts[0] - 200) < 60
    train(agent, list(range(400)), 0, 100)
    assert agent.epsilon == 0.25
    mixed = agent.sometimes_random(torch.zeros(400, dtype=torch.int64), None)
    # another action in 0.25 · 2/3 of 400: outside of 67 ± 45 with a probability below 2e-8
    assert abs((mixed != 0).sum() - 67) < 45
