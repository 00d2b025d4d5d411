"""How fast QR-DQN trains on one core, beside sb3-contrib's QRDQN on the same work.

MinAtar Breakout, one gradient step per environment step; README.md says what is equal and what
differs. Every measurement is a fresh process with one thread; the two take turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

# The work, the same for both.
GAME = "breakout"
BATCH = 32
QUANTILES = 50
CHANNELS, KERNEL, HIDDEN = 16, 3, 128
LEARNING_RATE, ADAM_EPSILON = 1e-4, 1e-8
DISCOUNT = 0.99
REPLAY = 100_000
TARGET_PERIOD = 1_000
EPSILON = 0.03  # from the first gradient step on: nearly every step asks the network for an action
PLANNED_STEPS = 5_000_000  # what the agents are told, so that they set up what a full run needs

LEARNING_STARTS = 64
WARM_UP = 200  # steps with a gradient step that come before the clock starts

PEER = "sb3-contrib"
OURS = {"uqbench, 1 lane": 1, "uqbench, 5 lanes": 5}
ORDER = ("uqbench, 1 lane", PEER, "uqbench, 5 lanes")  # the peer runs next to either of ours
PACKAGES = ("torch", "numpy", "gymnasium", "minatar", "uqbench", "stable-baselines3", "sb3-contrib")
NEEDED = {
    "sb3_contrib": "-r benchmarks/requirements.txt",
    "uqbench_dqn": "plugins/uqbench-dqn",
    "uqbench_minatar": "plugins/uqbench-minatar",
}


class Clock:
    """Times a number of steps, after the start of learning and a warm-up."""

    def __init__(self, steps: int) -> None:
        self.first = LEARNING_STARTS + WARM_UP
        self.last = self.first + steps
        self._began = self._ended = 0.0

    def tick(self, taken: int) -> None:
        """Call with the number of steps taken, after each."""
        if taken == self.first:
            self._began = time.perf_counter()
        elif taken == self.last:
            self._ended = time.perf_counter()

    @property
    def steps_per_second(self) -> float:
        return (self.last - self.first) / (self._ended - self._began)


def measure_ours(lanes: int, steps: int, seed: int) -> float:
    """Environment steps per second of all lanes together."""
    import torch
    from uqbench_dqn.config import QRDQNConfig
    from uqbench_dqn.qr_dqn import QRDQN
    from uqbench_minatar.game import Game
    from uqbench_minatar.options import GameOptions

    from uqbench.agent import EnvSpec
    from uqbench.environment import GymnasiumLanes
    from uqbench.runner.loop import interact
    from uqbench.runner.recorder import Recorder

    torch.set_num_threads(1)
    device = torch.device("cpu")
    clock = Clock(steps)
    seeds = range(seed * lanes, (seed + 1) * lanes)
    env = GymnasiumLanes(lambda: Game(GameOptions(game=GAME)), seeds)
    spec = EnvSpec(
        observation=env.observation_space,
        n_actions=env.n_actions,
        discount=DISCOUNT,
        total_steps=PLANNED_STEPS,
    )
    config = QRDQNConfig(
        learning_rate=LEARNING_RATE,
        adam_epsilon=ADAM_EPSILON,
        batch_size=BATCH,
        replay_capacity=REPLAY,
        replay_start=LEARNING_STARTS,
        target_period=TARGET_PERIOD,
        epsilon_last=EPSILON,
        epsilon_steps=1,
        channels=CHANNELS,
        kernel=KERNEL,
        hidden=(HIDDEN,),
        quantiles=QUANTILES,
    )
    agent = QRDQN(spec, seeds, config, device)
    recorder = Recorder(lanes, clock.last, (), device)
    for taken, _ in interact(agent, env, clock.last, recorder):
        clock.tick(taken)
    return lanes * clock.steps_per_second


def measure_peer(steps: int, seed: int) -> float:
    """Environment steps per second of sb3-contrib's QRDQN."""
    import torch
    from sb3_contrib import QRDQN
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn
    from uqbench_minatar.game import Game
    from uqbench_minatar.options import GameOptions

    torch.set_num_threads(1)
    clock = Clock(steps)

    class Tick(BaseCallback):
        def _on_step(self) -> bool:
            clock.tick(self.num_timesteps)
            return True

    class Features(BaseFeaturesExtractor):
        def __init__(self, observation_space: Any) -> None:
            super().__init__(observation_space, HIDDEN)
            depth, height, width = observation_space.shape
            flat = CHANNELS * (height - KERNEL + 1) * (width - KERNEL + 1)
            self.layers = nn.Sequential(
                nn.Conv2d(depth, CHANNELS, KERNEL),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(flat, HIDDEN),
                nn.ReLU(),
            )

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            return self.layers(observations)

    model = QRDQN(
        "CnnPolicy",
        Game(GameOptions(game=GAME)),
        learning_rate=LEARNING_RATE,
        buffer_size=REPLAY,
        learning_starts=LEARNING_STARTS,
        batch_size=BATCH,
        gamma=DISCOUNT,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=TARGET_PERIOD,
        exploration_initial_eps=EPSILON,
        exploration_final_eps=EPSILON,
        policy_kwargs={
            "n_quantiles": QUANTILES,
            "net_arch": [],
            "features_extractor_class": Features,
            "normalize_images": False,
            "optimizer_class": torch.optim.Adam,
            "optimizer_kwargs": {"eps": ADAM_EPSILON, "fused": True},
        },
        seed=seed,
        device="cpu",
    )
    model.learn(clock.last, callback=Tick(), log_interval=None)
    return clock.steps_per_second


def measure(name: str, steps: int, seed: int) -> float:
    """One measurement in this process."""
    if name == PEER:
        return measure_peer(steps, seed)
    return measure_ours(OURS[name], steps, seed)


def measure_apart(name: str, steps: int, seed: int) -> float:
    """One measurement in a process of its own, with one thread."""
    threads = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    command = [sys.executable, str(Path(__file__).resolve()), "--only", name]
    command += ["--steps", str(steps), "--seed", str(seed)]
    done = subprocess.run(
        command, env=os.environ | dict.fromkeys(threads, "1"), stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(f"error: measuring {name} failed, see above")
    return float(done.stdout.split()[-1])


@dataclass(frozen=True)
class Spread:
    """The median and the range of repeated measurements."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


def summarise(rates: dict[str, list[float]]) -> dict[str, dict[str, Spread | None]]:
    """By name: steps/s, and their ratio to the peer's of the same repeat."""
    return {
        name: {
            "steps_per_second": Spread.of(values),
            "ratio": None
            if name == PEER
            else Spread.of([a / b for a, b in zip(values, rates[PEER], strict=True)]),
        }
        for name, values in rates.items()
    }


def table(summary: dict[str, dict[str, Spread | None]]) -> str:
    """The summary as a Markdown table."""
    lines = [
        f"| QR-DQN | steps/s: median | min | max | × {PEER}: median | min | max |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, row in summary.items():
        speed, ratio = row["steps_per_second"], row["ratio"]
        cells = [f"{value:,.0f}" for value in asdict(speed).values()]
        cells += [f"{value:.2f}" for value in asdict(ratio).values()] if ratio else ["1", "", ""]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines)


def main() -> None:
    """Run the measurements in turn and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=positive, default=3_000, help="timed steps of each lane")
    parser.add_argument("--repeats", type=positive, default=5, help="measurements of each")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", choices=ORDER, help="measure one, once, in this process")
    parser.add_argument("--seed", type=int, default=0, help="of the one measurement")
    options = parser.parse_args()

    for module, remedy in NEEDED.items():
        if importlib.util.find_spec(module) is None:
            sys.exit(f"error: {module} is not installed; run: pip install {remedy}")

    if options.only:
        print(measure(options.only, options.steps, options.seed))
        return

    load_before = load()
    rates: dict[str, list[float]] = {name: [] for name in ORDER}
    for repeat in range(options.repeats):
        for name in ORDER:
            rates[name].append(measure_apart(name, options.steps, repeat))
            rate = rates[name][-1]
            print(f"{repeat + 1}/{options.repeats} {name}: {rate:,.0f} steps/s", file=sys.stderr)

    summary = summarise(rates)
    if options.json:
        report = {
            "steps": options.steps,
            "repeats": options.repeats,
            "rates": rates,
            "summary": {
                name: {key: spread and asdict(spread) for key, spread in row.items()}
                for name, row in summary.items()
            },
            "versions": {name: version(name) for name in PACKAGES},
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load_before": load_before,
            "load_after": load(),
        }
        print(json.dumps(report, indent=2))
    else:
        print(table(summary))


def positive(text: str) -> int:
    """An argument that counts something."""
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {value}")
    return value


def load() -> float | None:
    """The load average of the last minute, where the system gives one."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


if __name__ == "__main__":
    main()
