"""Beliefs while they are learned, as the site shows them.

    python tools/moving.py

trains one seed of each method that states an uncertainty on small worlds, keeps its beliefs in
every state at some thirty moments beside the truth of its own policy, and writes
``docs/assets/beliefs.js``, which ``docs/ignorance.md`` shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from uqbench_record.agents import ExportedAgent
from uqbench_report.state_map import map_beliefs, map_truth

from uqbench.boards.stored import StoredBoard
from uqbench.pages.methods import names_of
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch, make_batch_groups
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites.selection import Selection

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
    titles = {name: of["title"] for name, of in names_of(board, host, plan.suite)}
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
    env = task.lanes(task.training_seeds)
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


def main() -> None:
    """Write the beliefs."""
    worlds = [beliefs(*world) for world in WORLDS]
    path = ROOT / "docs" / "assets" / "beliefs.js"
    told = json.dumps(worlds, separators=(",", ":"), ensure_ascii=False)
    path.write_text(f"globalThis.uqBeliefs={told};\n", "utf-8")
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
