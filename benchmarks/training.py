"""How fast agents train on one core, against the libraries people use, on the same work.

MinAtar Breakout, one update per environment step; README.md says what is equal and what differs.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from measure import Contestant, Ratio, arguments, positive, report, take_turns
from work import GAME, Clock

from uqbench.runner.executors.local import ENVIRONMENT

NUMERICS = ("eager", "compiled")
LANES = (1, 2, 5)
JAX_SEEDS = (1, 10, 30)


def ours(options: argparse.Namespace, turn: int, *, method: str, lanes: int, mode: str) -> float:
    from ours import measure_ours

    return measure_ours(method, lanes, options.steps, turn, mode)


def sb3_contrib(options: argparse.Namespace, turn: int) -> float:
    from sb3_qr_dqn import measure

    return measure(options.steps, turn)


def jax(options: argparse.Namespace, turn: int, *, method: str, seeds: int) -> float:
    from jax_dqn import measure

    return measure(method, seeds, max(100, options.steps // seeds), turn)


def minatar_example(options: argparse.Namespace, turn: int) -> float:
    """Run the script's ``dqn`` on an environment that counts its acts; only constants are set."""
    import torch
    from minatar import Environment
    from work import EPSILON, LEARNING_STARTS

    torch.set_num_threads(1)
    spec = spec_from_file_location("minatar_example", options.script)
    assert spec
    assert spec.loader
    script: Any = module_from_spec(spec)
    spec.loader.exec_module(script)
    clock = Clock(options.steps)
    taken = 0

    class Counted(Environment):
        def act(self, action):
            nonlocal taken
            clock.on_step(taken)  # all of the step before is done
            taken += 1
            return super().act(action)

    script.REPLAY_START_SIZE = LEARNING_STARTS
    script.FIRST_N_FRAMES = 1
    script.END_EPSILON = EPSILON
    script.NUM_FRAMES = clock.last + 1
    torch.manual_seed(turn)
    env = Counted(GAME)
    env.seed(turn)
    with tempfile.TemporaryDirectory() as folder:
        script.dqn(env, False, False, str(Path(folder) / "out"))
    return clock.steps_per_second


def contestants_of(method: str, options: argparse.Namespace) -> dict[str, Contestant]:
    """Who does the work of a method; peers between ours, so that no one is far from another."""
    peers = {}
    if method == "qr-dqn":
        peers["sb3-contrib"] = Contestant(sb3_contrib)
    if method == "dqn" and options.script:
        peers["MinAtar's example"] = Contestant(minatar_example)
    if method != "ua-dqn":
        for seeds in options.jax_seeds:
            name = f"JAX, {seeds} seeds" if seeds > 1 else "JAX, 1 seed"
            peers[name] = Contestant(partial(jax, method=method, seeds=seeds))
    own = {
        label(method, lanes, mode): Contestant(
            partial(ours, method=method, lanes=lanes, mode=mode), ENVIRONMENT
        )
        for mode in options.numerics
        for lanes in LANES
    }
    if method == "ua-dqn":  # compared with our own QR-DQN
        peers = {
            label("qr-dqn", lanes, mode): Contestant(
                partial(ours, method="qr-dqn", lanes=lanes, mode=mode), ENVIRONMENT
            )
            for mode in options.numerics
            for lanes in LANES
        }
    return own | peers


def label(method: str, lanes: int, mode: str) -> str:
    return f"uqbench {method}, {mode}, {lanes} {'lane' if lanes == 1 else 'lanes'}"


def ratios_of(method: str, options: argparse.Namespace, names: list[str]) -> list[Ratio]:
    """What is compared, for each of our modes."""
    jax_names = [name for name in names if name.startswith("JAX")]
    ratios = []

    def compare(own: str, peer: str, to: list[str], at_least: float | None) -> None:
        ratios.append(Ratio(f"{own} ÷ {peer}", own, to, at_least=at_least))

    for mode in options.numerics:
        for lanes in LANES:
            own = label(method, lanes, mode)
            if method == "ua-dqn":
                base = label("qr-dqn", lanes, mode)
                ratios.append(Ratio(f"{base} ÷ {method}", base, [own], at_most=2.7))
            if "sb3-contrib" in names:
                compare(own, "sb3-contrib", ["sb3-contrib"], 4)
            if "MinAtar's example" in names:
                compare(own, "MinAtar's example", ["MinAtar's example"], 3)
            if jax_names:
                compare(own, "JAX at its best", jax_names, 2.5 if method == "qr-dqn" else None)
    return ratios


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--method", choices=("qr-dqn", "dqn", "ua-dqn"), default="qr-dqn")
    parser.add_argument("--steps", type=positive, default=3_000, help="timed steps of each lane")
    parser.add_argument("--numerics", nargs="+", choices=NUMERICS, default=NUMERICS)
    parser.add_argument("--jax-seeds", nargs="*", type=positive, default=JAX_SEEDS, metavar="N")
    parser.add_argument("--script", type=Path, help="MinAtar's examples/dqn.py")
    options = parser.parse_args()
    if options.script and not options.script.is_file():
        parser.error(f"--script: no file {options.script}")
    contestants = contestants_of(options.method, options)
    rates = take_turns(options, contestants)
    report(options, rates, ratios_of(options.method, options, list(contestants)))


if __name__ == "__main__":
    main()
