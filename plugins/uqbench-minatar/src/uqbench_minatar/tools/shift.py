"""Trained agents in games that are not theirs: does what they state rise, and is it worth heeding?

    uqbench run --suite minatar --methods ua-dqn,ube-dqn --keep-agents --out results
    python -m uqbench_minatar.tools.shift results > shift.csv

Every kept agent plays its game as it was trained, with sticky actions of .25, without ramping,
mirrored, and with one class of objects out of sight; never learning. Signals are the epistemic
standard deviation of the action taken and two controls that know no method: the number of cells
set, and the distance to the nearest of 500 observations of play as trained. A row is an agent, a
condition and a signal:

- ``auroc``: of the signal, steps in the condition against steps as trained, at the same times;
- ``lead``: where signals rise and rewards of the first life fall, the area between the cumulated
  shares of both over the play; ``always``: that of a signal that is always on. A game is changed
  from its first step, so that the first is early only beside the second;
- ``gain``: reward a step of a player that hands over to the script where the signal exceeds its
  90 % quantile as trained, less that of one who does so where it exceeds it in *another game* of
  the condition: it tells which steps to give, and 0 is who gives all since he knows of the change;
- ``warned``: the same, over as many games as trained as changed, the other one being any of both:
  above 0 where a signal tells the change, and the script is better there;
- ``worth``: reward a step of that player, less that of the agent alone;
- ``reward``, ``as_trained``, ``script``: rewards a step of the agent here, of the agent as trained,
  of the script here; ``handed``: the share of steps that the script played. The next game begins
  at once, so that a life costs nothing;
- ``life``, ``life_as_trained``: rewards of a game until its first end.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

import uqbench
from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.uncertainty.epistemic import auroc
from uqbench_minatar.agents.config import ScriptConfig
from uqbench_minatar.agents.script import Script
from uqbench_minatar.config import N_ACTIONS, GameConfig
from uqbench_minatar.games import asterix, breakout, freeway, space_invaders
from uqbench_minatar.games.board import LEFT, RIGHT
from uqbench_minatar.games.seaquest import state as seaquest
from uqbench_minatar.lanes import MinAtarLanes

CPU = torch.device("cpu")
SEED = 30_000
"""The first environment seed of play; no board and no search has it."""
REFERENCES, QUANTILE, LEAST = 500, 0.9, 3.0
"""Observations that distances are to; where the signal hands over; standard errors of a change."""
HIDDEN = {
    "asterix": asterix.GOLD,
    "breakout": breakout.BRICK,
    "freeway": freeway.CAR,
    "seaquest": seaquest.ENEMY_FISH,
    "space_invaders": space_invaders.ENEMY_BULLET,
}
"""The channel of the objects that go out of sight."""
EXCHANGED = {"space_invaders": (space_invaders.ALIEN_LEFT, space_invaders.ALIEN_RIGHT)}
"""Channels that tell left from right: a mirror exchanges them."""
SWAPPED = torch.arange(N_ACTIONS).index_put(
    (torch.tensor([LEFT, RIGHT]),), torch.tensor([RIGHT, LEFT])
)


class Player(Protocol):
    """What plays: its policy, and what it states, at ``[1, M, C, 10, 10]``."""

    def policy(self, obs: Tensor) -> Tensor:
        """Actions ``[1, M]``."""

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Uncertainty of shape ``[1, M, A]``."""


@dataclass(frozen=True)
class Condition:
    """How a game differs from that of training: its config, and what is seen of it."""

    sticky_action_prob: float = 0.1
    difficulty_ramping: bool = True
    mirrored: bool = False
    hides: bool = False

    def lanes(self, game: str, lanes: int, first_seed: int) -> MinAtarLanes:
        """The game, of so many lanes."""
        own = GameConfig(
            game=game,
            sticky_action_prob=self.sticky_action_prob,
            difficulty_ramping=self.difficulty_ramping,
        )
        return MinAtarLanes(own, range(first_seed, first_seed + lanes))

    def seen(self, obs: Tensor, game: str) -> Tensor:
        """What players see of ``[M, C, 10, 10]``."""
        obs = obs.flip(-1) if self.mirrored else obs.clone()
        if self.mirrored and game in EXCHANGED:
            one, other = EXCHANGED[game]
            obs[:, [one, other]] = obs[:, [other, one]]
        if self.hides:
            obs[:, HIDDEN[game]] = False
        return obs


CONDITIONS = {
    "as-trained": Condition(),
    "sticky-.25": Condition(sticky_action_prob=0.25),
    "no-ramp": Condition(difficulty_ramping=False),
    "mirrored": Condition(mirrored=True),
    "hidden": Condition(hides=True),
}
Signal = Callable[[Tensor, Tensor], Tensor | None]
"""A signal of observations ``[M, C, 10, 10]`` and actions ``[M]``.

Its shape is ``[M]``; None where none is stated.
"""
HandsOver = Callable[[Tensor, Tensor], Tensor]
"""A signal of the same, where the script plays instead, ``[M]``."""


@dataclass(frozen=True)
class Play:
    """T steps of M lanes.

    Attributes:
        rewards: ``[T, M]``.
        of_first_life: those until the game's first end, ``[T, M]``.
        signals: by name, ``[T, M]``.
        over: where the script played, bool ``[T, M]``.
        observations: of the last step, ``[M, C, 10, 10]``.
    """

    rewards: Tensor
    of_first_life: Tensor
    signals: Mapping[str, Tensor]
    over: Tensor
    observations: Tensor

    @property
    def reward(self) -> float:
        """The mean of a step."""
        return float(self.rewards.mean())

    @property
    def life(self) -> float:
        """The mean of a first life."""
        return float(self.of_first_life.sum(0).mean())


@dataclass(frozen=True)
class Games:
    """T steps of M games side by side, of one kind."""

    game: str
    lanes: int
    steps: int

    def play(
        self,
        player: Player,
        condition: Condition,
        signals: Mapping[str, Signal],
        first_seed: int,
        hands_over: HandsOver | None = None,
        *,
        steps: int | None = None,
    ) -> Play:
        """Play them, with the signals at each step; or only some steps of them."""
        env = condition.lanes(self.game, self.lanes, first_seed)
        script = script_of(self.game)
        obs, _ = env.reset()
        found: dict[str, list[Tensor]] = {name: [] for name in signals}
        alive = torch.ones(self.lanes, dtype=torch.float64)
        rewards, of_first_life, overs = [], [], []
        for _ in range(steps or self.steps):
            seen = condition.seen(obs, self.game)
            action = player.policy(seen[None])[0]
            for name, signal in signals.items():
                if (stated := signal(seen, action)) is not None:
                    found[name].append(stated.double())
            over = torch.zeros(self.lanes, dtype=torch.bool)
            if hands_over is not None:
                over = hands_over(seen, action)
                action = torch.where(over, script.policy(seen[None])[0], action)
            overs.append(over)
            outcome = env.step(SWAPPED[action] if condition.mirrored else action)
            rewards.append(outcome.reward.double())
            of_first_life.append(rewards[-1] * alive)
            alive = alive * ~outcome.terminated
            obs = outcome.obs
        stated_ones = {name: torch.stack(of) for name, of in found.items() if of}
        seen = condition.seen(obs, self.game)
        played = torch.stack(rewards), torch.stack(of_first_life)
        return Play(*played, stated_ones, torch.stack(overs), seen)

    def references(self, player: Player) -> Tensor:
        """Observations of play as trained, one a game, at ever later steps."""
        trained, rounds = CONDITIONS["as-trained"], -(-REFERENCES // self.lanes)
        seen = [
            self.play(player, trained, {}, SEED + 10_000, steps=(k + 1) * self.steps // rounds)
            for k in range(rounds)
        ]
        return torch.cat([one.observations for one in seen])[:REFERENCES]


def script_of(game: str) -> Script:
    """The game's script."""
    space = CONDITIONS["as-trained"].lanes(game, 1, 0).observation_space
    info = EnvironmentInfo(space, N_ACTIONS, 1.0, total_steps=1)
    return Script(info, [0], ScriptConfig(game=game), CPU)


def signals_of(player: Player, references: Tensor) -> dict[str, Signal]:
    """What the player states, and the controls, by name."""
    known = references.flatten(1).float()

    def stated(obs: Tensor, action: Tensor) -> Tensor | None:
        own = player.uncertainty(obs[None])
        if own is None or own.epistemic_var is None:
            return None
        return own.epistemic_var[0].gather(-1, action[:, None])[:, 0].clamp(min=0).sqrt()

    def cells(obs: Tensor, _: Tensor) -> Tensor:
        return obs.flatten(1).sum(-1).double()

    def nearest(obs: Tensor, _: Tensor) -> Tensor:
        here = obs.flatten(1).float()
        apart = here.sum(-1)[:, None] + known.sum(-1) - 2 * here @ known.T
        return apart.amin(-1)

    return {"stated": stated, "cells": cells, "nearest": nearest}


def above(signal: Signal, limit: Tensor) -> HandsOver:
    """Where a signal is above its limit."""

    def over(obs: Tensor, action: Tensor) -> Tensor:
        value = signal(obs, action)
        assert value is not None
        return value.double() > limit

    return over


def as_in(over: Tensor) -> HandsOver:
    """At the steps of ``[T, M]``, whatever is seen."""
    steps = iter(over)
    return lambda _obs, _action: next(steps)


def lead(signal: Tensor, usual: Tensor, rewards: Tensor, usual_rewards: Tensor) -> float:
    """The area between cumulated shares of alarms and of lost rewards, all ``[T, M]``.

    NaN where either total is within three standard errors of lanes of none.
    """
    limit = usual.quantile(QUANTILE)
    alarms = (signal > limit).double() - (usual > limit).double()
    losses = usual_rewards - rewards
    shares = []
    for change in (alarms, losses):
        total, error = change.sum(0).mean(), change.sum(0).std() / math.sqrt(change.shape[1])
        if not total > LEAST * error:
            return math.nan
        shares.append(change.mean(1).cumsum(0) / total)
    return float((shares[0] - shares[1]).mean())


def rows(player: Player, games: Games, seed: int = 0) -> Iterator[dict[str, float | str]]:
    """The rows of a trained player in its game; ``seed`` is of which games are the others."""
    signals = signals_of(player, games.references(player))
    trained = CONDITIONS["as-trained"]
    usual = games.play(player, trained, signals, SEED)
    first = SEED + games.lanes  # other games than those that limits are of
    heeds = {k: above(signals[k], of.quantile(QUANTILE)) for k, of in usual.signals.items()}
    unchanged = {k: games.play(player, trained, {}, first, heeds[k]) for k in heeds}
    shuffled = torch.randperm(2 * games.lanes, generator=torch.Generator().manual_seed(seed))

    def rewarded(condition: Condition, over: Tensor) -> float:
        return games.play(player, condition, {}, first, as_in(over)).reward

    for name, condition in CONDITIONS.items():
        own = games.play(player, condition, signals, first)
        by_script = rewarded(condition, torch.ones_like(own.over))
        fallen = own.of_first_life, usual.of_first_life
        on = torch.ones_like(own.rewards)
        for signal, values in usual.signals.items():
            heeded = games.play(player, condition, {}, first, heeds[signal])
            both = torch.cat([unchanged[signal].over, heeded.over], 1)[:, shuffled]
            others = [
                rewarded(trained, both[:, : games.lanes]),
                rewarded(condition, both[:, games.lanes :]),
            ]
            yield {
                "condition": name,
                "signal": signal,
                "auroc": auroc(own.signals[signal].flatten(), values.flatten()),
                "lead": lead(own.signals[signal], values, *fallen),
                "always": lead(on, 0 * on, *fallen),
                "gain": heeded.reward - rewarded(condition, heeded.over.roll(1, 1)),
                "warned": (unchanged[signal].reward + heeded.reward - sum(others)) / 2,
                "worth": heeded.reward - own.reward,
                "handed": float(heeded.over.double().mean()),
                "reward": own.reward,
                "as_trained": usual.reward,
                "script": by_script,
                "life": own.life,
                "life_as_trained": usual.life,
            }


def main() -> None:
    """Print the rows of all kept agents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    results = uqbench.load(given.results)
    writer = None
    for run in results.runs.itertuples():
        kept = results.agent(run.run)
        about = {"game": run.task, "method": run.method, "seed": run.seed}
        with torch.no_grad():
            game = kept.run.identity["task"]["config"]["game"]
            for row in rows(kept.agent, Games(game, given.lanes, given.steps), int(run.seed)):
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, [*about, *row], lineterminator="\n")
                    writer.writeheader()
                digits = {k: v if isinstance(v, str) else f"{v:.6g}" for k, v in row.items()}
                writer.writerow(about | digits)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
