"""DQN with an ensemble of networks, each with a fixed random prior (Osband et al. 2018)."""

from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from uqbench_jax import replay
from uqbench_jax.agent import Functions, JaxAgent, greedy


class PriorEnsemble(Functions):
    """Q_k = f_k + β p_k of each head k (Algorithm 1): f is trained, p stays as it was drawn."""

    @property
    def network(self):
        """One of f and p: ``[B, *obs] -> [B, A]``."""
        dense = partial(nn.Dense, kernel_init=nn.initializers.he_uniform())
        hidden = [layer for width in self.config.hidden for layer in (dense(width), nn.relu)]
        return nn.Sequential([jax.vmap(jnp.ravel), *hidden, nn.Dense(self.info.n_actions)])

    def heads(self, f, prior, obs):
        """All Q_k: ``[B, *obs] -> [heads, B, A]``."""
        apply = jax.vmap(self.network.apply, (0, None))
        return apply(f, obs) + self.config.prior_scale * apply(prior, obs)

    def init(self, key):
        """The ensemble, its priors and an empty replay buffer."""
        c, keys = self.config, jax.random.split(key, 3)
        ring = replay.empty(c.replay_capacity, self.info, mask=((c.heads,), bool))
        draw = jax.vmap(self.network.init, (0, None))
        f, prior = (draw(jax.random.split(k, c.heads), ring["obs"][:1]) for k in keys[:2])
        head = jax.random.randint(keys[2], (self.info.actors,), 0, c.heads)
        adam = optax.adam(c.learning_rate).init(f)
        return {"f": f, "target": f, "prior": prior, "adam": adam, "head": head, "replay": ring}

    def act(self, state, key, obs, valid):
        """Greedy in the head that plays each actor's episode."""
        values = self.heads(state["f"], state["prior"], obs)
        return greedy(values[state["head"], jnp.arange(len(obs))], valid)

    def loss(self, f, target, prior, batch):
        """Huber loss of each head toward its own target, where its mask is one (Algorithm 2)."""
        after = self.heads(target, prior, batch["next_obs"])
        best = jnp.where(batch["next_valid"], after, -jnp.inf).max(-1)
        goal = batch["reward"] + self.info.discount * ~batch["terminated"] * best
        chosen = self.heads(f, prior, batch["obs"])[:, jnp.arange(len(goal[0])), batch["action"]]
        return (batch["mask"].T * optax.huber_loss(chosen, goal)).mean()

    def learn(self, state, key, step):
        """Store the step, take the gradient steps that are due, sync the target network."""
        c, actors, after = self.config, self.info.actors, step.t + self.info.actors
        of_head, of_mask, of_batch = jax.random.split(key, 3)
        head = jax.random.randint(of_head, (actors,), 0, c.heads)
        head = jnp.where(step.terminated | step.truncated, head, state["head"])
        mask = jax.random.bernoulli(of_mask, c.mask_probability, (actors, c.heads))
        ring = replay.add(state["replay"], **step._asdict() | {"mask": mask})

        most = -(-actors // c.learn_period)  # of a vector step
        batches = replay.sample(ring, of_batch, after, (most, c.batch_size))

        def gradient_step(i, learner):
            batch, (f, adam) = {name: x[i] for name, x in batches.items()}, learner
            gradient = jax.grad(self.loss)(f, state["target"], state["prior"], batch)
            updates, adam = optax.adam(c.learning_rate).update(gradient, adam)
            return optax.apply_updates(f, updates), adam

        count = c.gradient_steps(after) - c.gradient_steps(step.t)
        f, adam = jax.lax.fori_loop(0, count, gradient_step, (state["f"], state["adam"]))
        synced = after // c.target_sync_period > step.t // c.target_sync_period
        target = jax.lax.cond(synced, lambda: f, lambda: state["target"])
        return state | {"f": f, "target": target, "adam": adam, "head": head, "replay": ring}

    def q(self, state, obs):
        """The heads' mean."""
        return self.heads(state["f"], state["prior"], obs).mean(0)

    def uncertainty(self, state, obs):
        """The heads as a sample of the posterior of Q, and their variance, by K − 1."""
        samples = jnp.moveaxis(self.heads(state["f"], state["prior"], obs), 0, -1)
        mean, variance = samples.mean(-1), samples.var(-1, ddof=1)
        return {"mean": mean, "epistemic_var": variance, "value_samples": samples}


class RandomizedPriorDQN(JaxAgent):
    """Ensemble of Q-networks with fixed random priors, one of which plays an episode.

    Source: Osband et al. 2018, "Randomized prior functions for deep reinforcement learning"
    """

    functions = PriorEnsemble
