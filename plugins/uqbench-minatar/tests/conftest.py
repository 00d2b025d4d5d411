"""The ``minatar`` package's games, players who get far in them, and what happened to them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from minatar import Environment
from uqbench_minatar.agents.script import SCRIPTS

Events = Counter[str]
NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)


class Oracle:
    """A game of the package, seeded as uqbench's, that counts rare events."""

    def __init__(self, game: str, seed: int, sticky: float, ramping: bool) -> None:
        self.package = Environment(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
        self.package.seed(seed)
        self.package.reset()
        self.game = self.package.env
        self.events: Counter[str] = Counter()
        self._count = COUNT[game]
        self._player = FAR.get(game)
        self._script = SCRIPTS[game][1]

    def observation(self) -> Any:
        return self.package.state().transpose(2, 0, 1)

    def level(self) -> int:
        return self.game.difficulty_ramp() or 0

    def advice(self) -> int:
        """The action of one who gets far."""
        seen = torch.from_numpy(self.observation())
        return self._player(self.game) if self._player else int(self._script(seen))

    def act(self, action: int) -> tuple[float, bool]:
        before = dict(vars(self.game))
        reward, terminated = self.package.act(action)
        self._count(before, self.game, reward, terminated, self.events)
        return float(reward), bool(terminated)

    def stream(self) -> tuple[Any, int]:
        _, words, position, *_ = self.package.random.get_state()
        return words, position

    @staticmethod
    def follow(oracles: list["Oracle"], action: Any, out: Any) -> None:
        """Take the actions of lanes, and find what they gave, bit for bit."""
        expected = [one.act(a) for one, a in zip(oracles, action, strict=True)]
        assert list(zip(out.reward.tolist(), out.terminated.tolist(), strict=True)) == expected
        assert not out.truncated.any()
        final = np.array([one.observation() for one in oracles])
        assert out.next_obs.numpy().tobytes() == final.tobytes()
        for i in np.flatnonzero(out.terminated):
            oracles[i].package.reset()
            final[i] = oracles[i].observation()
        assert out.obs.numpy().tobytes() == final.tobytes()


@pytest.fixture
def oracle() -> type[Oracle]:
    return Oracle


# -- players --------------------------------------------------------------------------------------


def toward(x: int, target: int) -> int:
    return LEFT if target < x else RIGHT if target > x else NOTHING


def around(x: int, y: int, top: int) -> dict[int, tuple[int, int]]:
    """Where one is after each action but fire."""
    beside = {LEFT: (max(0, x - 1), y), RIGHT: (min(9, x + 1), y)}
    return {NOTHING: (x, y), **beside, UP: (x, max(top, y - 1)), DOWN: (x, min(8, y + 1))}


def play_seaquest(g: Any) -> int:
    """Fetch divers, avoid enemies, come up with six, or with one when there is little air; once
    there is free air, stay at the surface and dive for a moment, again and again.
    """
    x, y = g.sub_x, g.sub_y
    if g.diver_count < 0:
        return UP if y > 0 else DOWN
    if g.diver_count == 6 or (g.oxygen < 40 and g.diver_count > 0):
        goal = (x, 0)
    elif g.divers:
        goal = min(((d[0], d[1]) for d in g.divers), key=lambda d: abs(d[0] - x) + abs(d[1] - y))
    else:
        goal = (x, max(y, 1))
    others = [*g.e_fish, *g.e_subs]
    for o in others:
        if o[1] == y and abs(o[0] - x) <= 6 and g.shot_timer == 0 and (o[0] > x) == g.sub_or:
            return FIRE
    places = around(x, y, 0)

    def cost(place: tuple[int, int]) -> float:
        px, py = place
        far = abs(px - goal[0]) + abs(py - goal[1])
        if py == 0 and g.diver_count == 0 and y > 0:
            far += 1000
        for o in (*others, *g.e_bullets):
            if o[1] == py and abs(o[0] - px) <= 2:
                far += 50 / (1 + abs(o[0] - px))
        return far

    return min(places, key=lambda a: cost(places[a]))


def play_space_invaders(g: Any) -> int:
    """Leave the columns of bullets that are near, shoot where it will hit, go below aliens."""
    x, near = g.pos, g.e_bullet_map[5:9].any(0) | g.alien_map[8:].any(0)
    if near[x]:
        free = [to for to in (x - 1, x + 1) if 0 <= to <= 9 and not near[to]]
        return toward(x, free[0]) if free else LEFT
    if g.shot_timer == 0 and will_hit(g):
        return FIRE
    columns = np.flatnonzero(g.alien_map.any(0))
    goal = columns.max() if g.alien_dir > 0 else columns.min()  # the edge that comes down
    goal = min(9, max(0, goal + g.alien_dir))
    step = toward(x, goal)
    return NOTHING if near[x + {LEFT: -1, RIGHT: 1, NOTHING: 0}[step]] else step


def will_hit(g: Any) -> bool:
    aliens, direction, timer = g.alien_map, g.alien_dir, g.alien_move_timer
    interval = min(int(aliens.sum()), g.enemy_move_interval)
    for row in range(8, -1, -1):
        if timer == 0:
            timer = interval
            if aliens[:, 0 if direction < 0 else 9].any():
                direction, aliens = -direction, np.roll(aliens, 1, axis=0)
            else:
                aliens = np.roll(aliens, direction, axis=1)
        timer -= 1
        if aliens[row, g.pos]:
            return True
    return False


FAR: dict[str, Callable[[Any], int]] = {
    "seaquest": play_seaquest, "space_invaders": play_space_invaders}  # fmt: skip
"""Players who get farther than the scripts."""


# -- what happened --------------------------------------------------------------------------------


def count_asterix(before: Any, g: Any, reward: int, terminated: bool, events: Events) -> None:
    events["gold"] += reward > 0
    events["hit"] += terminated
    events["spawn without room"] += before["spawn_timer"] == 0 and all(before["entities"])
    events["fastest"] += g.spawn_speed == 1 and g.move_speed == 1


def count_breakout(before: Any, g: Any, reward: int, terminated: bool, events: Events) -> None:
    events["brick"] += reward
    events["missed"] += terminated
    events["last brick"] += reward > 0 and not g.brick_map.any()
    events["new wall"] += g.brick_map.sum() == 30 and events["new wall"] < events["last brick"]
    events["through bricks"] += before["strike"] and g.strike


def count_freeway(before: Any, g: Any, reward: int, terminated: bool, events: Events) -> None:
    events["crossed"] += reward
    events["run over"] += not reward and g.pos == 9 and before["pos"] < 8
    events["time is up"] += terminated


def count_seaquest(before: Any, g: Any, reward: int, terminated: bool, events: Events) -> None:
    surfaced = g.surface and not before["surface"]
    events["shot"] += 0 < reward < 3
    events["one diver less"] += surfaced and 0 <= g.diver_count < 6 and not terminated
    events["six divers"] += surfaced and g.diver_count == -1 and before["diver_count"] >= 5
    events["free air"] += surfaced and g.diver_count < -1
    events["no air"] += terminated and g.oxygen < 0
    events["no diver"] += terminated and g.sub_y == 0 and g.diver_count == 0
    events["enemy bullets"] += len(g.e_bullets) > 1
    events["fastest"] += g.e_spawn_speed == 1 and g.move_speed == 2
    events["crowd"] += len(g.e_fish) + len(g.e_subs) > 15


def count_space_invaders(before: Any, g: Any, reward: int, ended: bool, events: Events) -> None:
    events["shot"] += int(reward)
    events["new block"] += reward > 0 and g.alien_map.sum() == 24
    events["hit"] += ended and bool(g.e_bullet_map[9, g.pos])
    events["landed"] += ended and not g.e_bullet_map[9, g.pos]
    events["fastest"] += g.enemy_move_interval == 6


COUNT: dict[str, Callable[..., None]] = {
    "asterix": count_asterix, "breakout": count_breakout, "freeway": count_freeway,
    "seaquest": count_seaquest, "space_invaders": count_space_invaders}  # fmt: skip
