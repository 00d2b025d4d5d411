"""DQN and QR-DQN in JAX on the common work, fully jitted: gymnax, replay, acting and updates.

Seeds are vmapped, and so are the K copies of the game of each, ``[seeds, K, …]``. All that happens
in a step is inside one ``lax.scan``; its carry, replay included, is donated, so that nothing is
copied. Written to be as fast as plain JAX gets on a CPU.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import gymnax
import jax
import jax.numpy as jnp
import optax
from jax import Array, lax
from measure import seconds
from work import (
    ACTIONS,
    ADAM_EPSILON,
    BATCH,
    CHANNELS,
    DISCOUNT,
    EPSILON,
    HIDDEN,
    KERNEL,
    LEARNING_RATE,
    LEARNING_STARTS,
    QUANTILES,
    REPLAY_CAPACITY,
    TARGET_SYNC_PERIOD,
    WARM_UP,
)

Params = dict[str, Array]
ENV, ENV_PARAMS = gymnax.make("Breakout-MinAtar", use_minimal_action_set=False)
SIDE = 10 - KERNEL + 1
RESET = jax.vmap(jax.vmap(ENV.reset, (0, None)), (0, None))
STEP = jax.vmap(jax.vmap(ENV.step, (0, 0, 0, None)), (0, 0, 0, None))
ADAM = optax.adam(LEARNING_RATE, eps=ADAM_EPSILON)
LEVELS = (jnp.arange(QUANTILES) + 0.5) / QUANTILES


class Carry(NamedTuple):
    """All seeds' state; every array but ``t`` and Adam's count has the seeds first."""

    t: Array
    key: Array
    env: Any
    obs: Array
    online: Params
    target: Params
    adam: Any
    replay: dict[str, Array]


def init_network(key: Array, outputs: int) -> Params:
    """Weights of one seed."""
    keys = jax.random.split(key, 3)
    he = jax.nn.initializers.he_uniform()
    flat = SIDE * SIDE * CHANNELS
    return {
        "conv": he(keys[0], (KERNEL * KERNEL * 4, CHANNELS)),
        "conv_b": jnp.zeros(CHANNELS),
        "hidden": he(keys[1], (flat, HIDDEN)),
        "hidden_b": jnp.zeros(HIDDEN),
        "last": he(keys[2], (HIDDEN, ACTIONS * outputs)),
        "last_b": jnp.zeros(ACTIONS * outputs),
    }


def forward(params: Params, obs: Array) -> Array:
    """``[B, 10, 10, C] bool -> [B, A, outputs]``.

    The convolution is a product of patches: vmapped over seeds a convolution becomes a grouped
    one, which XLA executes slowly on a CPU.
    """
    windows = [obs[:, i : i + SIDE, j : j + SIDE] for i in range(KERNEL) for j in range(KERNEL)]
    patches = jnp.concatenate(windows, -1).astype(jnp.float32).reshape(-1, KERNEL * KERNEL * 4)
    x = jax.nn.relu(patches @ params["conv"] + params["conv_b"]).reshape(len(obs), -1)
    x = jax.nn.relu(x @ params["hidden"] + params["hidden_b"])
    return (x @ params["last"] + params["last_b"]).reshape(len(obs), ACTIONS, -1)


def loss(online: Params, target: Params, batch: dict[str, Array]) -> Array:
    """Mean over the batch; one output is DQN (Huber), several QR-DQN (κ = 0)."""
    following = forward(target, batch["next_obs"])
    best = following.mean(-1).argmax(-1)
    rows = jnp.arange(len(best))
    continues = DISCOUNT * ~batch["terminated"]
    goal = batch["reward"][:, None] + continues[:, None] * following[rows, best]
    goal = lax.stop_gradient(goal)
    chosen = forward(online, batch["obs"])[rows, batch["action"]]
    if chosen.shape[-1] == 1:
        return optax.huber_loss(chosen, goal).mean()
    below = jax.nn.relu(chosen[:, :, None] - goal[:, None, :]).mean(-1)
    return (LEVELS * (goal.mean(-1, keepdims=True) - chosen) + below).sum(-1).mean()


def step(carry: Carry, learn: bool, batch_size: int) -> Carry:
    """A step of all copies of the game and one update, of every seed."""
    copies = carry.obs.shape[:2]
    slots = REPLAY_CAPACITY // copies[1]
    key, *keys = jax.random.split(carry.key, 5)
    values = jax.vmap(forward)(carry.online, carry.obs).mean(-1)
    explore = jax.random.uniform(keys[0], copies) < EPSILON
    random_action = jax.random.randint(keys[1], copies, 0, ACTIONS)
    action = jnp.where(explore, random_action, values.argmax(-1))
    obs, env, reward, terminated, _, info = STEP(
        jax.random.split(keys[2], copies), carry.env, action, ENV_PARAMS
    )
    obs = obs.astype(bool)
    slot = carry.t % slots
    new = {
        "obs": carry.obs,
        "next_obs": info["final_observation"].astype(bool),
        "action": action.astype(jnp.int8),
        "reward": reward,
        "terminated": terminated,
    }
    online, target, adam = carry.online, carry.target, carry.adam
    if learn:
        filled = jnp.minimum(carry.t, slots) * copies[1]
        index = jax.random.randint(keys[3], (copies[0], batch_size), 0, filled)
        batch = {
            name: jax.vmap(lambda of, at: of.reshape(-1, *of.shape[2:])[at])(ring, index)
            for name, ring in carry.replay.items()
        }
        gradient = jax.vmap(jax.grad(loss))(online, target, batch)
        # let the writing wait for the last reading: else XLA copies the whole replay every step
        slot += (gradient["conv"].min() > 1e30).astype(slot.dtype)
        updates, adam = ADAM.update(gradient, adam)
        online = optax.apply_updates(online, updates)
        sync = carry.t % TARGET_SYNC_PERIOD == 0
        target = lax.cond(sync, lambda: online, lambda: target)
    replay = {
        name: lax.dynamic_update_index_in_dim(ring, new[name][:, None], slot, 1)
        for name, ring in carry.replay.items()
    }
    return Carry(carry.t + 1, key, env, obs, online, target, adam, replay)


@partial(jax.jit, static_argnames=("steps", "learn", "batch_size"), donate_argnums=0)
def advance(carry: Carry, steps: int, learn: bool, batch_size: int) -> Carry:
    """Many steps."""
    return lax.scan(lambda c, _: (step(c, learn, batch_size), None), carry, length=steps)[0]


def start(method: str, seeds: int, seed: int, actors: int) -> Carry:
    """The state before the first step."""
    key, *keys = jax.random.split(jax.random.key(seed), 3)
    outputs = QUANTILES if method == "qr-dqn" else 1
    online = jax.vmap(partial(init_network, outputs=outputs))(jax.random.split(keys[0], seeds))
    obs, env = RESET(jax.random.split(keys[1], (seeds, actors)), ENV_PARAMS)
    ring = seeds, REPLAY_CAPACITY // actors, actors
    return Carry(
        t=jnp.array(0),
        key=key,
        env=env,
        obs=obs.astype(bool),
        online=online,
        target=jax.tree.map(jnp.copy, online),
        adam=ADAM.init(online),
        replay={
            "obs": jnp.zeros((*ring, 10, 10, 4), bool),
            "next_obs": jnp.zeros((*ring, 10, 10, 4), bool),
            "action": jnp.zeros(ring, jnp.int8),
            "reward": jnp.zeros(ring),
            "terminated": jnp.zeros(ring, bool),
        },
    )


def measure(
    method: str, seeds: int, steps: int, seed: int, actors: int = 1, batch_size: int = BATCH,
    warm_up: int = WARM_UP,
) -> float:  # fmt: skip
    """Gradient steps per second of all seeds together, compilation not counted."""
    carry = start(method, seeds, seed, actors)
    carry = advance(carry, LEARNING_STARTS, learn=False, batch_size=batch_size)
    train = advance.lower(carry, steps=steps, learn=True, batch_size=batch_size).compile()
    carry = jax.block_until_ready(advance(carry, warm_up, learn=True, batch_size=batch_size))
    began = seconds()
    carry = jax.block_until_ready(train(carry))
    return seeds * steps / (seconds() - began)
