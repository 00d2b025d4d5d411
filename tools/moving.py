"""What moves on the site: beliefs while they are learned, and a game beside what its agent states.

    python tools/moving.py beliefs
    python tools/moving.py game results/minatar/quick/breakout/ua-dqn/0-…

The first trains one seed of each method that states an uncertainty on small worlds, keeps what it
believes in every state at some thirty moments beside the truth of its own policy, and writes
``docs/assets/beliefs.js``, which ``docs/ignorance.md`` shows. The second plays the agent of a run
that was made with ``--keep-agents``, and writes ``docs/pictures/game.gif``: what it states of the
return ahead, and what rollouts of its own policy from the same state come to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from uqbench_predictive.scores.registered import NORMAL_90
from uqbench_report.state_map import beliefs_at, map_beliefs, map_truth

from uqbench.api.agents import ExportedAgent, restore
from uqbench.boards.stored import StoredBoard
from uqbench.pages.methods import names_of
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.runner.batches import Batch, make_batch_groups
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites.selection import Selection
from uqbench.uncertainty.rollouts import rollout_returns

ROOT = Path(__file__).resolve().parents[1]
WORLDS = (
    ("deepsea", "deepsea-4", "DeepSea, N = 4", ("bql", "psrl", "ube", "mm")),
    ("deepsea", "deepsea-8", "DeepSea, N = 8", ("bql", "psrl", "ube", "mm")),
    ("deepsea", "deepsea-12", "DeepSea, N = 12", ("bql", "psrl", "ube", "mm")),
    ("windy-cliff", "cliff", "Windy cliff", ("ua-dqn-neutral", "ua-dqn-averse")),
)
"""Suite, task, title and methods; the budget is the board's, ``paper``."""
CPU = torch.device("cpu")
MOMENTS = 32
Data = dict[str, Any]


def beliefs(suite: str, task: str, title: str, methods: Sequence[str], most: int = 0) -> Data:
    """A world's states, and what each method states there at each moment, beside the truth.

    For each moment and state: the standard deviation of Q of the action that its own policy takes,
    how far the mean lies above the truth, and that action's number.

    Args:
        suite: of the task.
        task: its world, which has a map and an exact truth.
        title: of the world.
        methods: of the suite.
        most: steps to train for; 0 for the budget's.
    """
    host = load_host()
    plan = Selection(suite, "paper", tuple(methods), (task,), (0,)).plan(host, "cpu")
    every = [run for cell in plan.cells for run in cell.runs]
    board = StoredBoard.read(ROOT / "leaderboards" / suite / "paper")
    titles = {name: of["title"] for name, of in names_of(board, host)}
    world: Data = {"title": title, "methods": []}
    for (batch,) in make_batch_groups(plan, every, "cpu", 1):
        steps = min(batch.budget.steps, most or batch.budget.steps)
        moments = sorted({0, *np.geomspace(10, steps, MOMENTS).round().astype(int).tolist()})
        seen = []
        for exported in trained(batch, host, moments):
            states, stated = map_beliefs(exported)
            truth = map_truth(exported, states)
            greedy = stated["mean"].argmax(1)
            at = np.arange(len(greedy)), greedy
            above = stated["mean"][at] - truth["mean"][at]
            seen.append(
                [rounded(stated["epistemic"][at]), rounded(above), "".join(map(str, greedy))]
            )
        world |= {"steps": moments, "places": states.places.tolist(), "actions": states.actions}
        name = batch.cell.method.name
        world["methods"].append({"name": titles[name], "of": batch.cell.method.agent, "seen": seen})
    return world


def trained(batch: Batch, host: Host, moments: Sequence[int]) -> Iterator[ExportedAgent]:
    """The agent of a batch of one run, at each of some moments of its training."""
    task = TaskEnvironment(batch, host, CPU)
    env = task.training_lanes()
    agent = make_agent(batch, host, env, CPU)
    exported = ExportedAgent(batch.runs[0], agent, task, batch)
    recorder = Recorder(1, moments[-1], task.spec.events, CPU)
    if 0 in moments:
        yield exported
    for position in interact(agent, env, moments[-1], recorder):
        if position.step in moments:
            yield exported


def rounded(values: NDArray[np.float64]) -> list[float]:
    """Three decimals, or whole numbers where there are none."""
    return [round(value, 3) if value % 1 else int(value) for value in values.tolist()]


FRAMES, PER_SECOND, ROLLOUTS, CELL = 120, 10, 64, 20
COLORS = ("#58aee8", "#f3894f", "#4b5563", "#3cc79c", "#f0c35a", "#c98bdb", "#e8eaed")
PAPER, INK, BLUE, ORANGE = "#14171a", "#e8eaed", "#58aee8", "#f3894f"


def game(run: Path) -> None:
    """Write the picture of a game that moves."""
    from PIL import Image, ImageDraw, ImageFont

    folder = run.resolve()
    store = Store(folder.parents[4])
    exported = restore(store, folder.relative_to(store.root).as_posix(), load_host())
    played = list(_played(exported))
    most = max(max(m + NORMAL_90 * s, *true) for _, m, s, true in played) * 1.05
    font, small = (ImageFont.load_default(size) for size in (13, 11))
    images, left, wide, high = [], 10 * CELL + 16, 250, 10 * CELL + 16

    def at(k: int, value: float) -> tuple[float, float]:
        return left + 8 + k * (wide - 16) / FRAMES, high - 24 - value * (high - 60) / most

    for k, (obs, mean, sd, true) in enumerate(played):
        image = Image.new("RGB", (left + wide, high), PAPER)
        draw = ImageDraw.Draw(image)
        for channel, row, column in zip(*np.nonzero(obs), strict=True):
            x, y = 8 + int(column) * CELL, 8 + int(row) * CELL
            draw.rectangle((x, y, x + CELL - 2, y + CELL - 2), COLORS[int(channel)])
        for j, (_, m, s, returns) in enumerate(played[: k + 1]):
            x, low = at(j, max(m - NORMAL_90 * s, 0))
            draw.line((x, low, x, at(j, m + NORMAL_90 * s)[1]), BLUE if j == k else "#2b5d80", 2)
            x, y = at(j, float(true_mean(returns)))
            draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), ORANGE)
        inside = [  # as far as so many rollouts tell
            abs(m - true_mean(t)) <= NORMAL_90 * np.hypot(s, t.std(ddof=1) / len(t) ** 0.5)
            for _, m, s, t in played[: k + 1]
        ]
        draw.text((left + 8, 6), f"stated {mean:.2f} ± {NORMAL_90 * sd:.2f}", BLUE, font)
        draw.text((left + 8, 22), f"true {true_mean(true):.2f}", ORANGE, font)
        share = 100 * sum(inside) / len(inside)
        draw.text((left + 8, high - 18), f"true inside stated 90 %: {share:.0f} %", INK, small)
        images.append(image.quantize(32, dither=Image.Dither.NONE))
    path = ROOT / "docs" / "pictures" / "game.gif"
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=1000 // PER_SECOND, loop=0
    )
    print(path, path.stat().st_size)


def true_mean(returns: NDArray[np.float64]) -> float:
    """The mean return of some rollouts."""
    return float(returns.mean())


def _played(exported: ExportedAgent) -> Iterator[tuple[Any, float, float, NDArray[np.float64]]]:
    """Frame, stated mean and standard deviation of Q, and returns ``[R]`` of rollouts."""
    env, agent = exported.env([1]), exported.agent
    obs, _ = env.reset()
    place = torch.zeros(1, 1, dtype=torch.int64)
    for k in range(FRAMES):
        action = agent.policy(obs[None])
        stated = beliefs_at(exported, obs[None])
        n = env.n_actions
        seeds = [[1000 + k * ROLLOUTS * n + j for j in range(ROLLOUTS * n)]]
        discount = exported.task.discount
        returns = rollout_returns(agent, env, place, exported.env, seeds, discount, 0.02)
        own = int(action[0, 0])
        mean, sd = float(stated["mean"][0, own]), float(stated["epistemic"][0, own])
        yield obs[0].numpy().copy(), mean, sd, returns[0, 0, own].numpy()
        obs = env.step(action[0]).obs


def main() -> None:
    """Write what was asked for."""
    match sys.argv[1:]:
        case ["beliefs"]:
            worlds = [beliefs(*world) for world in WORLDS]
            path = ROOT / "docs" / "assets" / "beliefs.js"
            told = json.dumps(worlds, separators=(",", ":"), ensure_ascii=False)
            path.write_text(f"globalThis.uqBeliefs={told};\n", "utf-8")
            print(path, path.stat().st_size)
        case ["game", run]:
            game(Path(run))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
