"""Trained agents whose game changes while they play: does what they state rise, and is it worth it?

    uqbench run --suite minatar --methods ua-dqn,ube-dqn --keep-agents --out results
    python -m uqbench_minatar.tools.shift results > shift.csv

Every kept agent plays games that change at a step of their own, drawn from the middle third of
the play: they are seen in a mirror (actions are exchanged, too), one class of objects goes out of
sight, or the game makes two steps of each. It never learns. Beside each game is its *twin*, the
same game without a change, equal to the last bit before it. Signals are the epistemic standard
deviation of the action taken and two controls that know no method: the number of cells set, and
the distance to the nearest of 500 observations of play as trained. An alarm is a signal above its
90 % quantile as trained. A row is an agent, a change and a signal:

- ``auroc``: of the signal, steps since the change against the twin's at the same times;
- ``rise``: the first step after the change at which alarms are seen to be more than the twin's;
  ``fall``: that at which the life that runs at the change is seen to have won less than the
  twin's; both over all games, and NaN where they never are. A signal warns where it rises first;
- ``life``: what that life wins from the change on, within a third of the play; ``as_trained``:
  the twin's; ``script``: the agent's whose script takes over at the change, which it does not know;
- ``worth``: ``life`` of a player who hands over to the script at every alarm, less the agent's;
- ``gain``: the same less that of a player who hands over at *another game's* alarms: 0 for whom
  the change does not set off, as for a constant or a clock; ``handed``: the share of these steps.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
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
REFERENCES, QUANTILE, LEAST = 500, 0.9, 3.5
"""Observations that distances are to; of an alarm; standard errors of games that a change is seen.

One of a hundred steps is that far off by chance in at most 3 of 100 curves.
"""
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
class Change:
    """What becomes of a game: it is seen otherwise, or makes two steps of each."""

    mirrored: bool = False
    hides: bool = False
    twice: bool = False

    def seen(self, obs: Tensor, game: str) -> Tensor:
        """What players see of ``[M, C, 10, 10]``."""
        obs = obs.flip(-1) if self.mirrored else obs.clone()
        if self.mirrored and game in EXCHANGED:
            one, other = EXCHANGED[game]
            obs[:, [one, other]] = obs[:, [other, one]]
        if self.hides:
            obs[:, HIDDEN[game]] = False
        return obs

    def step(self, env: MinAtarLanes, action: Tensor, changed: Tensor) -> tuple[Tensor, Tensor]:
        """Rewards and ends, ``[M]``, of a step of games of which some have changed."""
        action = torch.where(changed, SWAPPED[action], action) if self.mirrored else action
        outcome = env.step(action)
        reward, ended = outcome.reward.double(), outcome.terminated.clone()
        if self.twice:
            arrays = [getattr(env.arrays, name).numpy() for name in env.state]
            before, once = [of.copy() for of in arrays], ~changed.numpy()
            outcome = env.step(action)
            reward += outcome.reward.double() * changed
            ended |= outcome.terminated & changed
            for of, was in zip(arrays, before, strict=True):
                of[once] = was[once]
        return reward, ended


CHANGES = {
    "none": Change(),
    "mirrored": Change(mirrored=True),
    "hidden": Change(hides=True),
    "sped-up": Change(twice=True),
}
Signal = Callable[[Tensor, Tensor], Tensor | None]
"""A signal of observations ``[M, C, 10, 10]`` and actions ``[M]``.

Its shape is ``[M]``; None where none is stated.
"""
HandsOver = Callable[[Tensor, Tensor], Tensor]
"""A signal of the same, where the script plays instead, ``[M]``."""


@dataclass(frozen=True)
class Play:
    """T steps of M games.

    Attributes:
        rewards: ``[T, M]``.
        ended: where a game ended, and the next began, ``[T, M]``.
        signals: by name, ``[T, M]``.
        over: where the script played, bool ``[T, M]``.
    """

    rewards: Tensor
    ended: Tensor
    signals: Mapping[str, Tensor]
    over: Tensor


@dataclass(frozen=True)
class Games:
    """T steps of M games side by side, of one kind, that change in the middle third."""

    game: str
    lanes: int
    steps: int

    @cached_property
    def onsets(self) -> Tensor:
        """The first step of each game that is changed, ``[M]``."""
        generator = torch.Generator().manual_seed(SEED)
        third = self.steps // 3
        return torch.randint(third, 2 * third, (self.lanes,), generator=generator)

    def play(
        self,
        player: Player,
        change: Change,
        signals: Mapping[str, Signal],
        first_seed: int,
        hands_over: HandsOver | None = None,
    ) -> Play:
        """Play them, with the signals at each step."""
        config = GameConfig(game=self.game, sticky_action_prob=0.1, difficulty_ramping=True)
        env = MinAtarLanes(config, range(first_seed, first_seed + self.lanes))
        script = script_of(self.game)
        obs, _ = env.reset()
        found: dict[str, list[Tensor]] = {name: [] for name in signals}
        played, overs = [], []
        for step in range(self.steps):
            changed = step >= self.onsets
            seen = torch.where(changed[:, None, None, None], change.seen(obs, self.game), obs)
            action = player.policy(seen[None])[0]
            for name, signal in signals.items():
                if (stated := signal(seen, action)) is not None:
                    found[name].append(stated)
            over = torch.zeros(self.lanes, dtype=torch.bool)
            if hands_over is not None:
                over = hands_over(seen, action)
                action = torch.where(over, script.policy(seen[None])[0], action)
            overs.append(over)
            played.append(change.step(env, action, changed))
        rewards, ended = map(torch.stack, zip(*played, strict=True))
        stated_ones = {name: torch.stack(of) for name, of in found.items() if of}
        return Play(rewards, ended, stated_ones, torch.stack(overs))

    def since(self, values: Tensor) -> Tensor:
        """Values ``[T, M]`` of as many steps since each game's change, ``[T // 3, M]``."""
        return values.gather(0, torch.arange(self.steps // 3)[:, None] + self.onsets)

    def life(self, play: Play) -> Tensor:
        """Rewards since the change of the life that runs then, ``[T // 3, M]``."""
        ends = self.since(play.ended).double().cumsum(0)
        return self.since(play.rewards) * (ends - self.since(play.ended).double() == 0)

    def references(self, player: Player) -> Tensor:
        """Observations of play as trained."""
        seen = self.play(player, CHANGES["none"], {"seen": lambda obs, _: obs}, SEED + 10_000)
        drawn = torch.Generator().manual_seed(SEED)
        every = seen.signals["seen"].flatten(0, 1)
        return every[torch.randperm(len(every), generator=drawn)[:REFERENCES]]


def script_of(game: str) -> Script:
    """The game's script."""
    space = MinAtarLanes(GameConfig(game=game), [0]).observation_space
    info = EnvironmentInfo(space, N_ACTIONS, 1.0, total_steps=1)
    return Script(info, [0], ScriptConfig(game=game), CPU)


def signals_of(player: Player, references: Tensor) -> dict[str, Signal]:
    """What the player states, and the controls, by name."""
    known = references.flatten(1).float()

    def stated(obs: Tensor, action: Tensor) -> Tensor | None:
        own = player.uncertainty(obs[None])
        if own is None or own.epistemic_var is None:
            return None
        var = own.epistemic_var[0].gather(-1, action[:, None])[:, 0]
        return var.clamp(min=0).sqrt().double()

    def cells(obs: Tensor, _: Tensor) -> Tensor:
        return obs.flatten(1).sum(-1).double()

    def nearest(obs: Tensor, _: Tensor) -> Tensor:
        here = obs.flatten(1).float()
        apart = here.sum(-1)[:, None] + known.sum(-1) - 2 * here @ known.T
        return apart.amin(-1).double()

    return {"stated": stated, "cells": cells, "nearest": nearest}


def above(signal: Signal, limit: Tensor) -> HandsOver:
    """Where a signal is above its limit."""

    def over(obs: Tensor, action: Tensor) -> Tensor:
        value = signal(obs, action)
        assert value is not None
        return value > limit

    return over


def as_in(over: Tensor) -> HandsOver:
    """At the steps of ``[T, M]``, whatever is seen."""
    steps = iter(over)
    return lambda _obs, _action: next(steps)


def seen_at(more: Tensor) -> float:
    """The first step at which values ``[T, M]`` are seen to be above zero; NaN where never."""
    error = more.std(1) / math.sqrt(more.shape[1])
    steps = (more.mean(1) > LEAST * error).nonzero()
    return float(steps[0]) if len(steps) else math.nan


def rows(player: Player, games: Games) -> Iterator[dict[str, float | str]]:
    """The rows of a trained player in its game."""
    signals = signals_of(player, games.references(player))
    usual = games.play(player, CHANGES["none"], signals, SEED)
    limits = {name: values.quantile(QUANTILE) for name, values in usual.signals.items()}
    first = SEED + games.lanes  # other games than those that limits are of
    twin = games.play(player, CHANGES["none"], signals, first)
    since_change = torch.arange(games.steps)[:, None] >= games.onsets

    def won(change: Change, hands_over: HandsOver) -> tuple[float, Tensor]:
        play = games.play(player, change, {}, first, hands_over)
        return float(games.life(play).sum(0).mean()), play.over

    for name, change in CHANGES.items():
        own = games.play(player, change, signals, first)
        life, as_trained = games.life(own), games.life(twin)
        script, _ = won(change, as_in(since_change))
        for signal, limit in limits.items():
            here, there = (games.since(of.signals[signal]) for of in (own, twin))
            heeded, over = won(change, above(signals[signal], limit))
            others, _ = won(change, as_in(over.roll(1, 1)))
            yield {
                "change": name,
                "signal": signal,
                "auroc": auroc(here.flatten(), there.flatten()),
                "rise": seen_at((here > limit).double() - (there > limit).double()),
                "fall": seen_at((as_trained - life).cumsum(0)),
                "life": float(life.sum(0).mean()),
                "as_trained": float(as_trained.sum(0).mean()),
                "script": script,
                "worth": heeded - float(life.sum(0).mean()),
                "gain": heeded - others,
                "handed": float(games.since(over).double().mean()),
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
            for row in rows(kept.agent, Games(game, given.lanes, given.steps)):
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, [*about, *row], lineterminator="\n")
                    writer.writeheader()
                digits = {k: v if isinstance(v, str) else f"{v:.6g}" for k, v in row.items()}
                writer.writerow(about | digits)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
