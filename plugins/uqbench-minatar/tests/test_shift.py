"""Play under shift: planted players whose signals are known to be worth something or nothing."""

import csv
import math
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from uqbench_minatar.config import N_ACTIONS, GameConfig
from uqbench_minatar.games import breakout, space_invaders
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.random import seeded
from uqbench_minatar.tools import shift
from uqbench_minatar.tools.shift import CHANGES, Games, Play, rows, script_of, seen_at

import uqbench
from uqbench.agent import Uncertainty

GAMES = Games("breakout", lanes=64, steps=90)


@dataclass(frozen=True)
class Planted:
    """Follows the ball, but not while no brick is seen; states what it is told to."""

    states: str = "bricks"

    def policy(self, obs: Tensor) -> Tensor:
        right = script_of("breakout").policy(obs)
        return torch.where(self.sees_bricks(obs), right, 0)

    def sees_bricks(self, obs: Tensor) -> Tensor:
        return obs[..., breakout.BRICK, :, :].flatten(-2).any(-1)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        if self.states == "nothing":
            return None
        var = torch.ones(*obs.shape[:2], N_ACTIONS)
        if self.states == "bricks":
            var = var + (~self.sees_bricks(obs))[..., None].float()
        return Uncertainty(mean=torch.zeros_like(var), epistemic_var=var)


class Scripted(Planted):
    """The script of the game that it states."""

    def policy(self, obs: Tensor) -> Tensor:
        return script_of(self.states).policy(obs)


def found(states: str) -> dict[tuple[str, str], dict[str, float]]:
    made = rows(Planted(states), GAMES)
    return {(str(row["change"]), str(row["signal"])): row for row in made}


def test_who_states_what_it_does_not_know_warns_and_wins_by_handing_over():
    of = found("bricks")
    hidden = of["hidden", "stated"]
    assert hidden["auroc"] > 0.99
    assert hidden["rise"] == 0 < hidden["fall"]
    assert hidden["life"] < 0.6 * hidden["as_trained"]
    assert hidden["script"] > 1.5 * hidden["life"]  # much to win
    assert hidden["handed"] == pytest.approx(1)
    assert hidden["worth"] == pytest.approx(hidden["script"] - hidden["life"])
    assert 0 < hidden["gain"] < hidden["worth"], "half of the other games change before"
    for name in ("none", "mirrored"):
        auroc, rise, worth = (of[name, "stated"][k] for k in ("auroc", "rise", "worth"))
        assert (auroc, worth) == (pytest.approx(0.5, abs=0.01), pytest.approx(0, abs=0.2))
        assert math.isnan(rise)


def test_a_constant_says_nothing_and_controls_are_rows_of_those_who_state_nothing():
    hidden = found("constant")["hidden", "stated"]
    assert hidden["auroc"] == 0.5
    assert {hidden[k] for k in ("gain", "worth", "handed")} == {0}
    assert math.isnan(hidden["rise"])
    assert {signal for _, signal in found("nothing")} == {"cells", "nearest"}


def test_a_clock_is_no_signal_though_the_script_plays_better_when_it_plays_on():
    """Steps counted: the last tenth of every game is given, as in any other game."""

    class Counting(Planted):
        steps: ClassVar[list[int]] = []

        def uncertainty(self, obs: Tensor) -> Uncertainty:
            self.steps.append(0)
            var = torch.full((*obs.shape[:2], N_ACTIONS), 1 + len(self.steps) % 90 / 90)
            return Uncertainty(mean=torch.zeros_like(var), epistemic_var=var)

    for row in rows(Counting(), Games("breakout", lanes=16, steps=90)):
        if row["signal"] == "stated":
            assert (row["auroc"], row["gain"]) == (0.5, 0)
            assert math.isnan(row["rise"])


@pytest.mark.parametrize("game", ["asterix", "breakout", "space_invaders"])
@pytest.mark.parametrize("name", CHANGES)
def test_until_it_changes_a_game_is_its_twin_to_the_last_bit(game, name):
    games = Games(game, lanes=8, steps=60)
    signals = {"cells": lambda obs, _: obs.flatten(1).sum(-1)}
    twin, own = (games.play(Scripted(game), CHANGES[k], signals, 0) for k in ("none", name))
    before = torch.arange(60)[:, None] < games.onsets
    assert 20 <= games.onsets.min() < games.onsets.max() < 40
    for one, other in ((own.rewards, twin.rewards), (own.ended, twin.ended)):
        assert one[before].equal(other[before])
    same = own.signals["cells"] == twin.signals["cells"]
    assert same[before].all()
    seen = name in ("hidden", "sped-up") or (name, game) == ("mirrored", "space_invaders")
    assert same.all() == (not seen)


def test_a_game_that_is_sped_up_makes_two_steps_of_each_and_the_others_one():
    both, alone = (MinAtarLanes(GameConfig(game="asterix"), [3, 4]) for _ in range(2))
    both.reset()
    alone.reset()
    changed, twice = torch.tensor([True, False]), CHANGES["sped-up"]
    for action in np.random.default_rng(0).integers(N_ACTIONS, size=60).tolist():
        reward, _ = twice.step(both, torch.full((2,), action), changed)
        once = alone.step(torch.full((2,), action)).reward.clone()
        held = alone.arrays.states[1].clone(), alone.arrays.streams[1].clone()
        again = alone.step(torch.full((2,), action)).reward.clone()
        alone.arrays.states[1], alone.arrays.streams[1] = held
        assert reward.tolist() == [once[0] + again[0], once[1]]
        assert both.arrays.states.equal(alone.arrays.states)


def test_a_life_ends_with_the_game_that_runs_at_the_change():
    games = Games("breakout", lanes=2, steps=9)
    start, rewards = games.onsets, torch.ones(9, 2, dtype=torch.float64)
    ended = torch.zeros(9, 2, dtype=torch.bool)
    ended[start[0] - 1, 0] = ended[start[1] + 1, 1] = True
    life = games.life(Play(rewards, ended, {}, ended))
    assert life.tolist() == [[1, 1], [1, 1], [1, 0]]


def test_what_most_games_show_is_seen_when_they_do():
    """Eleven of 64 games have a mean of 3.6 standard errors, ten of 3.4."""
    more = torch.zeros(5, 64, dtype=torch.float64)
    more[1, :10], more[3, :11] = 1, 1
    assert seen_at(more) == 3
    assert all(map(math.isnan, (seen_at(more[:3]), seen_at(-more))))


def test_kept_agents_have_rows(tmp_path, monkeypatch, capsys):
    out = str(tmp_path)
    given = {"methods": ["ube-dqn"], "tasks": ["breakout"], "workers": 1, "progress": False}
    uqbench.run("minatar", "smoke", **given, keep_agents=True, out=out)
    monkeypatch.setattr(sys, "argv", ["shift", out, "--lanes", "4", "--steps", "3"])
    capsys.readouterr()
    shift.main()
    made = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    rows_of = {("breakout", "ube-dqn", "0", name, "stated") for name in CHANGES}
    assert {tuple(r.values())[:5] for r in made} >= rows_of


def test_what_is_seen_in_a_mirror_is_the_picture_of_the_mirrored_state():
    """Aliens that go left go right there, in the channel that says so."""
    state, stream = np.zeros(space_invaders.SIZE, np.int32), seeded(0)
    space_invaders.reset(state, stream)
    for action in np.random.default_rng(0).integers(N_ACTIONS, size=300):
        if space_invaders.step(state, stream, int(action), True)[1]:
            space_invaders.reset(state, stream)
        other = state.copy()
        other[space_invaders.X], other[space_invaders.DIRECTION] = 9 - state[0], -state[1]
        for row in range(space_invaders.ALIENS, space_invaders.SIZE):
            other[row] = int(f"{int(state[row]):010b}"[::-1], 2)
        obs = torch.from_numpy(picture(space_invaders, state)).bool()[None]
        seen = CHANGES["mirrored"].seen(obs, "space_invaders")[0]
        assert (seen.numpy() == picture(space_invaders, other)).all()


def picture(game, state):
    obs = np.zeros(game.CHANNELS * 100, np.uint8)
    game.draw(state, obs)
    return obs.reshape(game.CHANNELS, 10, 10)
