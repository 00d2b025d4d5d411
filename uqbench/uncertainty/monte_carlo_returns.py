"""Realized returns: those of a policy's own episodes, where lanes cannot be copied."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.agent import Queried
from uqbench.contract.identity import Run
from uqbench.contract.seeding import derive_seed
from uqbench.contract.truth import Truth
from uqbench.lanes.random import generators
from uqbench.uncertainty.rollouts import Make, steps_between_looks

EACH = 8
"""States of an episode, drawn from all that it visits."""


class MonteCarloSource:
    """Visited states, and what became of them: one return of the action that was taken in each.

    Every state of an episode is as likely as any other to be among those that are asked about
    (reservoir sampling, Vitter 1985, algorithm R). Where neither the end of the episode nor
    ``γ^t < tail`` was seen, the return is not known.

    Args:
        runs: of the batch, one a lane.
        make: makes the task's environment, one lane a seed.
        discount: γ.
        states: M, states of a lane, rounded up to a multiple of eight.
        tail: what a reward counts that is not waited for.
        max_steps: of an episode.

    Attributes:
        name: stands before the names of the scores.
    """

    name = "realized/"
    counter = climatology = novel = None
    """None: the states are of episodes after training, whatever the policy visits then."""

    def __init__(
        self,
        runs: Sequence[Run],
        make: Make,
        discount: float,
        states: int,
        tail: float,
        max_steps: int,
    ) -> None:
        self._runs, self._make, self._discount = runs, make, discount
        self._episodes = -(-states // EACH)
        self._tail, self._max_steps = tail, max_steps
        self._truth: Truth | None = None

    def obs(self, agent: Queried, step: int) -> Tensor | None:
        """Observations of states that the agent's policy visits now.

        None for an agent that states nothing.
        """
        shape = (len(self._runs), self._episodes)
        numbers = range(self._episodes)
        env = self._make([
            derive_seed("realized", run.suite, run.task, run.seed, step, n)
            for run in self._runs
            for n in numbers
        ])  # fmt: skip
        obs, valid = env.reset()
        if agent.uncertainty(obs.unflatten(0, shape)[:, :1]) is None:
            return None
        lanes, device, stride = len(obs), obs.device, steps_between_looks(obs.device)
        draws = generators([run.environment_seed for run in self._runs], "realized", step)
        # one slot more: for the states that are not kept
        kept = torch.zeros(lanes, EACH + 1, *obs.shape[1:], dtype=obs.dtype, device=device)
        when = torch.full((lanes, EACH + 1), -1, device=device)
        taken = torch.zeros_like(when)
        rewards: list[Tensor] = []
        running = torch.ones(lanes, dtype=torch.bool, device=device)
        terminal, steps = torch.zeros_like(running), torch.zeros_like(when[0, 0])
        everyone = torch.arange(lanes, device=device)
        for t in range(self._max_steps):
            masks = None if valid is None else valid.unflatten(0, shape)
            action = agent.policy(obs.unflatten(0, shape), masks).flatten()
            drawn = torch.cat([_slots(one, t, self._episodes) for one in draws]).to(device)
            slot = drawn.clamp(max=EACH).where(running, EACH)
            kept[everyone, slot] = obs
            when[everyone, slot] = t
            taken[everyone, slot] = action
            steps += running.any()
            outcome = env.step(action)
            rewards.append(outcome.reward.double() * running)
            terminal |= running & outcome.terminated
            running &= ~(outcome.terminated | outcome.truncated)
            if (t + 1) % stride == 0 and not running.any():
                break
            obs, valid = outcome.obs, outcome.valid
        when, taken = when[:, :EACH].cpu(), taken[:, :EACH].cpu()
        returns = self._returns(torch.stack(rewards)[: int(steps)].cpu(), when, terminal.cpu())
        q = torch.full((lanes, EACH, env.n_actions), torch.nan, dtype=torch.float64)
        q.scatter_(2, taken[..., None], returns[..., None])
        self._truth = Truth.of_one_return(q.view(*shape[:1], -1, env.n_actions).to(device))
        return kept[:, :EACH].reshape(len(self._runs), self._episodes * EACH, *kept.shape[2:])

    def truth(self, agent: Queried, step: int) -> Truth:
        """Monte Carlo truth at the states that were visited last."""
        assert self._truth is not None
        return self._truth

    def _returns(self, rewards: Tensor, when: Tensor, terminal: Tensor) -> Tensor:
        """Discounted returns ``[lanes, EACH]`` from ``rewards`` ``[T, lanes]``; NaN: not known.

        Args:
            rewards: zero after an episode's end.
            when: steps of the kept states; −1 where there is none.
            terminal: whether the lane's episode reached a terminal state.
        """
        total = torch.zeros(rewards.shape[1], dtype=torch.float64)
        after = torch.zeros_like(rewards)
        for t in range(len(rewards) - 1, -1, -1):
            total = rewards[t] + self._discount * total
            after[t] = total
        returns = after.T.gather(1, when.clamp(min=0))
        short = self._discount ** (len(rewards) - when).double() < self._tail
        known = (when >= 0) & (terminal[:, None] | short)
        return returns.masked_fill(~known, torch.nan)


def _slots(generator: np.random.Generator, t: int, episodes: int) -> Tensor:
    """The slot of the state of step ``t`` in each episode's reservoir; from ``EACH`` on none."""
    if t < EACH:
        return torch.full((episodes,), t)
    return torch.from_numpy(generator.integers(t + 1, size=episodes))
