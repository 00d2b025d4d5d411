"""Agents in JAX: lanes, memory, threads, checkpoints; the prior ensemble."""

import importlib.util
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

if importlib.util.find_spec("jax") is None:
    pytest.skip("needs jax: tox -e jax", allow_module_level=True)

import jax
import jax.numpy as jnp
from uqbench_jax import replay
from uqbench_jax.agent import SMALL, Functions, JaxAgent, by_lane, greedy
from uqbench_jax.config import RandomizedPriorConfig
from uqbench_jax.plugin import uqbench_expected_failures
from uqbench_jax.randomized_prior import RandomizedPriorDQN

from uqbench.testing.conformance.agent_runs import AgentSubject, through_a_file
from uqbench.testing.results import results
from uqbench.testing.worlds import RotatingPixels, transitions

CPU = torch.device("cpu")
CONFIG = RandomizedPriorConfig(
    heads=3, hidden=(8,), learning_starts=20, replay_capacity=60, target_sync_period=30,
    learning_rate=1e-2, batch_size=8, prior_scale=1.0)  # fmt: skip


def make(seeds, device):
    return RandomizedPriorDQN(RotatingPixels.info(), seeds, CONFIG, device)


SUBJECT = AgentSubject(
    name="jax-randomized-prior-dqn",
    factory=RandomizedPriorDQN,
    config=CONFIG,
    expected_failures=uqbench_expected_failures()["agent jax-randomized-prior-dqn"],
)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_conforms():
    made = results([SUBJECT])
    assert not [str(result) for result in made if not result.ok]
    passed = {result.check.id for result in made if result.status == "passed"}
    assert passed >= {"agent-lanes", "agent-checkpoint", "agent-buffers", "uncertainty-samples"}


class Keeper(Functions):
    """Keeps what it is given, twice, and a random key."""

    def init(self, key):
        last = jnp.zeros((1, 3))
        return {"last": last, "same": last, "key": key, "replay": jnp.zeros(4)}

    def act(self, state, key, obs, valid):
        return greedy(jax.random.uniform(key, valid.shape), valid)

    def learn(self, state, key, step):
        return state | {"last": step.obs, "same": step.obs, "key": key}

    def q(self, state, obs):
        return jnp.broadcast_to(state["last"].sum(), (len(obs), self.info.n_actions))


class Kept(JaxAgent):
    functions = Keeper


def kept(seeds=(1, 2), shape=(3,)):
    agent = Kept(replace(RotatingPixels.info(), n_actions=2), list(seeds), CONFIG, CPU)
    for step in transitions(seeds, shape, 2, 5):
        agent.observe(step)
        seen = step.obs.clone()
        step.obs.fill_(torch.nan)
    return agent, seen


@pytest.mark.parametrize("shape", [(3,), (SMALL // 4,)], ids=["copied", "shared"])
def test_a_state_has_memory_of_its_own(shape):
    agent, seen = kept(shape=shape)
    saved = agent.state_dict()["state"]
    assert torch.equal(saved["last"], seen)
    assert torch.equal(saved["same"], seen)


def test_random_keys_are_saved_and_an_export_lacks_the_replay_buffer():
    agent, seen = kept()
    state = through_a_file(agent.state_dict())
    other = Kept(agent.info, [1, 2], CONFIG, CPU)
    other.load_state_dict(state)
    assert torch.equal(other.state_dict()["state"]["key"], state["state"]["key"])
    exported = agent.exported_state()
    assert exported["state"].keys() == {"last", "same", "key"}
    fresh = Kept(agent.info, [1, 2], CONFIG, CPU)
    fresh.load_state_dict(exported)
    assert torch.equal(fresh.uncertainty(seen).mean, agent.uncertainty(seen).mean)


def test_lanes_of_large_tensors_are_shared_and_small_ones_are_numpy_views():
    large, small = torch.zeros(2, SMALL), torch.zeros(2, 3)
    assert by_lane(large)[1].unsafe_buffer_pointer() == large[1].data_ptr()
    assert by_lane(small)[1].ctypes.data == small[1].data_ptr()
    assert by_lane(torch.ones(1, 2, dtype=torch.int64))[0].dtype == np.int32


def test_another_device_is_an_error():
    with pytest.raises(ValueError, match="run on the CPU, got cuda"):
        Kept(RotatingPixels.info(), [1], CONFIG, torch.device("cuda"))


def test_it_computes_in_the_calling_thread():
    x = jnp.ones((512, 512))
    product = jax.jit(lambda x: x @ x @ x)
    product(x).block_until_ready()
    own, all_threads = time.thread_time(), time.process_time()
    for _ in range(20):
        product(x).block_until_ready()
    own, all_threads = time.thread_time() - own, time.process_time() - all_threads
    assert own > 0.9 * all_threads


def test_planning_imports_neither_jax_nor_torch():
    code = (
        "import sys; from uqbench.registry.plugins import Host; host = Host.load(); "
        "host.agents['jax-randomized-prior-dqn'].load_config(); "
        "print([name for name in ('jax', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_ring_keeps_the_latest_transitions_of_all_actors():
    info = replace(RotatingPixels.info(), actors=2, total_steps=100)
    ring = replay.empty(5, info, age=((), jnp.int32))
    for t in range(0, 10, 2):
        step = {name: jnp.zeros((2, *values.shape[1:])) for name, values in ring.items()}
        ring = replay.add(ring, jnp.array(t), **step | {"age": jnp.array([t, t + 1])})
    assert sorted(ring["age"].tolist()) == [6, 7, 8, 9]
    drawn = replay.sample(ring, jax.random.key(0), jnp.array(2), (50,))["age"]
    assert set(drawn.tolist()) == {8, 9}  # slots 0 and 1


def test_the_stated_variance_is_that_of_few_heads():
    stated = make([3, 5], CPU).uncertainty(
        torch.rand(2, 4, *RotatingPixels.info().observation_space.shape)
    )
    heads = stated.value_samples
    assert heads.shape == (2, 4, RotatingPixels.info().n_actions, 3)
    assert torch.allclose(stated.epistemic_var, heads.var(-1, correction=1), rtol=1e-4)
    assert torch.allclose(stated.mean, heads.mean(-1), rtol=1e-4, atol=1e-6)
