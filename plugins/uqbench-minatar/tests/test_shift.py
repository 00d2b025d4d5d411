"""Play under shift: planted players whose signals are known to be worth something or nothing."""

import csv
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from uqbench_minatar.config import N_ACTIONS
from uqbench_minatar.games import asterix, breakout, space_invaders
from uqbench_minatar.random import seeded
from uqbench_minatar.tools import shift
from uqbench_minatar.tools.shift import CONDITIONS, SWAPPED, Games, lead, rows, script_of

import uqbench
from uqbench.agent import Uncertainty

GAMES = Games("breakout", lanes=64, steps=80)


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


def found(states: str) -> dict[tuple[str, str], dict[str, float]]:
    made = rows(Planted(states), GAMES)
    return {(str(row["condition"]), str(row["signal"])): row for row in made}


def test_who_states_what_it_does_not_know_is_detected_and_hands_over():
    of = found("bricks")
    hidden = of["hidden", "stated"]
    assert hidden["auroc"] > 0.99
    assert hidden["reward"] < 0.6 * hidden["as_trained"]
    assert hidden["script"] > 1.5 * hidden["reward"]  # much to win
    assert hidden["handed"] == pytest.approx(1)
    assert hidden["gain"] == 0, "in another game as often: it is always the script, too"
    half = (hidden["script"] - hidden["reward"]) / 4  # half of the games, and half of the others'
    assert hidden["warned"] == pytest.approx(half, rel=0.3)
    assert hidden["worth"] == pytest.approx(hidden["script"] - hidden["reward"])
    for name in ("as-trained", "mirrored"):  # it is the script, and mirrored it is as good
        assert of[name, "stated"]["auroc"] == pytest.approx(0.5, abs=0.01)
        assert of[name, "stated"]["reward"] == of[name, "stated"]["script"]
        assert of[name, "stated"]["gain"] == pytest.approx(0, abs=0.01)


def test_a_constant_says_nothing_and_controls_are_rows_of_those_who_state_nothing():
    hidden = found("constant")["hidden", "stated"]
    assert hidden["auroc"] == 0.5
    assert {hidden[k] for k in ("gain", "warned", "worth", "handed")} == {0}
    assert {signal for _, signal in found("nothing")} == {"cells", "nearest"}


def test_who_knows_its_weak_spots_wins_by_handing_over_there_and_not_by_controls():
    """It loses the ball in the last row but one, and states it, the more the farther right.

    Other games' balls come down at the same steps, so that handing over there wins some of it, too.
    """

    class Weak(Planted):
        def weak(self, obs: Tensor) -> Tensor:
            return (obs[..., breakout.BALL, 8, :] * torch.arange(1, 11)).sum(-1)

        def policy(self, obs: Tensor) -> Tensor:
            right = script_of("breakout").policy(obs)
            return torch.where(self.weak(obs) > 0, 4 - right, right)

        def uncertainty(self, obs: Tensor) -> Uncertainty:
            var = 1 + self.weak(obs)[..., None].float().expand(*obs.shape[:2], N_ACTIONS)
            return Uncertainty(mean=torch.zeros_like(var), epistemic_var=var)

    made = {row["signal"]: row for row in rows(Weak(), GAMES) if row["condition"] == "as-trained"}
    assert made["stated"]["reward"] < 0.7 * made["stated"]["script"]
    assert made["stated"]["gain"] > 0.01
    assert made["stated"]["worth"] > 0.02
    assert max(made[name]["gain"] for name in ("cells", "nearest")) < 0.01


def test_the_time_is_no_signal_though_the_script_plays_best_when_it_plays_on():
    """Steps counted: the last tenth of every game is given, as in any other game."""

    class Counting(Planted):
        steps: ClassVar[list[int]] = []

        def uncertainty(self, obs: Tensor) -> Uncertainty:
            self.steps.append(0)
            var = torch.full((*obs.shape[:2], N_ACTIONS), 1 + len(self.steps) % 40 / 40)
            return Uncertainty(mean=torch.zeros_like(var), epistemic_var=var)

    for row in rows(Counting(), Games("breakout", lanes=16, steps=40)):
        if row["signal"] == "stated":
            assert row["auroc"] == pytest.approx(0.5)
            assert row["handed"] == pytest.approx(0.1)
            assert (row["gain"], row["warned"]) == (0, 0)


def test_a_signal_that_is_always_on_leads_by_how_late_losses_are():
    """Losses from step 10 of 20 on: their shares are (t - 9)/10, and t/20 are those of alarms."""
    zeros = torch.zeros(20, 10, dtype=torch.float64)
    on, late = zeros + 1, zeros.clone()
    late[10:] = 1
    assert lead(on, zeros, -late, zeros) == pytest.approx(0.525 - 0.275)
    assert lead(on, zeros, -on, zeros) == pytest.approx(0)


def test_a_mirrored_game_is_the_game_in_a_mirror():
    """A player that goes left there goes right in the game: the paddle seen ends at the left."""

    class Left(Planted):
        def policy(self, obs: Tensor) -> Tensor:
            return torch.full(obs.shape[:2], 1)

    made = Games("breakout", lanes=3, steps=5).play(Left(), CONDITIONS["mirrored"], {}, 0)
    paddle = made.observations[:, breakout.PADDLE].any(-2)
    assert paddle[:, :2].any(-1).all()
    assert SWAPPED.tolist() == [0, 3, 2, 1, 4, 5]


def test_kept_agents_have_rows(tmp_path, monkeypatch, capsys):
    out = str(tmp_path)
    given = {"methods": ["ube-dqn"], "tasks": ["breakout"], "workers": 1, "progress": False}
    uqbench.run("minatar", "smoke", **given, keep_agents=True, out=out)
    monkeypatch.setattr(sys, "argv", ["shift", out, "--lanes", "4", "--steps", "3"])
    capsys.readouterr()
    shift.main()
    made = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["condition"] for row in made} == {*CONDITIONS}
    assert {row["signal"] for row in made} == {"stated", "cells", "nearest"}
    assert {(r["game"], r["method"], r["seed"]) for r in made} == {("breakout", "ube-dqn", "0")}


def test_alarms_before_losses_lead_and_after_them_lag():
    """Ten lanes, twenty steps: alarms from step 5 on and losses from 10 on, and the other way."""
    zeros = torch.zeros(20, 10, dtype=torch.float64)
    early, late = zeros.clone(), zeros.clone()
    early[5:], late[10:] = 1, 1
    early[-1] += torch.arange(10) * 1e-3  # no two lanes alike
    late[-1] += torch.arange(10) * 1e-3
    # Shares of a step t: (t - 5)/15 and (t - 10)/10; their means over 20 steps are .4 and .275.
    assert lead(early, zeros, -late, zeros) == pytest.approx(0.4 - 0.275, abs=2e-3)
    assert lead(late, zeros, -early, zeros) == pytest.approx(0.275 - 0.4, abs=2e-3)
    assert lead(zeros, zeros, -late, zeros) != lead(zeros, zeros, -late, zeros)  # NaN: no alarm


def test_a_life_costs_nothing_and_gold_out_of_sight_leaves_a_trail():
    """Rewards a step rise without bullets in sight, though the script dies ten times as often."""
    won, died = {}, {}
    for name in ("as-trained", "hidden"):
        env = CONDITIONS[name].lanes("space_invaders", 32, 0)
        obs, _ = env.reset()
        won[name] = died[name] = 0.0
        for _ in range(200):
            seen = CONDITIONS[name].seen(obs, "space_invaders")
            outcome = env.step(script_of("space_invaders").policy(seen[None])[0])
            won[name] += float(outcome.reward.sum())
            died[name] += float(outcome.terminated.sum())
            obs = outcome.obs
    assert won["hidden"] > 1.5 * won["as-trained"]
    assert died["hidden"] > 10 * died["as-trained"]
    game = CONDITIONS["hidden"].lanes("asterix", 32, 0)
    obs, _ = game.reset()
    gold = trails = 0.0
    for _ in range(100):
        seen = CONDITIONS["hidden"].seen(obs, "asterix")
        has = obs[:, asterix.GOLD].any(-1)
        gold += float(has.sum())
        trails += float((has & seen[:, asterix.TRAIL].any(-1)).sum())
        obs = game.step(torch.zeros(32, dtype=torch.int64)).obs
    assert trails > 0.9 * gold > 0


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
        seen = CONDITIONS["mirrored"].seen(obs, "space_invaders")[0]
        assert (seen.numpy() == picture(space_invaders, other)).all()


@pytest.mark.parametrize("game", [breakout, asterix])
def test_two_games_are_the_same_in_a_mirror(game):
    """A step of the mirrored state by the swapped action is the mirror of the step: no change."""
    draws = np.random.default_rng(0)
    for _ in range(500):
        state = drawn_state(game, draws)
        other, action = in_a_mirror(game, state), int(draws.integers(N_ACTIONS))
        stream, same = seeded(0), seeded(0)
        ends = game.step(state, stream, action, True)
        assert ends == game.step(other, same, int(SWAPPED[action]), True)
        assert (other == in_a_mirror(game, state)).all()
        assert (picture(game, other) == picture(game, state)[..., ::-1]).all()


def drawn_state(game, draws):
    """Any state, without a spawn, which takes both sides alike."""
    state = np.zeros(game.SIZE, np.int32)
    if game is breakout:
        state[[breakout.POSITION, breakout.X, breakout.LAST_X]] = draws.integers(10, size=3)
        state[[breakout.Y, breakout.LAST_Y]] = draws.integers(9, size=2)
        state[[breakout.DX, breakout.DY]] = draws.choice([-1, 1], 2)
        state[breakout.STRIKE], state[breakout.BRICKS] = draws.integers(2), draws.integers(2**30)
        return state
    state[asterix.X], state[asterix.Y] = draws.integers(10), draws.integers(1, 9)
    state[[asterix.SPAWN_SPEED, asterix.SPAWN_TIMER]] = draws.integers(1, 11, 2)
    state[asterix.MOVE_SPEED], state[asterix.MOVE_TIMER] = draws.integers(1, 6), draws.integers(6)
    kinds = [asterix.EMPTY, asterix.ENEMY, asterix.GOLD]
    for first, of in ((asterix.KINDS, kinds), (asterix.COLUMNS, 10), (asterix.DIRECTIONS, [-1, 1])):
        state[first : first + asterix.SLOTS] = draws.choice(of, asterix.SLOTS)
    return state


def in_a_mirror(game, state):
    other = state.copy()
    if game is breakout:
        columns = [breakout.POSITION, breakout.X, breakout.LAST_X]
        bricks = f"{int(state[breakout.BRICKS]):030b}"
        rows_of = [bricks[k : k + 10][::-1] for k in (0, 10, 20)]
        other[breakout.BRICKS], other[breakout.DX] = int("".join(rows_of), 2), -state[breakout.DX]
    else:
        columns = [asterix.X, *range(asterix.COLUMNS, asterix.DIRECTIONS)]
        other[asterix.DIRECTIONS :] *= -1
    other[columns] = 9 - state[columns]
    return other


def picture(game, state):
    obs = np.zeros(game.CHANNELS * 100, np.uint8)
    game.draw(state, obs)
    return obs.reshape(game.CHANNELS, 10, 10)
