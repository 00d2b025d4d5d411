"""HighwayLanes is the package in every lane: episodes, limits, events, queries, copies."""

import subprocess
import sys
from functools import partial
from typing import Any

import kernels
import numpy as np
import pytest
import torch
from copied import check_copied_lanes
from torch import Tensor
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.environment import make
from uqbench_highway.lanes import HighwayLanes
from uqbench_highway.oracle import Highway
from uqbench_highway.plugin import uqbench_environments
from uqbench_highway.queries import query_states

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import LaneEnv, TimeLimit
from uqbench.errors import UqbenchError
from uqbench.queries import visit
from uqbench.specs import imported
from uqbench.testing.conformance.environments import EnvironmentSubject
from uqbench.testing.results import results

CPU = torch.device("cpu")
SEEDS = [0, 1, 2**32 + 5, 12345]
FEW = {"lanes_count": 3, "vehicles_count": 4, "simulation_frequency": 5}  # for the package's sake


def lanes(seeds: list[int] = SEEDS, limit: TimeLimit | None = None, **config: Any) -> LaneEnv:
    return make(HighwayConfig(**config), seeds, limit, CPU)


def actions(steps: int) -> Tensor:
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.integers(N_ACTIONS, size=(steps, len(SEEDS))))


RULES = [("lanes", "environment-", 8), ("oracle", "environment-state", 1)]


@pytest.mark.parametrize(("backend", "rules", "passed"), RULES)
def test_both_backends_keep_the_rules_of_environments(backend, rules, passed):
    """The package is slow: its rule is that before which most others are tried."""
    config = HighwayConfig(backend=backend, **({} if backend == "lanes" else FEW))
    subject = EnvironmentSubject(
        name=backend, make=lambda seeds, limit: make(config, seeds, limit, CPU),
        single=partial(Highway, config) if backend == "oracle" else None,
        limit=TimeLimit(9, "truncation"), events=("crashes",))  # fmt: skip
    found = results([subject], rules)
    assert [str(one) for one in found if not one.ok] == []
    assert sum(one.status == "passed" for one in found) == passed


@pytest.mark.parametrize("kind", ["terminal", "truncation"])
def test_lanes_are_those_of_the_oracle(kind):
    """Over many episodes a lane, with the random numbers of the first."""
    limit = TimeLimit(4, kind)
    env, oracle = lanes(limit=limit, **FEW), lanes(limit=limit, **FEW, backend="oracle")
    assert isinstance(env, HighwayLanes)
    assert isinstance(oracle, GymnasiumLanes)
    assert (env.n_actions, env.observation_space) == (N_ACTIONS, oracle.observation_space)
    torch.testing.assert_close(env.reset()[0], oracle.reset()[0], rtol=0, atol=1.2e-7)
    crashes = limits = 0
    for action in actions(18):
        out, expected = env.step(action), oracle.step(action)
        kernels.assert_close(out, expected)
        crashes += int(out.events["crashes"].sum())
        limits += int(((out.terminated | out.truncated) & (out.events["crashes"] == 0)).sum())
    assert crashes > 2
    assert limits > 2


@pytest.mark.parametrize("invalid", [-1, 5, 2**32])
def test_an_invalid_action_is_refused_as_by_the_oracle(invalid):
    messages = []
    for backend in ("lanes", "oracle"):
        env = lanes(**FEW, backend=backend)
        env.reset()
        with pytest.raises(UqbenchError) as error:
            env.step(torch.tensor([0, 3, invalid, 1]))
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_leaving_the_road_ends_an_episode_where_it_is_to():
    """Pushed off it by hand; the reward is 0 there, and no crash is counted."""
    for terminal in (True, False):
        env = lanes([0], offroad_terminal=terminal, vehicles_count=0)
        env.reset()
        state = env.state_dict()
        state["motion"][0, 1, 0] = 30.0
        env.load_state_dict(state)
        out = env.step(torch.tensor([1]))
        assert (out.reward.item(), out.terminated.item()) == (0.0, terminal)
        assert out.events["crashes"].item() == 0


@pytest.mark.parametrize("backend", ["lanes", "oracle"])
def test_a_negative_seed_is_refused(backend):
    with pytest.raises(Exception, match=r"[Ss]eed"):
        lanes([-1], backend=backend).reset()


def test_registering_and_configuring_import_no_simulation():
    modules = ", ".join(f"uqbench_highway.{name}" for name in ("plugin", "config", "environment"))
    command = f"import sys, {modules}; print({{'numba', 'highway_env'}} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", command]) == b"set()\n"


LIMIT = TimeLimit(40, "terminal")


@pytest.fixture(scope="module")
def seen():
    """The states, and what is observed in them."""
    states = query_states(HighwayConfig())
    env = HighwayLanes(HighwayConfig(), states.seeds, LIMIT)
    obs = torch.zeros(256, *env.observation_space.shape)
    for numbers, _, there in visit(states, env):
        obs[numbers] = there
    return states, obs


def test_a_copied_road_goes_on_as_its_original_and_begins_anew_with_its_own_random_numbers():
    check_copied_lanes(
        lambda seeds: HighwayLanes(HighwayConfig(), seeds, LIMIT),
        lambda env: env.state_dict()["motion"], [t % N_ACTIONS for t in range(40)])  # fmt: skip


def test_the_query_states_are_many_different_ones_of_32_trajectories(seen):
    states, obs = seen
    assert len(states.places) == len(set(states.places)) == 256
    assert {i for i, _ in states.first(32).places} == set(range(32))
    assert len(obs.unique(dim=0)) > 240


def test_unseen_traffic_has_the_norm_of_the_seen_and_no_car_of_one_s_own(seen):
    states, obs = seen
    unseen = states.unseen(obs)
    assert (obs[:, 0] == 1).all()
    assert (unseen[:, 0] == -1).all()
    assert torch.equal(unseen.norm(dim=-1), obs.norm(dim=-1))


def test_the_package_s_backend_has_no_query_states():
    (spec,) = uqbench_environments()
    states = imported(spec.queries)
    assert states(HighwayConfig(backend="oracle")) is None
    assert states(HighwayConfig()) is not None
